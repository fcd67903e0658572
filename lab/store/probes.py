"""The tables of probes: what was asked, in which ways, and each answer."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hobbes.lab.errors import MissingError
from hobbes.lab.store.home import Store
from hobbes.lab.store.journal import columns_of_call, insertion
from hobbes.lab.store.run import HOBBES
from hobbes.lab.store.runs import now
from hobbes.lab.store.schema import CALL
from hobbes.nodes.journal import Call

Row = dict[str, Any]

KEY = ("probe", "situation", "column", "number", "question")

INSERT_ANSWER = insertion("insert or replace", "probe_answers", (*KEY, *CALL))
"""The answer to a repeated question replaces a call that brought none."""


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
    with store.db.conn as connection:
        connection.execute(
            "insert into probes (name, world, situations, columns, times, started, hobbes)"
            " values (?, ?, ?, ?, ?, ?, ?)"
            " on conflict (name) do update"
            " set columns = excluded.columns, times = max(times, excluded.times)",
            (probe.name, probe.world, situations, columns, probe.times, now(), HOBBES),
        )


def probes_listed(store: Store) -> list[Row]:
    """Return what all probes are about, and when they were asked first, the newest first."""
    order = "started desc, rowid desc"
    return [
        {
            **{key: row[key] for key in ("name", "world", "started")},
            "situations": len(json.loads(row["situations"])),
            "columns": [column["name"] for column in json.loads(row["columns"])],
        }
        for row in store.db.table("probes").rows_where(order_by=order)
    ]


def probe_names(store: Store) -> list[str]:
    """Return the names of all probes, the newest first."""
    rows = store.db.conn.execute("select name from probes order by started desc, rowid desc")
    return [name for (name,) in rows]


def kept_probe(store: Store, name: str) -> KeptProbe | None:
    """Return a probe; None if there is none of this name."""
    row = next(store.db.table("probes").rows_where("name = ?", [name]), None)
    if row is None:
        return None
    situations, columns = (json.loads(row[part]) for part in ("situations", "columns"))
    return KeptProbe(name, row["world"], situations, columns, row["times"])


def probe_named(store: Store, name: str) -> KeptProbe:
    """Return a probe; raise MissingError, with the names of all, if there is none of this name."""
    if (found := kept_probe(store, name)) is not None:
        return found
    names = probe_names(store)
    known = f"there are: {', '.join(names)}" if names else "`hobbes probe RUN --name NAME` asks one"
    raise MissingError(f"there is no probe {name!r} in {store.home}; {known}")


def answers_of(store: Store, probe: KeptProbe) -> Iterator[KeptAnswer]:
    """Yield all calls of a probe, by situation, column, number and question."""
    order = "situation, column, number, question"
    texts: dict[str, str] = {}
    for row in store.db.table("probe_answers").rows_where("probe = ?", [probe.name], order_by=order):
        for column in ("system", "prompt"):
            texts.setdefault(row[column], store.runs.text(row[column]) or "")
        place = probe.situations[row["situation"] - 1]
        call = store.calls.read({**row, **place, "attempt": row["number"]}, texts)
        yield KeptAnswer(row["situation"], row["column"], row["number"], call)


def keep_answers(store: Store, probe: str, answers: Sequence[KeptAnswer]) -> None:
    """Store answers, with the texts of their prompts."""
    arrived = now()
    with store.db.conn as connection:
        for one in answers:
            for text in one.call.prompt:
                store.runs.add_text(text)
            key = (probe, one.situation, one.column, one.number, one.call.question)
            connection.execute(INSERT_ANSWER, (*key, *columns_of_call(one.call, arrived).values()))
