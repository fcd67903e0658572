"""What happened in a run, event by event, without the rest of its record."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from engine.record import Event
from lab.store.database import Run, Store
from lab.store.history import logged


class Happened(NamedTuple):
    """An event with its turn."""

    turn: int
    event: Event


def events_until(store: Store, run: Run, until: int) -> Iterator[Happened]:
    """Yield the events of a run's turns up to this one, in order. What is damaged is noted and left out."""
    damaged = "select turn from turns where run = ? and turn <= ? and not json_valid(record)"
    for (turn,) in store.db.conn.execute(damaged, [run.id, until]).fetchall():
        store.if_readable(partial(logged, store, run, turn), None)
    sql = "select run, turn, event from events where run = ? and turn <= ? order by turn, n"
    for values in store.db.query(sql, [run.id, until]):
        row = store.stored_row("events", values, store.leave_out)
        told = row["event"]
        if isinstance(told, dict) and "type" in told and "agent" in told:
            yield Happened(row["turn"], Event.from_json(told))
