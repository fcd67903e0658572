"""What a run has in each turn, without reading its records one by one.

SQL reads turns as they are: whoever calls these functions checks them first, once (`Turns.check`).
"""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TypeAlias

from hobbes.lab.store.home import Store
from hobbes.lab.store.run import Run

Place: TypeAlias = tuple[int, str]
"""A turn, and an agent in it."""


_WITHIN = "run = ? and agent = coalesce(?, agent) and turn between ? and coalesce(?, turn)"


def rejections(
    store: Store, run: Run, agent: str | None = None, first: int = 0, last: int | None = None
) -> Counter[Place]:
    """Return how many rejections each agent, or one, has in each turn, or in those from first to last."""
    sql = f"select turn, agent, count(*) from drops where {_WITHIN} group by 1, 2"  # noqa: S608  no names at all
    return Counter(
        {(turn, who): n for turn, who, n in store.db.conn.execute(sql, [run.id, agent, first, last])}
    )


def landmarks(
    store: Store, run: Run, agent: str | None = None, first: int = 0, last: int | None = None
) -> dict[str, Counter[Place]]:
    """Return how often each landmark of a run's world occurs, by turn and by the agent of the event.

    With an agent, only its own are counted; else those of all, in all turns or in those from first to last.
    An event that has a cause of its agent counts as its cause alone: a high five that missed is no attack.
    """
    marks, causes = run.world.landmarks, run.world.causes
    counts: dict[str, Counter[Place]] = {mark.name: Counter() for mark in marks}
    types = sorted({*(mark.event for mark in marks), *causes})
    among = ", ".join("?" * len(types))
    sql = f"select turn, agent, type, event from events where {_WITHIN} and type in ({among})"  # noqa: S608  no names at all
    rows = store.db.conn.execute(sql, [run.id, agent, first, last, *types]).fetchall()
    caused = {(turn, who, causes[kind]) for turn, who, kind, _ in rows if kind in causes}
    for turn, who, kind, text in rows:
        if (turn, who, kind) in caused:
            continue
        event = json.loads(text)
        for mark in marks:
            if mark.is_at(event):
                counts[mark.name][turn, who] += 1
    return counts


def ratings(store: Store, run: Run) -> dict[str, dict[Place, float]]:
    """Return the mean of the ratings that each agent received in each turn, by the kind of the report."""
    sql = (
        "select turn, ratee, avg(score), kind from reports where run = ? and rater != ratee group by 4, 1, 2"
    )
    means: dict[str, dict[Place, float]] = defaultdict(dict)
    for turn, ratee, mean, kind in store.db.conn.execute(sql, [run.id]):
        means[kind][turn, ratee] = mean
    return dict(means)


def measures_by_turn(store: Store, run: Run, names: Sequence[str]) -> dict[str, dict[int, float]]:
    """Return the figures of single turns of these measures, where they are defined."""
    by_measure: dict[str, dict[int, float]] = {}
    for name in names:
        sql = "select cast(substr(scope, 6) as integer), value from measures where run = ? and name = ?"
        sql += " and scope glob 'turn/[0-9]*' and value is not null order by 1"
        if figures := dict(store.db.conn.execute(sql, [run.id, name])):
            by_measure[name] = figures
    return by_measure
