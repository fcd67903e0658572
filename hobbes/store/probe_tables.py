"""The tables of probes: what was asked, in which ways, and each answer."""

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple, NotRequired

from pydantic import AfterValidator, Field, Json
from typing_extensions import TypedDict  # pydantic refuses typing.TypedDict before Python 3.12

from hobbes.errors import DamagedError, MissingError
from hobbes.graphs.database import named_rows
from hobbes.nodes.journal import Call
from hobbes.nodes.models import ModelSettings
from hobbes.store.calls import CALL_JSON, CALL_TYPES, columns_of_call
from hobbes.store.checked_rows import Row, Table
from hobbes.store.home import Store
from hobbes.store.recorded_run import HOBBES
from hobbes.store.runs import now
from hobbes.store.schema import CALL, insertion
from hobbes.worlds import world_named

MAX_TIMES = 1_000
"""More answers than this to one question are a slip of the keyboard."""

KEY = ("probe", "situation", "column", "number", "question")

INSERT_ANSWER = insertion("insert or replace", "probe_answers", (*KEY, *CALL))
"""The answer to a repeated question replaces a call that brought none."""


class KeptSituation(TypedDict):
    """A situation of a probe as it is stored."""

    run: Annotated[str, Field(min_length=1)]
    turn: Annotated[int, Field(ge=0)]
    agent: Annotated[str, Field(min_length=1)]
    note: str


class KeptColumn(TypedDict):
    """A column of a probe as it is stored."""

    name: str
    prompts: str | None
    lang: str | None
    model: str | None
    settings: dict[str, Any]
    model_settings: dict[str, ModelSettings]
    paraphrase: NotRequired[bool]
    about: NotRequired[str]


def _damage(name: object, problem: str) -> DamagedError:
    return DamagedError(
        f"probe {name!r}: {problem}; put back an earlier copy of runs.db, or ask again under another --name"
    )


PROBES = Table(
    "probes",
    {
        **dict.fromkeys(("name", "started", "hobbes"), str),
        "world": Annotated[str, AfterValidator(lambda name: world_named(name).name)],
        "times": Annotated[int, Field(ge=1, le=MAX_TIMES)],
    },
    {"situations": Json[list[KeptSituation]], "columns": Json[list[KeptColumn]]},
    lambda row, problem: _damage(row["name"], problem),
)

PROBE_ANSWERS = Table(
    "probe_answers",
    {"probe": str, "situation": int, "column": str, "number": int, "question": int, **CALL_TYPES},
    CALL_JSON,
    lambda row, problem: _damage(row["probe"], problem),
)


class KeptProbe(NamedTuple):
    """A probe as it is stored: its situations and its columns are plain JSON."""

    name: str
    world: str
    situations: list[Row]
    columns: list[Row]
    times: int


class KeptAnswer(NamedTuple):
    """An answer to a probe: which one of its cell, from 1, and the call."""

    situation: int
    column: str
    number: int
    call: Call


def keep_probe(store: Store, probe: KeptProbe) -> None:
    """Store what a probe asks, or what it asks now: more columns, or more often."""
    situations, columns = (json.dumps(part, ensure_ascii=False) for part in (probe.situations, probe.columns))
    with store.connection as connection:
        connection.execute(
            "insert into probes (name, world, situations, columns, times, started, hobbes)"
            " values (?, ?, ?, ?, ?, ?, ?)"
            " on conflict (name) do update"
            " set columns = excluded.columns, times = max(times, excluded.times)",
            (probe.name, probe.world, situations, columns, probe.times, now(), HOBBES),
        )


def probes_listed(store: Store) -> list[Row]:
    """Return what all probes are about, and when they were asked first, the newest first.

    Of one whose row is damaged, only the name and the damage are returned.
    """
    listed = []
    for row in named_rows(store.connection, "select * from probes order by started desc, rowid desc"):
        try:
            values = PROBES.values(row)
        except DamagedError as error:
            listed.append({"name": row["name"], "damage": str(error)})
            continue
        counts = {
            "situations": len(values["situations"]),
            "columns": [column["name"] for column in values["columns"]],
        }
        listed.append({**{key: row[key] for key in ("name", "world", "started")}, **counts})
    return listed


def probe_names(store: Store) -> list[str]:
    """Return the names of all probes, the newest first."""
    rows = store.connection.execute("select name from probes order by started desc, rowid desc")
    return [name for (name,) in rows]


def kept_probe(store: Store, name: str) -> KeptProbe | None:
    """Return a probe; None if there is none of this name. Raise DamagedError if its row is damaged."""
    row = next(named_rows(store.connection, "select * from probes where name = ?", [name]), None)
    return None if row is None else KeptProbe(*(PROBES.plain(row, part) for part in KeptProbe._fields))


def probe_named(store: Store, name: str) -> KeptProbe:
    """Return a probe; raise MissingError, with the names of all, if there is none of this name."""
    if (found := kept_probe(store, name)) is not None:
        return found
    names = probe_names(store)
    known = f"there are: {', '.join(names)}" if names else "`hobbes probe RUN --name NAME` asks one"
    raise MissingError(f"there is no probe {name!r} in {store.home}; {known}")


def answers_of(store: Store, probe: KeptProbe) -> Iterator[KeptAnswer]:
    """Yield all calls of a probe, by situation, column, number and question.

    Raise DamagedError at one that is damaged.
    """
    sql = "select * from probe_answers where probe = ? order by situation, column, number, question"
    texts: dict[str, str] = {}
    for row in named_rows(store.connection, sql, [probe.name]):
        yield _answer(store, probe, row, texts)


def _answer(store: Store, probe: KeptProbe, row: Row, texts: dict[str, str]) -> KeptAnswer:
    """Return the answer of a row. The texts of its prompt are added to those that are known by their hash."""
    PROBE_ANSWERS.values(row)
    situation = row["situation"]
    if not 1 <= situation <= len(probe.situations):
        raise _damage(probe.name, f"the table probe_answers has a situation {situation}, which is not there")
    for column in ("system", "prompt"):
        if row[column] not in texts:
            texts[row[column]] = store.runs.text_of(PROBE_ANSWERS, row, column)
    place = probe.situations[situation - 1]
    call = store.calls.call({**row, **place, "attempt": row["number"]}, texts)
    return KeptAnswer(situation, row["column"], row["number"], call)


def keep_answers(store: Store, probe: str, answers: Sequence[KeptAnswer]) -> None:
    """Store answers, with the texts of their prompts."""
    arrived = now()
    with store.connection as connection:
        for one in answers:
            for text in one.call.prompt:
                store.runs.add_text(text)
            key = (probe, one.situation, one.column, one.number, one.call.question)
            connection.execute(INSERT_ANSWER, (*key, *columns_of_call(one.call, arrived).values()))
