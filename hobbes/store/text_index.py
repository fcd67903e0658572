"""The index of all texts of a home, in a file of its own: what `hobbes search` and `/search` read.

It follows from the run database, so the file may be deleted at any time; if it is damaged, it is made anew.
Each text is indexed once, and `places` says where it stands. SQLite's FTS5 finds words and marks them.
"""
# ruff: noqa: S608  names are ours

import re
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from hobbes.engine.record import sha256
from hobbes.engine.world import in_one_line
from hobbes.errors import HobbesError
from hobbes.graphs.database import connect, named_rows
from hobbes.store.checked_connection import DAMAGE, damaged_database, is_bug, is_damage, may_be_damage
from hobbes.store.home import Store

NAME = "search.db"
"""The name of the file."""

KINDS = ("prompt", "answer", "reasoning", "message", "memory")
"""The kinds of texts."""

TEXTS = """
select 'prompt' as kind, run, turn, agent, '' as "to", '' as source, texts.text, false as repeats
  from new join runs.calls using (run, turn) join runs.texts on hash in (system, prompt)
union all select 'answer', run, turn, agent, '', '', answer, false from new join runs.calls using (run, turn)
union all select 'reasoning', run, turn, agent, '', reasoning_source, reasoning,
  ifnull(instr(answer, reasoning), 0) from new join runs.calls using (run, turn)
union all select 'message', run, turn, sender, group_concat(receiver, ', '), '', text, false
  from new join runs.messages using (run, turn) group by run, turn, sender, text
union all select 'memory', run, turn, agent, '', '', field.value, false
  from new join runs.memories using (run, turn), json_each(iif(json_valid(memory), memory, '{}')) as field
  where field.key in ('notes', 'previous_turn_summary', 'history_summary')
"""
"""SQL for the texts of the turns that are new, with what a hit says of them.

A reasoning repeats its answer if it stands there word for word.
"""

TABLES = (
    "table texts (id integer primary key, hash text unique, text text)",
    "virtual table texts_fts using fts5(text, content=texts, tokenize='unicode61 remove_diacritics 2')",
    """table places (text, kind, run, turn, agent, "to", source, repeats,
       primary key (text, kind, run, turn, agent))""",
    "table indexed (row integer primary key, run, turn)",
)
"""The tables of an index. No trigger fills `texts_fts`: FTS5 would then write to the file after each text."""

WITHOUT_TURNS = """runs.runs where status = 'finished' and turns > 0
  and not exists (select 1 from runs.turns as played where played.run = runs.id)"""
"""SQL for the runs that keep no turns: policies played them for experiments."""

MAX_TURNS = 100
"""How many turns are indexed in one transaction."""

MAX_CHARACTERS = 1_000
"""How much of a query counts."""

TOKENS = 40
"""About how many words are shown of a text."""

PART = re.compile(r'"[^"]*"|[^\s"]+')
"""The parts of a query: phrases and words."""

SEPARATOR = "\x1f"
"""What stands around each character of a script without blanks, so that FTS5 takes it as a word."""

WITHOUT_BLANKS = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
"""Chinese characters and Japanese syllables."""


class Filters(NamedTuple):
    """Which texts are searched; empty means all."""

    run: str = ""
    """The id of a run."""
    agent: str = ""
    kind: str = ""


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
    others: int
    """In how many other places it stands."""
    pieces: tuple[tuple[str, bool], ...]
    """The part of the text around the words that were found, in pieces; whether each is what was found."""


HITS = TypeAdapter(list[Hit])
"""What is read from the index is checked: damage may have put anything there."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search finds."""

    total: int
    hits: list[Hit]
    """The best ones."""
    without_texts: int
    """How many runs of the home keep no texts until they are opened."""


def find_texts(store: Store, query: str, filters: Filters, first: int, most: int) -> Found:
    """Return what a query finds: `most` texts from the first, from 0.

    A word finds what begins with it, a phrase in quotes only itself, and all of them must be in a text. A
    reasoning that repeats its answer is found only where the kind of texts is chosen. Turns that are not in
    the index yet are added to it; no run is played again for this. Raise DamagedError if the run database is
    damaged, HobbesError if the index cannot be read or written.
    """
    path = store.folder / NAME
    try:
        try:
            return _find(store, query, filters, first, most)
        except DAMAGE as error:
            if not may_be_damage(error):
                raise
        path.unlink(missing_ok=True)
        return _find(store, query, filters, first, most)
    except DAMAGE as error:
        if is_damage(error):  # not of the index, which is new
            raise damaged_database(error) from error
        if is_bug(error):
            raise
        raise HobbesError(
            f"cannot search with {path}: {error}; delete this file, then it is made again"
        ) from error


def _find(store: Store, query: str, filters: Filters, first: int, most: int) -> Found:
    with closing(connect(store.folder / NAME)) as connection:
        connection.execute("attach ? as runs", [str(store.folder / "runs.db")])
        connection.create_function("spaced", 1, _spaced)
        connection.create_function("sha256", 1, sha256)
        _create(connection)
        while _add_turns(connection):
            pass
        values: dict[str, Any] = {name: value for name, value in filters._asdict().items() if value}
        own = "true" if filters.kind else "not places.repeats"
        where = " and ".join([own, *(f"places.{name} = :{name}" for name in values)])
        values["query"] = _as_fts5_reads_it(query)
        hits = _hits(connection, where, values | {"first": first, "most": most})
        found = (
            f"texts_fts join places on places.text = texts_fts.rowid where texts_fts match :query and {where}"
        )
        ((total,),) = connection.execute(f"select count(distinct places.text) from {found}", values)
        ((without_texts,),) = connection.execute(f"select count(*) from {WITHOUT_TURNS}")
        return Found(total, hits, without_texts)


def _create(connection: sqlite3.Connection) -> None:
    """Create the tables of an index that has none, in one transaction: other processes see none or all."""
    with connection:
        connection.execute("begin immediate")  # others wait here
        if not connection.execute("select 1 from sqlite_master where name = 'texts'").fetchone():
            for table in TABLES:
                connection.execute(f"create {table}")


def _add_turns(connection: sqlite3.Connection) -> bool:
    """Index the next turns that are not in the index yet. Return whether there were any.

    Raise sqlite3.DatabaseError if another run database was indexed than the one that is there.
    """
    with connection:
        connection.execute("begin immediate")  # others wait here
        last = connection.execute("select row, run, turn from indexed order by row desc limit 1").fetchone()
        rows = connection.execute(
            "select rowid, run, turn from runs.turns where rowid >= ? order by rowid limit ?",
            [last[0] if last else 0, MAX_TURNS + 1],
        ).fetchall()
        if last and rows[:1] != [last]:
            raise sqlite3.DatabaseError("it is of other runs")
        new = rows[1:] if last else rows[:MAX_TURNS]
        if new:
            _add(connection, new[0][0], new[-1][0])
            connection.execute("insert into indexed values (?, ?, ?)", new[-1])
        return bool(new)


def _add(connection: sqlite3.Connection, first: int, last: int) -> None:
    """Add the texts of the turns in these rows, and where they stand."""
    ((indexed,),) = connection.execute("select ifnull(max(id), 0) from texts")
    connection.execute(
        "create temp table found as"
        " with new as (select run, turn from runs.turns where rowid between ? and ?)"
        ' select kind, run, turn, agent, "to", source, repeats, spaced(text) as text,'
        " sha256(spaced(text)) as hash"
        f" from ({TEXTS}) where typeof(text) = 'text' and trim(text) != ''",
        [first, last],
    )
    connection.execute("insert or ignore into texts (hash, text) select hash, text from found")
    connection.execute(
        'insert or ignore into places select id, kind, run, turn, agent, "to", source, repeats'
        " from found join texts using (hash)"
    )
    connection.execute(
        "insert into texts_fts (rowid, text) select id, text from texts where id > ?", [indexed]
    )
    connection.execute("drop table found")


def _spaced(text: str) -> str:
    """Return a text in which each character of a script without blanks is a word."""
    return WITHOUT_BLANKS.sub(lambda found: f"{SEPARATOR}{found.group()}{SEPARATOR}", text)


def _as_fts5_reads_it(query: str) -> str:
    """Return a query as FTS5 reads it: phrases, and words with all that begins with them."""
    parts = (_spaced(part) for part in PART.findall(query[:MAX_CHARACTERS].replace("\0", " ")))
    return " ".join(part if part.startswith('"') else f'"{part.rstrip("*")}"*' for part in parts) or '""'


def _hits(connection: sqlite3.Connection, where: str, values: Mapping[str, Any]) -> list[Hit]:
    token = secrets.token_hex(8)  # no text has it, so none can mark anything
    begin, end = f"\x02{token}", f"\x03{token}"
    rows = named_rows(
        connection,
        'select places.kind, places.run, name, places.turn, places.agent, "to", source,'
        " count(*) - 1 as others, min(places.rowid) as first_place, shown from ("
        "   select rowid as id, rank as worse, snippet(texts_fts, 0, :begin, :end, '…', :tokens) as shown"
        "   from texts_fts where texts_fts match :query"
        f"  and exists (select 1 from places where places.text = texts_fts.rowid and {where})"
        "   order by rank limit :most offset :first"
        " ) as hit join places on places.text = hit.id"
        " left join runs.runs as played on played.id = places.run"
        f" where {where} group by hit.id order by worse",
        {**values, "begin": begin, "end": end, "tokens": TOKENS},
    )
    try:
        return HITS.validate_python([{**row, "pieces": [*_pieces(row["shown"], begin, end)]} for row in rows])
    except ValidationError as error:
        raise sqlite3.DatabaseError(f"a place is damaged: {in_one_line(error)}") from error


def _pieces(shown: str, begin: str, end: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text between the marks, and whether each was found."""
    plain, *rest = shown.replace(SEPARATOR, "").split(begin)
    yield plain, False
    for piece in rest:
        match, _, after = piece.partition(end)
        yield match, True
        yield after, False
