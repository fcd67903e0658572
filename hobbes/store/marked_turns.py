"""What a run has in each turn that a reader looks for, in one pass over its turns."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import orjson

from hobbes.engine.telling import Landmark
from hobbes.engine.world import AnyWorld
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.turns import LoggedTurn

TurnOfAgent: TypeAlias = tuple[int, str]
"""A turn, and an agent in it."""


PlainRecord: TypeAlias = Mapping[str, Any]
"""The record of a turn, or an event in it, as JSON."""


class Marks(NamedTuple):
    """What is in the turns of a run, each by turn and agent.

    `rejections` has their numbers, and `landmarks` how often each occurs, by its name.
    """

    rejections: Counter[TurnOfAgent]
    landmarks: dict[str, Counter[TurnOfAgent]]

    def add(self, turn: int, record: PlainRecord, landmarks: Iterable[tuple[Landmark, PlainRecord]]) -> None:
        """Add what is in the next turn."""
        self.rejections.update((turn, drop["agent"]) for drop in record["drops"])
        for mark, event in landmarks:
            self.landmarks[mark.name][turn, event["agent"]] += 1


def no_marks(world: AnyWorld) -> Marks:
    """Return what is in no turns."""
    return Marks(Counter(), {mark.name: Counter() for mark in world.telling.landmarks})


def plain_records(store: Store, run: Run) -> Iterator[tuple[int, PlainRecord]]:
    """Yield each turn of a run with its record as JSON: to make a record of it takes ten times as long.

    Raise DamagedError at a damaged turn.
    """
    for turn in store.turns.of(run):
        yield turn.turn, orjson.loads(turn.text)


def landmarks_among(world: AnyWorld, events: Sequence[PlainRecord]) -> Iterable[tuple[Landmark, PlainRecord]]:
    """Yield the landmarks of a turn, each with its event."""
    by_event = defaultdict(list)
    for mark in world.telling.landmarks:
        by_event[mark.event].append(mark)
    for event in without_effects(world, events):
        for mark in by_event.get(event["type"], ()):
            if mark.is_at(event):
                yield mark, event


def without_effects(world: AnyWorld, events: Sequence[PlainRecord]) -> Sequence[PlainRecord]:
    """Return the events of a turn without those of which another one is the cause, which counts for both.

    A high five that missed is no attack.
    """
    causes = world.telling.causes
    caused = {(event["agent"], causes[event["type"]]) for event in events if event["type"] in causes}
    if not caused:
        return events
    return [event for event in events if (event["agent"], event["type"]) not in caused]


def kinds_in(world: AnyWorld, logged: LoggedTurn) -> dict[str, list[str]]:
    """Return the types of the `events` of a stored turn, an effect and its cause as one, and all codes."""
    record: PlainRecord = orjson.loads(logged.text)
    codes = {part: [one["code"] for one in record[part]] for part in ("drops", "mends")}
    return {"events": [event["type"] for event in without_effects(world, record["events"])], **codes}


def measures_by_turn(store: Store, run: Run, names: Sequence[str]) -> dict[str, dict[int, float]]:
    """Return the figures of single turns of these measures, where they are defined."""
    by_measure: dict[str, dict[int, float]] = {}
    for name in names:
        sql = "select cast(substr(scope, 6) as integer), value from measures where run = ? and name = ?"
        sql += " and scope glob 'turn/[0-9]*' and value is not null order by 1"
        if figures := dict(store.connection.execute(sql, [run.id, name])):
            by_measure[name] = figures
    return by_measure
