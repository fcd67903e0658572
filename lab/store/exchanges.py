"""What happened in a run, event by event, without the rest of its record."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from hobbes.engine.record import Event
from hobbes.lab.store.database import Run, Store
from hobbes.lab.store.history import logged


class Happened(NamedTuple):
    """An event with its turn."""

    turn: int
    event: Event


def events_until(store: Store, run: Run, until: int) -> Iterator[Happened]:
    """Yield the events of a run's turns up to this one, in order. What is damaged is noted and left out."""
    sql = (
        "select turn, iif(json_valid(record), json_extract(record, '$.events'), null) from turns"
        " where run = ? and turn <= ? order by turn"
    )
    for turn, stored in store.db.conn.execute(sql, [run.id, until]):
        events = _events(stored)
        if events is None:
            logged_turn = store.if_readable(partial(logged, store, run, turn), None)  # notes the damage
            events = logged_turn.record.events if logged_turn else ()
        yield from (Happened(turn, event) for event in events)


def _events(stored: object) -> Sequence[Event] | None:
    """Return the events of their JSON, None if it is damaged."""
    if not isinstance(stored, str):
        return None
    told = json.loads(stored)
    if not isinstance(told, list) or not all(map(_is_event, told)):
        return None
    return [Event.from_json(one) for one in told]


def _is_event(told: object) -> bool:
    return isinstance(told, dict) and isinstance(told.get("type"), str) and isinstance(told.get("agent"), str)
