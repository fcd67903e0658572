"""What a reader looks for in an agent's turns: failed calls, rejections, and the landmarks of the world."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lab.store.database import Decision, Run, Store


class Note(NamedTuple):
    """One thing that is noted of an agent's turn, and how often it occurred."""

    kind: str
    """`failed`, `rejected` or `landmark`."""
    name: str
    """The outcome of a failed call, `rejection`, or the name of a landmark."""
    times: int = 1


def noted(
    store: Store, run: Run, decisions: Mapping[str, Sequence[Decision]], first: int, last: int
) -> dict[str, dict[int, list[Note]]]:
    """Return what is noted of the turns from the first to the last, by the agents whose decisions are given.

    Agents and turns without a note are left out.
    """
    found: dict[str, dict[int, list[Note]]] = {}
    for agent, of_agent in decisions.items():
        for decision in of_agent:
            if decision.failed and first <= decision.turn <= last:
                found.setdefault(agent, {})[decision.turn] = [Note("failed", decision.outcome)]
    only = next(iter(decisions)) if len(decisions) == 1 else None
    within = {"run": run.id, "agent": only, "first": first, "last": last}
    for agent, turn, note in [*_rejected(store, within), *_landmarks(store, run, within)]:
        if agent in decisions:
            found.setdefault(agent, {}).setdefault(turn, []).append(note)
    return found


_WITHIN = "run = :run and agent = coalesce(:agent, agent) and turn between :first and :last"


def _rejected(store: Store, within: Mapping[str, Any]) -> Iterator[tuple[str, int, Note]]:
    """Yield the numbers of rejections, by agent and turn."""
    sql = f"select agent, turn, count(*) from drops where {_WITHIN} group by 1, 2"  # noqa: S608  names are ours
    for agent, turn, times in store.db.conn.execute(sql, within):
        yield agent, turn, Note("rejected", "rejection", times)


def _landmarks(store: Store, run: Run, within: Mapping[str, Any]) -> Iterator[tuple[str, int, Note]]:
    """Yield how often each landmark occurred, by agent and turn."""
    marks = run.world.landmarks
    types = {f"type{k}": mark.event for k, mark in enumerate(marks)}
    among = ", ".join(f":{name}" for name in types)
    sql = f"select agent, turn, event from events where {_WITHIN} and type in ({among})"  # noqa: S608  names are ours
    counted: Counter[tuple[str, int, str]] = Counter()
    for agent, turn, event in store.db.conn.execute(sql, {**within, **types}):
        told = json.loads(event)
        for mark in marks:
            facts = {"type": mark.event, **mark.facts}
            counted[agent, turn, mark.name] += all(told.get(name) == value for name, value in facts.items())
    for (agent, turn, name), times in counted.items():
        if times:
            yield agent, turn, Note("landmark", name, times)
