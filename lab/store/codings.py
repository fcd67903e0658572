"""How people and models code decisions: codebooks, who is to code what, and every answer of a coder.

All of it is kept in `notes.db`, beside the notes, so that a run stays as it was.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from hobbes.engine.record import sha256
from hobbes.lab.store.home import Store
from hobbes.lab.store.journal import columns_of_call, insertion
from hobbes.lab.store.notes import open_notes
from hobbes.lab.store.runs import now
from hobbes.lab.store.schema import CALL
from hobbes.nodes.journal import TURN_QUESTION, Call

TYPES = {str: "text", int: "integer", float: "real"}

KEY = ("codebook", "coder", "run", "turn", "agent", "number")
"""Which coding it is."""

OF_RUN = "run = :run and turn = ifnull(:turn, turn) and agent = ifnull(:agent, agent)"
"""The condition that a row is about a decision of a run, of one turn or of one agent, if these are given."""

NOT_CODED = """not exists (select 1 from codings where (codings.codebook, codings.coder, codings.run,
  codings.turn, codings.agent) = (queues.codebook, queues.coder, queues.run, queues.turn, queues.agent))"""
"""The condition that a decision in the queue of a person has not been coded by that person."""

SCHEMA = f"""
create table if not exists codebooks (hash text primary key, codes text not null, kept text not null) strict;
create table if not exists code_texts (hash text primary key, text text not null) strict;
create table if not exists queues (
  codebook text not null references codebooks (hash), coder text not null,
  run text not null, turn integer not null, agent text not null,
  primary key (codebook, coder, run, turn, agent)
) strict, without rowid;
create table if not exists codings (
  id integer primary key, codebook text not null references codebooks (hash), coder text not null,
  run text not null, turn integer not null, agent text not null, number integer not null,
  {", ".join(f"{column} {TYPES[kind]}" for column, kind in CALL.items())},
  unique ({", ".join(KEY)})
) strict;
create index if not exists codings_by_run on codings (run);
create table if not exists codes (
  coding integer not null references codings (id) on delete cascade, code text not null, value integer,
  primary key (coding, code)
) strict, without rowid;
"""


class Code(NamedTuple):
    """A code of a codebook."""

    name: str
    definition: str
    examples: tuple[str, ...] = ()
    """Words of agents to which it applies."""


class Codebook(NamedTuple):
    """Codes, each of which applies to a decision or does not."""

    codes: tuple[Code, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the codes."""
        return tuple(code.name for code in self.codes)

    @property
    def text(self) -> str:
        """The codes as JSON."""
        return json.dumps([code._asdict() for code in self.codes], ensure_ascii=False)

    @property
    def hash(self) -> str:
        """The SHA-256 of the codes: codings of another codebook are not mixed with those of this one."""
        return sha256(self.text)


class Decision(NamedTuple):
    """What is coded: the decision of an agent in a turn."""

    run: str
    turn: int
    agent: str


class Coding(NamedTuple):
    """What a coder answered about a decision, and the codes that were read from the answer."""

    codebook: str
    """The hash of the codebook."""
    coder: str
    """The spec of a model, or the name of a person."""
    run: str
    call: Call
    """Its address has the turn and the agent of the decision, and as attempt the number of the coding."""
    values: Mapping[str, bool | None]
    """Whether each code applies; None where the coder did not say."""

    @property
    def decision(self) -> Decision:
        """What was coded."""
        return Decision(self.run, self.call.address.turn, self.call.address.agent)

    @property
    def number(self) -> int:
        """Counts from 1 how often the coder has coded the decision."""
        return self.call.address.attempt


class Queue(NamedTuple):
    """The decisions that a person is to code."""

    codebook: Codebook
    coder: str
    decisions: tuple[Decision, ...]
    """In an order that tells nothing of what came first."""


def keep_codebook(store: Store, codebook: Codebook) -> None:
    """Store a codebook. The one that was stored last is the newest."""
    with open_notes(store.folder, writes=True) as connection:
        connection.executescript(SCHEMA)
        with connection:
            connection.execute(
                "insert into codebooks values (?, ?, ?)"
                " on conflict (hash) do update set kept = excluded.kept",
                (codebook.hash, codebook.text, now()),
            )


def codebooks(store: Store) -> list[Codebook]:
    """Return all codebooks, the newest first."""
    rows = _rows(store, "select codes from codebooks order by kept desc, rowid desc")
    return [_codebook(row["codes"]) for row in rows]


def _codebook(text: str) -> Codebook:
    codes = json.loads(text)
    return Codebook(tuple(Code(one["name"], one["definition"], tuple(one["examples"])) for one in codes))


def keep_queue(store: Store, codebook: Codebook, coder: str, decisions: Iterable[Decision]) -> None:
    """Add decisions to those that a person is to code; the codebook is stored."""
    with open_notes(store.folder, writes=True) as connection, connection:
        connection.executemany(
            "insert or ignore into queues values (?, ?, ?, ?, ?)",
            ((codebook.hash, coder, *one) for one in decisions),
        )


def queues(store: Store) -> list[Queue]:
    """Return the queues of all people, those of the newest codebook first."""
    books = {one.hash: one for one in codebooks(store)}
    found: dict[tuple[str, str], list[Decision]] = {(hash_, ""): [] for hash_ in books}
    for row in _rows(store, "select * from queues order by coder"):
        of_one = found.setdefault((row["codebook"], row["coder"]), [])
        of_one.append(Decision(row["run"], row["turn"], row["agent"]))
    return [
        Queue(books[hash_], coder, tuple(sorted(of_one, key=lambda one: sha256(f"{coder} {one}"))))
        for book in books
        for (hash_, coder), of_one in found.items()
        if hash_ == book and of_one
    ]


def keep_coding(store: Store, coding: Coding) -> None:
    """Store a coding, in place of an earlier one of this coder with this number."""
    call = coding.call
    columns = columns_of_call(call, now())
    key = (coding.codebook, coding.coder, *coding.decision, coding.number)
    with open_notes(store.folder, writes=True) as connection, connection:
        connection.execute("pragma foreign_keys = on")
        texts = zip((columns["system"], columns["prompt"]), call.prompt, strict=True)
        connection.executemany("insert or ignore into code_texts values (?, ?)", texts)
        connection.execute(f"delete from codings where ({', '.join(KEY)}) = (?, ?, ?, ?, ?, ?)", key)  # noqa: S608  names are ours
        written = connection.execute(
            insertion("insert", "codings", (*KEY, *CALL)), (*key, *(columns[name] for name in CALL))
        )
        connection.executemany(
            "insert into codes values (?, ?, ?)",
            [(written.lastrowid, code, value) for code, value in coding.values.items()],
        )


def codings(
    store: Store, *, codebook: str | None = None, coder: str | None = None, run: str | None = None
) -> list[Coding]:
    """Return the codings of a codebook, a coder and a run, or of all, in the order of their making."""
    which = {"codebook": codebook, "coder": coder, "run": run}
    asked = " and ".join(f"{name} = ifnull(:{name}, {name})" for name in which)
    texts = {row["hash"]: row["text"] for row in _rows(store, "select * from code_texts")}
    values: dict[int, dict[str, bool | None]] = defaultdict(dict)
    sql = f"select codes.* from codes join codings on id = coding where {asked}"  # noqa: S608  names are ours
    for row in _rows(store, sql, which):
        values[row["coding"]][row["code"]] = None if row["value"] is None else bool(row["value"])
    return [
        Coding(
            row["codebook"],
            row["coder"],
            row["run"],
            store.calls.read({**row, "attempt": row["number"], "question": TURN_QUESTION}, texts),
            values[row["id"]],
        )
        for row in _rows(store, f"select * from codings where {asked} order by id", which)  # noqa: S608  names are ours
    ]


Found: TypeAlias = tuple[str, int, str, bool]
"""What a coder said: the coder, the number of the coding, a code, and whether it applies."""


def values_by_decision(
    store: Store, run: str, turn: int | None = None, agent: str | None = None
) -> dict[Decision, list[Found]]:
    """Return what coders said about the decisions of a run, of a turn or of an agent.

    Of each decision, it is what was said by the newest codebook by which anybody has coded it. Missing values
    are left out.
    """
    sql = (
        "with newest as (select codings.id, turn, agent, coder, number, rank() over"  # noqa: S608  names are ours
        " (partition by turn, agent order by kept desc, codebooks.rowid desc) as place"
        f" from codings join codebooks on hash = codebook where {OF_RUN})"
        " select * from newest join codes on coding = newest.id where place = 1 and value is not null"
        " order by code, coder, number"
    )
    found: dict[Decision, list[Found]] = {}
    for row in _rows(store, sql, {"run": run, "turn": turn, "agent": agent}):
        said = (row["coder"], row["number"], row["code"], bool(row["value"]))
        found.setdefault(Decision(run, row["turn"], row["agent"]), []).append(said)
    return found


def still_to_code(
    store: Store, run: str, turn: int | None = None, agent: str | None = None
) -> dict[Decision, list[str]]:
    """Return the people who have a decision in a queue and have not coded it yet, by decision."""
    sql = f"select distinct coder, turn, agent from queues where {OF_RUN} and {NOT_CODED} order by coder"  # noqa: S608  names are ours
    found: dict[Decision, list[str]] = {}
    for row in _rows(store, sql, {"run": run, "turn": turn, "agent": agent}):
        found.setdefault(Decision(run, row["turn"], row["agent"]), []).append(row["coder"])
    return found


def give_up(store: Store, coder: str) -> int:
    """Take all that a person has not coded yet out of their queues; return how many decisions these were."""
    if not any(one.coder == coder for one in queues(store)):
        return 0
    with open_notes(store.folder, writes=True) as connection, connection:
        return connection.execute(f"delete from queues where coder = ? and {NOT_CODED}", (coder,)).rowcount  # noqa: S608  names are ours


def coders_and_codes(store: Store) -> list[tuple[str, str]]:
    """Return who has coded which code: each coder with each of their codes."""
    sql = "select distinct coder, code from codings join codes on id = coding order by coder, code"
    return [(row["coder"], row["code"]) for row in _rows(store, sql)]


def shares_of_code(
    store: Store, coder: str, code: str, codebook: str | None = None
) -> dict[str, dict[tuple[int, str], float]]:
    """Return by run how often a coder found a code in each decision, by turn and agent, from 0 to 1.

    It is the mean over the coder's codings by a codebook, by default by the newest one by which this coder
    has coded the code. Decisions without a value are left out.
    """
    sql = (
        "select codebook, run, turn, agent, avg(value) as share from codings join codes on id = coding"
        " where coder = :coder and code = :code and value is not null group by codebook, run, turn, agent"
    )
    rows = _rows(store, sql, {"coder": coder, "code": code})
    there = {row["codebook"] for row in rows}
    wanted = codebook or next((one.hash for one in codebooks(store) if one.hash in there), None)
    found: dict[str, dict[tuple[int, str], float]] = {}
    for row in rows:
        if row["codebook"] == wanted:
            found.setdefault(row["run"], {})[row["turn"], row["agent"]] = row["share"]
    return found


def _rows(store: Store, sql: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Return rows of the tables of codings; none if there are no such tables yet."""
    with open_notes(store.folder, writes=False) as connection:
        connection.row_factory = sqlite3.Row
        if not connection.execute("select 1 from sqlite_master where name = 'codings'").fetchone():
            return []
        return [dict(row) for row in connection.execute(sql, values)]
