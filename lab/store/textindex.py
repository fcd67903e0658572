"""The index of all texts of a home, in a file of its own: what `/search` of `hobbes view` reads.

It follows from the run database, so the file may be deleted at any time. Each text is indexed once, however
many calls it belongs to, and `places` says where it stands. SQLite's FTS5 finds words and marks them.
"""
# ruff: noqa: S608  names are ours

import json
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hobbes.engine.record import sha256
from hobbes.lab.errors import LabError
from hobbes.lab.store.home import BUSY_SECONDS, Store, may_be_damage
from hobbes.nodes.journal import is_program

NAME = "search.db"
"""The name of the file."""

KINDS = ("prompt", "answer", "reasoning", "message", "memory")
"""The kinds of texts."""

MEMORIES = ("notes", "previous_turn_summary", "history_summary")
"""The texts of a memory."""

MAX_CALLS, MAX_TURNS = 1_000, 100
"""How many calls and turns are indexed at a time."""

MAX_CHARACTERS, MAX_WORDS = 1_000, 50
"""How much of a query counts."""

TOKENS = 40
"""About how many words are shown of a text."""

SCHEMA = """
create table texts (id integer primary key, hash text unique, text);
create virtual table words using fts5(
  text, content = 'texts', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
create table places (
  text integer, kind text, run text, turn integer, agent text, attempt integer,
  primary key (text, kind, run, turn, agent, attempt)
) without rowid;
create table progress (of text primary key, row integer, address text);
insert into progress values ('calls', 0, null), ('turns', 0, null);
"""

ADDRESS: Mapping[str, str] = {
    "calls": "json_array(run, turn, agent, attempt)",
    "turns": "json_array(run, turn)",
}
"""SQL for the address of a row, by which it is known again if another run database is put in place."""


class Filters(NamedTuple):
    """Which texts are searched; empty means all."""

    world: str = ""
    run: str = ""
    """The id of a run."""
    agent: str = ""
    outcome: str = ""
    """The outcome of the call that a text belongs to; that of any of the agent's calls of the turn, if the
    text belongs to the turn."""
    kind: str = ""


CONDITIONS: Mapping[str, str] = {
    "world": "places.run in (select id from runs.runs where world = :world)",
    "run": "places.run = :run",
    "agent": "places.agent = :agent",
    "outcome": "exists (select 1 from runs.calls where calls.run = places.run and calls.turn = places.turn"
    " and calls.agent = places.agent and places.attempt in (0, calls.attempt) and outcome = :outcome)",
    "kind": "places.kind = :kind",
}
"""SQL for each filter."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A text that was found, and the first place where it stands."""

    kind: str
    run: str
    name: str | None
    """The name of the run."""
    turn: int
    agent: str
    source: str
    """Where a reasoning comes from (`ReasoningSource`); empty for any other text."""
    others: int
    """In how many other places it stands."""
    pieces: tuple[tuple[str, bool], ...]
    """The part of the text around the words that were found, in pieces; whether each is what was found."""


@contextmanager
def open_index(store: Store) -> Iterator["TextIndex"]:
    """Open the index of a store beside its run database; make it if there is none, or if it is damaged."""
    (folder,) = {Path(file).parent for _, name, file in _databases(store) if name == "main"}
    path = folder / NAME
    try:
        connection = _open_index(path)
        with closing(connection):
            connection.execute("attach ? as runs", [str(folder / "runs.db")])
            lasting = folder.resolve() == store.home.resolve()
            yield TextIndex(connection, store.calls.views_sent, lasting=lasting)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
            raise  # a bug
        raise LabError(
            f"cannot search with {path}: {error}; delete this file, then it is made again"
        ) from error


def _databases(store: Store) -> list[tuple[int, str, str]]:
    """Return the files that a store has opened."""
    return store.db.conn.execute("pragma database_list").fetchall()


def _open_index(path: Path) -> sqlite3.Connection:
    """Return a connection to the file of an index, with its tables; make a damaged one again."""
    try:
        return _connect(path)
    except sqlite3.DatabaseError as error:
        if not may_be_damage(error):
            raise
        path.unlink()
        return _connect(path)


def _connect(path: Path) -> sqlite3.Connection:
    """Return a connection to the file of an index; create its tables if it has none."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS)
    connection.text_factory = lambda stored: stored.decode(errors="replace")
    try:
        if not _has_tables(connection):
            connection.execute("begin immediate")  # others wait here
            if not _has_tables(connection):
                for statement in SCHEMA.split(";\n"):
                    connection.execute(statement)
            connection.commit()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("select 1 from sqlite_master where name = 'progress'").fetchone())


@dataclass(frozen=True, slots=True)
class TextIndex:
    """The open index, with the run database attached as `runs`."""

    connection: sqlite3.Connection
    views_sent: Callable[[str, int], Mapping[str, str]]
    """The view of each agent in a turn of a run: those that programs were sent are not stored."""
    lasting: bool
    """Whether the file is kept; that of a read-only home is not."""

    def update(self) -> bool:
        """Index the next calls and turns that are not in the index yet. Return whether that was all.

        The index of a read-only home, which is not kept, is made at once.
        """
        calls, turns = (MAX_CALLS, MAX_TURNS) if self.lasting else (-1, -1)
        with self.connection:
            self.connection.execute("update progress set row = row")  # so that another process waits
            self._begin_again_if_replaced()
            adding = _Adding(self.connection)
            return self._add_calls(adding, calls) & self._add_turns(adding, turns)

    def _begin_again_if_replaced(self) -> None:
        """Empty the index if the run database is not the one that was indexed."""
        for table, row, address in self.connection.execute("select * from progress").fetchall():
            sql = f"select {ADDRESS[table]} from runs.{table} where rowid = ?"
            if address is not None and self.connection.execute(sql, [row]).fetchone() != (address,):
                self.connection.execute("insert into words (words) values ('delete-all')")
                for emptied in ("texts", "places"):
                    self.connection.execute(f"delete from {emptied}")
                self.connection.execute("update progress set row = 0, address = null")
                return

    def _rows(self, table: str, columns: str, most: int) -> tuple[list[tuple[Any, ...]], bool]:
        """Return the next rows of a table that are to be indexed, and whether they are the last ones."""
        sql = (
            f"select {columns}, rowid, {ADDRESS[table]} from runs.{table}"
            " where rowid > (select row from progress where of = ?) order by rowid limit ?"
        )
        rows = self.connection.execute(sql, [table, most]).fetchall()
        if rows:
            self.connection.execute(
                "update progress set row = ?, address = ? where of = ?", [*rows[-1][-2:], table]
            )
        return [row[:-2] for row in rows], len(rows) != most

    def _add_calls(self, adding: "_Adding", most: int) -> bool:
        columns = "run, turn, agent, attempt, player, system, prompt, answer, reasoning"
        rows, last = self._rows("calls", columns, most)
        for *address, player, system, prompt, answer, reasoning in rows:
            place = _Place(*address)
            adding.add_named(system, "prompt", place)
            if isinstance(player, str) and is_program(player):
                adding.add(self.views_sent(place.run, place.turn).get(place.agent), "prompt", place)
            else:
                adding.add_named(prompt, "prompt", place)
            adding.add(answer, "answer", place)
            adding.add(reasoning, "reasoning", place)
        return last

    def _add_turns(self, adding: "_Adding", most: int) -> bool:
        rows, last = self._rows("turns", "run, turn", most)
        for run, turn in rows:
            said = "select sender, text from runs.messages where run = ? and turn = ?"
            for sender, text in self.connection.execute(said, [run, turn]).fetchall():
                adding.add(text, "message", _Place(run, turn, sender))
            kept = "select agent, memory from runs.memories where run = ? and turn = ?"
            for agent, memory in self.connection.execute(kept, [run, turn]).fetchall():
                for text in _texts_of(memory):
                    adding.add(text, "memory", _Place(run, turn, agent))
        return last

    def progress(self) -> tuple[int, int]:
        """Return how many rows of calls and turns are indexed, and how many there are."""
        sql = (
            "select (select sum(row) from progress),"
            " (select ifnull(max(rowid), 0) from runs.calls)"
            " + (select ifnull(max(rowid), 0) from runs.turns)"
        )
        indexed, there = self.connection.execute(sql).fetchone()
        return indexed, there

    def understood(self, query: str) -> str:
        """Return a query as FTS5 reads it; one that it cannot read is taken as plain words.

        All of them must be in a text, in any order.
        """
        query = query[:MAX_CHARACTERS].replace("\0", " ")
        try:
            self.connection.execute("select 1 from words where words match ? limit 1", [query]).fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            words = query.replace('"', " ").split()[:MAX_WORDS]
            return " ".join(f'"{word}"' for word in words) or '""'
        return query

    def counts(self, query: str, filters: Filters) -> dict[str, int]:
        """Return how many texts of each kind a query finds, whatever kind the filters name."""
        where, values = _conditions(filters._replace(kind=""))
        sql = (
            "select kind, count(distinct places.text) from words join places on places.text = words.rowid"
            f" where words match :query and {where} group by kind"
        )
        counts_by_kind = dict(self.connection.execute(sql, {"query": query, **values}))
        return {kind: counts_by_kind[kind] for kind in KINDS if kind in counts_by_kind}

    def hits(self, query: str, filters: Filters, first: int, most: int) -> Iterator[Hit]:
        """Yield the texts that a query finds, the best ones first: `most` of them from the first, from 0."""
        where, values = _conditions(filters)
        token = secrets.token_hex(8)  # no text has it, so none can mark anything
        begin, end = f"\x02{token}", f"\x03{token}"
        sql = (
            "select rowid, snippet(words, 0, :begin, :end, '…', :tokens) from words where words match :query"
            f" and exists (select 1 from places where places.text = words.rowid and {where})"
            " order by rank limit :most offset :first"
        )
        given = {"query": query, "begin": begin, "end": end, "tokens": TOKENS, "most": most, "first": first}
        for text, shown in self.connection.execute(sql, given | values).fetchall():
            kind, run, name, turn, agent, source, others = self._first_place(text, where, values)
            yield Hit(kind, run, name, turn, agent, source, others, tuple(_pieces(shown, begin, end)))

    def _first_place(self, text: int, where: str, values: Mapping[str, str]) -> tuple[Any, ...]:
        """Return the first place of a text, the source of a reasoning, and in how many others it stands."""
        sql = (
            "select kind, run, (select name from runs.runs where id = places.run), turn, agent,"
            " iif(kind = 'reasoning', (select reasoning_source from runs.calls where calls.run = places.run"
            " and calls.turn = places.turn and calls.agent = places.agent"
            " and calls.attempt = places.attempt), ''),"
            f" count(*) over () - 1 from places where text = :text and {where}"
            " order by run desc, turn, agent limit 1"
        )
        row: tuple[Any, ...] = self.connection.execute(sql, {"text": text, **values}).fetchone()
        return row


class _Place(NamedTuple):
    """Where a text stands. The attempt of a text that belongs to no call is 0."""

    run: str
    turn: int
    agent: str
    attempt: int = 0


class _Adding:
    """Adds texts to an index."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, text: object, kind: str, place: _Place) -> None:
        """Add a text at a place. An empty one, or what damage has put in its place, is left out."""
        if isinstance(text, str) and text.strip():
            name = sha256(text)
            number = self._number(name)
            if number is None:
                self._connection.execute("insert into texts (hash, text) values (?, ?)", [name, text])
                number = self._number(name)
                self._connection.execute("insert into words (rowid, text) values (?, ?)", [number, text])
            self._stands(number, kind, place)

    def add_named(self, name: str, kind: str, place: _Place) -> None:
        """Add the text of the run database that has this hash; it is read only if it is new."""
        if (number := self._number(name)) is not None:
            self._stands(number, kind, place)
        elif row := self._connection.execute("select text from runs.texts where hash = ?", [name]).fetchone():
            self.add(row[0], kind, place)

    def _stands(self, number: int | None, kind: str, place: _Place) -> None:
        """Add a place where a text stands."""
        self._connection.execute(
            "insert or ignore into places values (?, ?, ?, ?, ?, ?)", [number, kind, *place]
        )

    def _number(self, name: str) -> int | None:
        """Return the number of the text with a hash, None if it is not in the index."""
        row = self._connection.execute("select id from texts where hash = ?", [name]).fetchone()
        return row[0] if row else None


def _texts_of(memory: object) -> Iterator[str]:
    """Yield the texts of a stored memory; none if it is damaged."""
    try:
        fields = json.loads(memory) if isinstance(memory, str) else {}
    except ValueError:
        return
    if isinstance(fields, dict):
        yield from (fields[name] for name in MEMORIES if name in fields)


def _conditions(filters: Filters) -> tuple[str, dict[str, str]]:
    """Return SQL for filters, with its values."""
    values = {name: value for name, value in filters._asdict().items() if value}
    return " and ".join(["true", *(CONDITIONS[name] for name in values)]), values


def _pieces(shown: str, begin: str, end: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text between the marks, and whether each was found."""
    plain, *rest = shown.split(begin)
    yield plain, False
    for piece in rest:
        match, _, after = piece.partition(end)
        yield match, True
        yield after, False
