"""What happened in a run, event by event, without the rest of its record."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from hobbes.engine.record import Event
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run


class Happened(NamedTuple):
    """An event with its turn."""

    turn: int
    event: Event


def events_until(store: Store, run: Run, until: int, kind: str | None = None) -> Iterator[Happened]:
    """Yield the events of a run's turns up to this one, of one type or of all, in order.

    Raise DamagedError at a damaged turn.
    """
    store.turns.check(run, 0, until)
    sql = "select turn, json_extract(record, '$.events') from turns where run = ? and turn <= ? order by turn"
    for turn, stored in store.db.conn.execute(sql, [run.id, until]):
        for event in json.loads(stored):
            if kind is None or event["type"] == kind:
                yield Happened(turn, Event.from_json(event))
