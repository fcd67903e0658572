"""The index of all texts of a home, in a file of its own: what `hobbes search` and `/search` read.

It follows from the run database, so the file may be deleted at any time. Each text is indexed once, however
many calls it belongs to, and `places` says where it stands. SQLite's FTS5 finds words and marks them.
"""
# ruff: noqa: S608  names are ours

import json
import re
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from hobbes.engine.names import alike
from hobbes.engine.record import sha256
from hobbes.engine.world import in_one_line
from hobbes.graphs.database import connect
from hobbes.lab.errors import DamagedError, LabError
from hobbes.lab.store.home import DAMAGE, Store, may_be_damage
from hobbes.lab.store.notes import Notes
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

PART = re.compile(r'"[^"]*"|[()]|[^\s()"]+')
"""The parts of a query: phrases, brackets and words."""

OPERATORS = {"AND", "OR", "NOT", "(", ")"}
"""The parts that are no words."""

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
    experiment: str = ""
    run: str = ""
    """The id of a run."""
    turn: str = ""
    """A turn, or the first and the last of several: `3-7`."""
    agent: str = ""
    outcome: str = ""
    """The outcome of the call that a text belongs to; that of any of the agent's calls of the turn, if the
    text belongs to the turn."""
    kind: str = ""
    tag: str = ""
    """A tag of a note about the agent's turn, its whole turn or its run."""


CONDITIONS: Mapping[str, str] = {
    "world": "places.run in (select id from runs.runs where world = :world)",
    "experiment": "places.run in (select run from runs.cells where experiment = :experiment)",
    "run": "places.run = :run",
    "turn": "places.turn between :first_turn and :last_turn",
    "agent": "places.agent = :agent",
    "outcome": "exists (select 1 from runs.calls where calls.run = places.run and calls.turn = places.turn"
    " and calls.agent = places.agent and places.attempt in (0, calls.attempt) and outcome = :outcome)",
    "kind": "places.kind = :kind",
    "tag": "exists (select 1 from json_each(:places) as noted where places.run = noted.value ->> 0"
    " and places.turn = ifnull(noted.value ->> 1, places.turn)"
    " and places.agent = ifnull(noted.value ->> 2, places.agent))",
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
    to: str
    """To whom a message was written, or `all`; empty for any other text."""
    source: str
    """Where a reasoning comes from (`ReasoningSource`); empty for any other text."""
    is_view: bool
    """Whether it is a prompt of a program, which is sent only its view."""
    others: int
    """In how many other places it stands."""
    agents: tuple[str, ...]
    """The agents of the run."""
    pieces: tuple[tuple[str, bool], ...]
    """The part of the text around the words that were found, in pieces; whether each is what was found."""


@contextmanager
def open_index(store: Store) -> Iterator["TextIndex"]:
    """Open the index of a store beside its run database; make it if there is none, or if it is damaged."""
    path = store.folder / NAME
    try:
        connection = _open_index(path)
        with closing(connection):
            connection.execute("attach ? as runs", [str(store.folder / "runs.db")])
            lasting = store.folder == store.home
            yield TextIndex(connection, store.calls.views_sent, store.notes, lasting=lasting)
    except DAMAGE as error:
        if isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
            raise  # a bug
        raise LabError(
            f"cannot search with {path}: {error}; delete this file, then it is made again"
        ) from error


def _open_index(path: Path) -> sqlite3.Connection:
    """Return a connection to the file of an index, with its tables; make a damaged one again."""
    try:
        return _connect(path)
    except DAMAGE as error:
        if not may_be_damage(error):
            raise
        path.unlink()
        return _connect(path)


def _connect(path: Path) -> sqlite3.Connection:
    """Return a connection to the file of an index; create its tables if it has none."""
    connection = connect(path)
    try:
        if not _has_tables(connection):
            connection.execute("begin immediate")  # others wait here
            if not _has_tables(connection):
                for statement in SCHEMA.split(";\n"):
                    connection.execute(statement)
            connection.commit()
    except DAMAGE:
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
    notes: Notes
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
        progress = self.connection.execute("select * from progress").fetchall()
        if {table: type(row) for table, row, _ in progress} != dict.fromkeys(ADDRESS, int):
            raise sqlite3.DatabaseError("its table progress is damaged")
        for table, row, address in progress:
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
                adding.add(self._view_sent(place), "prompt", place)
            else:
                adding.add_named(prompt, "prompt", place)
            adding.add(answer, "answer", place)
            adding.add(reasoning, "reasoning", place)
        return last

    def _view_sent(self, place: "_Place") -> str | None:
        """Return the view that a program was sent; None if the turn before it is damaged or missing."""
        try:
            return self.views_sent(place.run, place.turn).get(place.agent)
        except DamagedError:  # `hobbes verify` says what is damaged
            return None

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
        """Return a query as FTS5 reads it: a word finds what begins with it, a phrase in quotes only itself.

        All words must be in a text, in any order, unless AND, OR, NOT and brackets say otherwise. Where FTS5
        cannot read these, they are words, too.
        """
        query = query[:MAX_CHARACTERS].replace("\0", " ")
        read = " ".join(_quote(part) for part in PART.findall(query))
        try:
            self.connection.execute("select 1 from words where words match ? limit 1", [read]).fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            words = re.sub(r'["()*]', " ", query).split()[:MAX_WORDS]
            return " ".join(f'"{word}"*' for word in words) or '""'
        return read

    def counts(self, query: str, filters: Filters) -> dict[str, int]:
        """Return how many texts of each kind a query finds, whatever kind the filters name."""
        where, values = self._conditions(filters._replace(kind=""))
        sql = (
            "select kind, count(distinct places.text) from words join places on places.text = words.rowid"
            f" where words match :query and {where} group by kind"
        )
        counts_by_kind = dict(self.connection.execute(sql, {"query": query, **values}))
        return {kind: counts_by_kind[kind] for kind in KINDS if kind in counts_by_kind}

    def agents(self, query: str, filters: Filters) -> dict[str, int]:
        """Return how many texts of each agent a query finds, the most first."""
        where, values = self._conditions(filters)
        sql = (
            "select agent, count(distinct places.text) from words join places on places.text = words.rowid"
            f" where words match :query and {where} group by agent order by 2 desc, 1"
        )
        return dict(self.connection.execute(sql, {"query": query, **values}))

    def total(self, query: str, filters: Filters) -> int:
        """Return how many texts a query finds; one that is of several kinds counts for each."""
        counts = self.counts(query, filters)
        return counts.get(filters.kind, 0) if filters.kind else sum(counts.values())

    def suggestions(self, query: str, filters: Filters) -> Iterator[tuple[str, Filters, int]]:
        """Yield other queries and filters that find texts, with the number, for a query that finds none.

        They are the query without its filters, with other spellings of what no text has, and with any of its
        words in place of all.
        """
        query = query[:MAX_CHARACTERS].replace("\0", " ")
        parts = [part for part in PART.findall(query)[:MAX_WORDS] if part not in OPERATORS]
        words = [word for part in parts if (word := part.strip('"*'))]
        unknown = [word for word in words if not self.total(self.understood(word), Filters())]
        respelt = {word: self._respelt(word) for word in unknown}
        spelling = " ".join(respelt.get(word, word) for word in words)
        names = [name for (name,) in self.connection.execute("select distinct agent from places")]
        like = [] if filters.agent in {"", *names} else alike(filters.agent, names)
        others = [(query, filters._replace(agent=name)) for name in like]
        for asked in dict.fromkeys(
            [
                *others,
                (query, Filters(kind=filters.kind)),
                (query, Filters()),
                (spelling, filters),
                (spelling, Filters()),
                (" OR ".join(words), filters),
            ]
        ):
            if asked != (query, filters) and (found := self.total(self.understood(asked[0]), asked[1])):
                yield *asked, found

    def _respelt(self, word: str) -> str:
        """Return the indexed word that is most like a word and has its first letter, or else the word."""
        self.connection.execute(
            "create virtual table if not exists temp.vocabulary using fts5vocab(main, words, row)"
        )
        first = word[:1].casefold()
        terms = self.connection.execute(
            "select term from vocabulary where term >= ? and term < ?", [first, first + chr(0x10FFFF)]
        )
        return next(iter(alike(word.casefold(), (term for (term,) in terms))), word)

    def runs_without_texts(self, filters: Filters) -> int:
        """Return how many of these runs keep no turns: policies played them for experiments."""
        sql = (
            "select count(*) from runs.runs where status = 'finished' and turns > 0"
            " and not exists (select 1 from runs.turns as played where played.run = runs.id)"
            " and :world in ('', world) and :run in ('', id) and (:experiment = ''"
            " or id in (select run from runs.cells where experiment = :experiment))"
        )
        ((found,),) = self.connection.execute(sql, filters._asdict())
        return int(found)

    def hits(self, query: str, filters: Filters, first: int, most: int) -> Iterator[Hit]:
        """Yield the texts that a query finds, the best ones first: `most` of them from the first, from 0.

        Those of one run follow each other by turn, where its best one stands.
        """
        where, values = self._conditions(filters)
        token = secrets.token_hex(8)  # no text has it, so none can mark anything
        begin, end = f"\x02{token}", f"\x03{token}"
        sql = (
            "select rowid, snippet(words, 0, :begin, :end, '…', :tokens) from words where words match :query"
            f" and exists (select 1 from places where places.text = words.rowid and {where})"
            " order by rank limit :most offset :first"
        )
        given = {"query": query, "begin": begin, "end": end, "tokens": TOKENS, "most": most, "first": first}
        of_runs: dict[str, list[Hit]] = {}
        for text, shown in self.connection.execute(sql, given | values).fetchall():
            kind, run, turn, agent, to, source, player, others = self._first_place(text, where, values)
            name, agents = self._about(run)
            is_view = kind == "prompt" and isinstance(player, str) and is_program(player)
            pieces = tuple(_pieces(str(shown), begin, end))
            hit = _checked(Hit(kind, run, name, turn, agent, to, source, is_view, others, agents, pieces))
            of_runs.setdefault(run, []).append(hit)
        for hits in of_runs.values():
            yield from sorted(hits, key=lambda hit: hit.turn)

    def _conditions(self, filters: Filters) -> tuple[str, dict[str, Any]]:
        """Return SQL for filters, with its values."""
        values: dict[str, Any] = {name: value for name, value in filters._asdict().items() if value}
        sql = " and ".join(["true", *(CONDITIONS[name] for name in values)])
        if filters.turn:
            first, _, last = filters.turn.partition("-")
            values |= {"first_turn": int(first), "last_turn": int(last or first)}
        if filters.tag:
            places = [note.place for note in self.notes.of(tag=filters.tag) if note.event is None]
            values["places"] = json.dumps(places)
        return sql, values

    def _about(self, run: str) -> tuple[str | None, tuple[str, ...]]:
        """Return the name of a run and its agents; none if they are damaged, or if there is no such run."""
        sql = "select name, iif(json_valid(agents), agents, '[]') from runs.runs where id = ?"
        name, agents = self.connection.execute(sql, [run]).fetchone() or (None, "[]")
        return name, tuple(str(agent) for agent in json.loads(agents))

    def _first_place(self, text: int, where: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the first place of a text, what is known of it there, and in how many others it stands.

        Known are the addressees of a message, the source of a reasoning, and the player of a call.
        """
        call = (
            "from runs.calls where calls.run = places.run and calls.turn = places.turn"
            " and calls.agent = places.agent and calls.attempt = places.attempt"
        )
        sql = (
            "select kind, run, turn, agent,"
            " iif(kind = 'message', (select group_concat(receiver, ', ') from runs.messages as said"
            " where said.run = places.run and said.turn = places.turn and said.sender = places.agent"
            " and said.text = (select text from texts where id = places.text)), ''),"
            f" iif(kind = 'reasoning', (select reasoning_source {call}), ''),"
            f" (select player {call}),"
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
    except (ValueError, RecursionError):
        return
    if isinstance(fields, dict):
        yield from (fields[name] for name in MEMORIES if name in fields)


HITS = TypeAdapter(Hit)


def _checked(hit: Hit) -> Hit:
    """Return a hit. Raise sqlite3.DatabaseError if the index is damaged, so that it is none."""
    try:
        return HITS.validate_python(asdict(hit))
    except ValidationError as error:
        raise sqlite3.DatabaseError(f"a place is damaged: {in_one_line(error)}") from error


def _quote(part: str) -> str:
    """Return a part of a query as FTS5 reads it: a word with all that begins with it."""
    return part if part in OPERATORS or part.startswith('"') else f'"{part.rstrip("*")}"*'


def _pieces(shown: str, begin: str, end: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text between the marks, and whether each was found."""
    plain, *rest = shown.split(begin)
    yield plain, False
    for piece in rest:
        match, _, after = piece.partition(end)
        yield match, True
        yield after, False
