"""What a reader looks for in an agent's turns: failed calls, rejections, and the landmarks of the world."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hobbes.lab.store.calls import Decision
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import Run
from hobbes.lab.store.timelines import landmarks, rejections


class Note(NamedTuple):
    """One thing that is noted of an agent's turn, and how often it occurred."""

    kind: str
    """`failed`, `rejected` or `landmark`."""
    name: str
    """The outcome of a failed call, `rejection`, or the name of a landmark."""
    times: int = 1


def notes_on_turns(
    store: Store, run: Run, decisions: Mapping[str, Sequence[Decision]], first: int, last: int
) -> dict[str, dict[int, list[Note]]]:
    """Return what is noted of the turns from the first to the last, by the agents whose decisions are given.

    Agents and turns without a note are left out.
    """
    notes: dict[str, dict[int, list[Note]]] = {}
    for agent, of_agent in decisions.items():
        for decision in of_agent:
            if decision.failed and first <= decision.turn <= last:
                notes.setdefault(agent, {})[decision.turn] = [Note("failed", decision.outcome)]
    within = (next(iter(decisions)) if len(decisions) == 1 else None, first, last)
    counted = [("rejected", "rejection", rejections(store, run, *within))]
    counted += [("landmark", name, times) for name, times in landmarks(store, run, *within).items()]
    for kind, name, times_at in counted:
        for (turn, agent), times in times_at.items():
            if agent in decisions:
                notes.setdefault(agent, {}).setdefault(turn, []).append(Note(kind, name, times))
    return notes
