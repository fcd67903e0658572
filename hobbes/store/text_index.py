"""The index of all texts of a home, in a file of its own: what `hobbes search` and `/search` read.

It follows from the run database, so the file may be deleted at any time; if it is damaged, it is made anew.
Each text is indexed once, and `places` says where it stands. SQLite's FTS5 finds words and marks them.
"""
# ruff: noqa: S608  names are ours

import json
import re
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError
from sqlite_utils import Database

from hobbes.engine.record import sha256
from hobbes.engine.world import in_one_line
from hobbes.errors import HobbesError
from hobbes.graphs.database import connect
from hobbes.nodes.journal import is_program
from hobbes.store.home import DAMAGE, Store, may_be_damage

NAME = "search.db"
"""The name of the file."""

KINDS = ("prompt", "answer", "reasoning", "message", "memory")
"""The kinds of texts."""

MEMORIES = ("notes", "previous_turn_summary", "history_summary")
"""The texts of a memory."""

MAX_TURNS = 100
"""How many turns are indexed in one transaction."""

MAX_CHARACTERS = 1_000
"""How much of a query counts."""

TOKENS = 40
"""About how many words are shown of a text."""

PART = re.compile(r'"[^"]*"|[()]|[^\s()"]+')
"""The parts of a query: phrases, brackets and words."""

OPERATORS = {"AND", "OR", "NOT", "(", ")"}
"""The parts that are no words."""

SEPARATOR = "\x1f"
"""What stands around each character of a script without blanks, so that FTS5 takes it as a word."""

WITHOUT_BLANKS = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
"""Chinese characters and Japanese syllables."""


class Filters(NamedTuple):
    """Which texts are searched; empty means all."""

    world: str = ""
    experiment: str = ""
    run: str = ""
    """The id of a run."""
    turn: str = ""
    """A turn, or the first and the last of several: `3-7`."""
    agent: str = ""
    kind: str = ""
    tag: str = ""
    """A tag of a note about the agent's turn, its whole turn or its run."""


CONDITIONS: Mapping[str, str] = {
    "world": "places.run in (select id from runs.runs where world = :world)",
    "experiment": "places.run in (select run from runs.cells where experiment = :experiment)",
    "run": "places.run = :run",
    "turn": "places.turn between :first_turn and :last_turn",
    "agent": "places.agent = :agent",
    "kind": "places.kind = :kind",
    "tag": "exists (select 1 from json_each(:noted) as noted where places.run = noted.value ->> 0"
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


HITS = TypeAdapter(list[Hit])
"""What is read from the index is checked: damage may have put anything there."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search finds."""

    kinds: Mapping[str, int]
    """The number of texts of each kind, whatever kind is asked for; one of several kinds counts for each."""
    total: int
    hits: list[Hit]
    """The best ones, of one run by turn."""
    without_texts: int
    """How many of the runs that are searched keep no texts until they are opened."""


def find_texts(store: Store, query: str, filters: Filters, first: int, most: int) -> Found:
    """Return what a query finds: `most` texts from the first, from 0.

    A word finds what begins with it, a phrase in quotes only itself. All words must be in a text, unless AND,
    OR, NOT and brackets say otherwise. Turns that are not in the index yet are added to it; no run is played
    again for this. Raise HobbesError if the index cannot be read or written.
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
        if isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
            raise  # a bug
        raise HobbesError(
            f"cannot search with {path}: {error}; delete this file, then it is made again"
        ) from error


def _find(store: Store, query: str, filters: Filters, first: int, most: int) -> Found:
    with closing(connect(store.folder / NAME)) as connection:
        connection.execute("attach ? as runs", [str(store.folder / "runs.db")])
        db = Database(connection)
        _create(db)
        while _add_turns(db, store):
            pass
        where, values = _conditions(store, filters)
        values["query"] = _as_fts5_reads_it(db, query)
        kinds = _kinds(db, *_conditions(store, filters._replace(kind="")), values["query"])
        total = kinds.get(filters.kind, 0) if filters.kind else sum(kinds.values())
        hits = _hits(db, where, values | {"first": first, "most": most})
        return Found(kinds, total, hits, _runs_without_texts(db, filters))


def _create(db: Database) -> None:
    """Create the tables of an index that has none, in one transaction: other processes see none or all."""
    with db.conn:
        db.execute("begin immediate")  # others wait here
        if not db.table("texts").exists():
            db.table("texts").create({"id": int, "hash": str, "text": str}, pk="id")
            db.table("texts").create_index(["hash"], unique=True)
            # Without triggers: with them, FTS5 writes to the file after each text.
            db.table("texts").enable_fts(["text"], tokenize="unicode61 remove_diacritics 2")
            of_place = {"kind": str, "run": str, "turn": int, "agent": str}
            of_text = {"to": str, "source": str, "is_view": int}
            db.table("places").create({"text": int, **of_place, **of_text}, pk=("text", *of_place))
            db.table("indexed").create({"row": int, "run": str, "turn": int}, pk="row")


def _add_turns(db: Database, store: Store) -> bool:
    """Index the next turns that are not in the index yet. Return whether there were any.

    Raise sqlite3.DatabaseError if another run database was indexed than the one that is there.
    """
    with db.conn:
        db.execute("begin immediate")  # others wait here
        last = db.execute("select row, run, turn from indexed order by row desc limit 1").fetchone()
        rows = db.execute(
            "select rowid, run, turn from runs.turns where rowid >= ? order by rowid limit ?",
            [last[0] if last else 0, MAX_TURNS + 1],
        ).fetchall()
        if last and rows[:1] != [last]:
            raise sqlite3.DatabaseError("it is of other runs")
        new = rows[1:] if last else rows[:MAX_TURNS]
        ((indexed,),) = db.execute("select ifnull(max(id), 0) from texts")
        for _, run, turn in new:
            _add_turn(db, store, run, turn)
        db.execute("insert into texts_fts (rowid, text) select id, text from texts where id > ?", [indexed])
        if new:
            db.execute("insert into indexed values (?, ?, ?)", new[-1])
        return bool(new)


def _add_turn(db: Database, store: Store, run: str, turn: int) -> None:
    """Add the texts of a turn, and where they stand; the words of new texts are not indexed here."""
    texts = [found for found in _texts_of(db, store, run, turn) if _is_text(found.text)]
    spaced = [_spaced(found.text) for found in texts]
    hashes = [sha256(text) for text in spaced]
    db.conn.executemany(
        "insert or ignore into texts (hash, text) values (?, ?)", zip(hashes, spaced, strict=True)
    )
    db.conn.executemany(
        "insert or ignore into places select id, ?, ?, ?, ?, ?, ?, ? from texts where hash = ?",
        [
            (found.kind, run, turn, found.agent, found.to, found.source, found.is_view, of_text)
            for of_text, found in zip(hashes, texts, strict=True)
        ],
    )


class _Text(NamedTuple):
    """A text of a turn, and what a hit says of it. The text of a damaged row may be anything."""

    kind: str
    agent: str
    text: Any
    to: str = ""
    source: str = ""
    is_view: bool = False


def _is_text(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())


def _texts_of(db: Database, store: Store, run: str, turn: int) -> Iterator[_Text]:
    """Yield the texts of a turn: those of its calls, its messages and the memories after it."""
    calls = (
        "select agent, player, systems.text, prompts.text, answer, reasoning, reasoning_source"
        " from runs.calls left join runs.texts as systems on systems.hash = system"
        " left join runs.texts as prompts on prompts.hash = prompt where run = ? and turn = ?"
    )
    for agent, player, system, prompt, answer, reasoning, source in db.execute(calls, [run, turn]):
        is_view = isinstance(player, str) and is_program(player)
        yield _Text("prompt", agent, system)
        yield _Text("prompt", agent, _view(store, run, turn, agent) if is_view else prompt, is_view=is_view)
        yield _Text("answer", agent, answer)
        yield _Text("reasoning", agent, reasoning, source=source)
    messages = (
        "select sender, text, group_concat(receiver, ', ') from runs.messages where run = ? and turn = ?"
        " group by sender, text"
    )
    for sender, text, receivers in db.execute(messages, [run, turn]):
        yield _Text("message", sender, text, to=receivers)
    memories = (
        "select agent, field.value"
        " from runs.memories, json_each(iif(json_valid(memory), memory, '{}')) as field"
        " where run = ? and turn = ? and field.key in (select value from json_each(?))"
    )
    for agent, text in db.execute(memories, [run, turn, json.dumps(MEMORIES)]):
        yield _Text("memory", agent, text)


def _view(store: Store, run: str, turn: int, agent: str) -> str | None:
    """Return the view that a program was sent; None if its run or the turn before is damaged or missing."""
    try:
        return store.calls.views_sent(run, turn).get(agent)
    except HobbesError:  # `hobbes verify` says what is damaged
        return None


def _spaced(text: str) -> str:
    """Return a text in which each character of a script without blanks is a word."""
    return WITHOUT_BLANKS.sub(lambda found: f"{SEPARATOR}{found.group()}{SEPARATOR}", text)


def _as_fts5_reads_it(db: Database, query: str) -> str:
    """Return a query as FTS5 reads it. Where it cannot read the operators, they are words, too."""
    query = query[:MAX_CHARACTERS].replace("\0", " ")
    read = " ".join(_quote(part) for part in PART.findall(query))
    try:
        db.execute("select 1 from texts_fts where texts_fts match ? limit 1", [read]).fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        return db.quote_fts(_spaced(query)) or '""'
    return read


def _quote(part: str) -> str:
    """Return a part of a query as FTS5 reads it: a word with all that begins with it."""
    if part in OPERATORS:
        return part
    return _spaced(part) if part.startswith('"') else f'"{_spaced(part.rstrip("*"))}"*'


def _conditions(store: Store, filters: Filters) -> tuple[str, dict[str, Any]]:
    """Return SQL for filters, with its values."""
    values: dict[str, Any] = {name: value for name, value in filters._asdict().items() if value}
    where = " and ".join(["true", *(CONDITIONS[name] for name in values)])
    if filters.turn:
        first, _, last = filters.turn.partition("-")
        values |= {"first_turn": int(first), "last_turn": int(last or first)}
    if filters.tag:
        values["noted"] = json.dumps(
            [note.place for note in store.notes.of(tag=filters.tag) if note.event is None]
        )
    return where, values


def _kinds(db: Database, where: str, values: Mapping[str, Any], query: str) -> dict[str, int]:
    """Return how many texts of each kind a query finds."""
    counts = db.execute(
        "select kind, count(distinct places.text) from texts_fts join places on places.text = texts_fts.rowid"
        f" where texts_fts match :query and {where} group by kind",
        {**values, "query": query},
    )
    by_kind: dict[str, int] = dict(counts)
    return {kind: by_kind[kind] for kind in KINDS if kind in by_kind}


def _hits(db: Database, where: str, values: Mapping[str, Any]) -> list[Hit]:
    """Return the best texts. Those of one run follow each other by turn, where its best one stands."""
    token = secrets.token_hex(8)  # no text has it, so none can mark anything
    begin, end = f"\x02{token}", f"\x03{token}"
    rows = db.query(
        'select places.kind, places.run, name, places.turn, places.agent, "to", source, is_view,'
        " count(*) - 1 as others, min(places.rowid) as first_place, shown,"
        " iif(json_valid(agents) and json_type(agents) = 'array', agents, '[]') as agents from ("
        "   select rowid as id, rank as worse, snippet(texts_fts, 0, :begin, :end, '…', :tokens) as shown"
        "   from texts_fts where texts_fts match :query"
        f"  and exists (select 1 from places where places.text = texts_fts.rowid and {where})"
        "   order by rank limit :most offset :first"
        " ) as hit join places on places.text = hit.id"
        " left join runs.runs as played on played.id = places.run"
        f" where {where} group by hit.id order by worse",
        {**values, "begin": begin, "end": end, "tokens": TOKENS},
    )
    found = [
        {
            **row,
            "agents": [str(agent) for agent in json.loads(row["agents"])],
            "pieces": list(_pieces(row["shown"], begin, end)),
        }
        for row in rows
    ]
    try:
        hits = HITS.validate_python(found)
    except ValidationError as error:
        raise sqlite3.DatabaseError(f"a place is damaged: {in_one_line(error)}") from error
    of_runs: dict[str, list[Hit]] = {}
    for hit in hits:
        of_runs.setdefault(hit.run, []).append(hit)
    return [hit for of_run in of_runs.values() for hit in sorted(of_run, key=lambda hit: hit.turn)]


def _pieces(shown: str, begin: str, end: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text between the marks, and whether each was found."""
    plain, *rest = shown.replace(SEPARATOR, "").split(begin)
    yield plain, False
    for piece in rest:
        match, _, after = piece.partition(end)
        yield match, True
        yield after, False


def _runs_without_texts(db: Database, filters: Filters) -> int:
    """Return how many of these runs keep no turns: policies played them for experiments."""
    sql = (
        "select count(*) from runs.runs where status = 'finished' and turns > 0"
        " and not exists (select 1 from runs.turns as played where played.run = runs.id)"
        " and :world in ('', world) and :run in ('', id) and (:experiment = ''"
        " or id in (select run from runs.cells where experiment = :experiment))"
    )
    ((count,),) = db.execute(sql, filters._asdict())
    return int(count)
