"""What a reader looks for in an agent's turns: failed calls, rejections, landmarks, and what people noted."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hobbes.lab.store.calls import Decision
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import Run
from hobbes.lab.store.timelines import marks_in


class TurnMark(NamedTuple):
    """One mark of an agent's turn, and how often what it stands for occurred."""

    kind: str
    """`failed`, `rejected`, `landmark` or `note`."""
    name: str
    """The outcome of a failed call, `rejection`, the name of a landmark, or what a person noted: its tags."""
    times: int = 1


def marks_on_turns(
    store: Store, run: Run, decisions: Mapping[str, Sequence[Decision]], first: int, last: int
) -> dict[str, dict[int, list[TurnMark]]]:
    """Return the marks of the turns from the first to the last, by the agents whose decisions are given.

    Agents and turns without a mark are left out. Raise DamagedError at a damaged turn.
    """
    marks: dict[str, dict[int, list[TurnMark]]] = {}
    for agent, of_agent in decisions.items():
        for decision in of_agent:
            if decision.failed and first <= decision.turn <= last:
                marks.setdefault(agent, {})[decision.turn] = [TurnMark("failed", decision.outcome)]
    found = marks_in(store, run, first, last)
    counted = [("rejected", "rejection", found.rejections)]
    counted += [("landmark", name, times) for name, times in found.landmarks.items()]
    for kind, name, times_at in counted:
        for (turn, agent), times in times_at.items():
            if agent in decisions:
                marks.setdefault(agent, {}).setdefault(turn, []).append(TurnMark(kind, name, times))
    for written in store.notes.of(run.id):
        about, at = written.agent, written.turn
        if about in decisions and about and at is not None and first <= at <= last:
            marks.setdefault(about, {}).setdefault(at, []).append(TurnMark("note", written.label or "note"))
    return marks
