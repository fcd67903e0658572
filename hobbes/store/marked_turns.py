"""What a run has in each turn that a reader looks for, in one pass over its turns."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import orjson

from hobbes.engine.world import AnyWorld
from hobbes.store.history import load_state
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run

TurnOfAgent: TypeAlias = tuple[int, str]
"""A turn, and an agent in it."""


class Marks(NamedTuple):
    """What is in the turns of a run, each by turn and agent.

    `rejections` has their numbers, and `landmarks` how often each occurs, by its name. `scores` are those
    after the turns for which they were asked.
    """

    rejections: Counter[TurnOfAgent]
    landmarks: dict[str, Counter[TurnOfAgent]]
    scores: dict[TurnOfAgent, int]


def marks_in(
    store: Store, run: Run, first: int = 0, last: int | None = None, *, scored: Collection[int] = ()
) -> Marks:
    """Return what is in the turns from the first to the last, with the scores after those to be `scored`.

    Raise DamagedError at a damaged turn.
    """
    landmarks = {mark.name: Counter[TurnOfAgent]() for mark in run.world.telling.landmarks}
    found = Marks(Counter(), landmarks, {})
    for turn in store.turns.of(run, first, last):
        record = orjson.loads(turn.text)  # plain JSON: to make a record of it takes ten times as long
        found.rejections.update((turn.turn, drop["agent"]) for drop in record["drops"])
        for name, agent in _landmarks(run.world, record["events"]):
            found.landmarks[name][turn.turn, agent] += 1
        if turn.turn in scored:
            scores = run.world.scores(load_state(run, turn.turn, record["state"]))
            found.scores.update({(turn.turn, agent): score for agent, score in scores.items()})
    return found


def _landmarks(world: AnyWorld, events: Sequence[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    """Yield the landmarks of a turn, each with the agent of its event.

    An event that has a cause of its agent counts as its cause alone: a high five that missed is no attack.
    """
    by_event = defaultdict(list)
    for mark in world.telling.landmarks:
        by_event[mark.event].append(mark)
    causes = world.telling.causes
    caused = {(one["agent"], causes[one["type"]]) for one in events if one["type"] in causes}
    for event in events:
        for mark in by_event.get(event["type"], ()):
            if (event["agent"], event["type"]) not in caused and mark.is_at(event):
                yield mark.name, event["agent"]


def measures_by_turn(store: Store, run: Run, names: Sequence[str]) -> dict[str, dict[int, float]]:
    """Return the figures of single turns of these measures, where they are defined."""
    by_measure: dict[str, dict[int, float]] = {}
    for name in names:
        sql = "select cast(substr(scope, 6) as integer), value from measures where run = ? and name = ?"
        sql += " and scope glob 'turn/[0-9]*' and value is not null order by 1"
        if figures := dict(store.db.conn.execute(sql, [run.id, name])):
            by_measure[name] = figures
    return by_measure
