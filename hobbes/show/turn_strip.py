"""The turns in which an agent was asked, around one of them, and what a reader looks for in each."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hobbes.store.calls import Decision
from hobbes.store.marked_turns import Marks
from hobbes.store.notes import Note

REACH = 10
"""How many turns are listed before and after the one that is shown."""


class TurnMark(NamedTuple):
    """One mark of an agent's turn, and how often what it stands for occurred."""

    kind: str
    """`failed`, `rejected`, `landmark` or `note`."""
    name: str
    """The outcome of a failed call, `rejection`, the name of a landmark, or what a person noted: its tags."""
    times: int = 1


def marks_of(
    agent: str, decisions: Iterable[Decision], marks: Marks, notes: Iterable[Note]
) -> dict[int, list[TurnMark]]:
    """Return the marks of an agent's turns from its decisions, and from the marks and notes of its run."""
    found: dict[int, list[TurnMark]] = defaultdict(list)
    counted = [("rejected", "rejection", marks.rejections)]
    counted += [("landmark", name, times) for name, times in marks.landmarks.items()]
    for decision in decisions:
        if decision.failed:
            found[decision.turn].append(TurnMark("failed", decision.outcome))
        for kind, name, times_at in counted:
            if times := times_at[decision.turn, agent]:
                found[decision.turn].append(TurnMark(kind, name, times))
    for note in notes:
        if note.agent == agent and note.turn is not None:
            found[note.turn].append(TurnMark("note", note.label or "note"))
    return found


@dataclass(frozen=True, slots=True)
class Strip:
    """The turns in which an agent was asked, around one of them.

    `turns` have their marks. `before` and `after` are the turns of the agent next to this one.
    """

    turns: Sequence[tuple[int, Sequence[TurnMark]]]
    asked: int
    """In how many turns the agent was asked."""
    before: int | None
    after: int | None


def strip(decisions: Iterable[Decision], number: int, marks: Mapping[int, Sequence[TurnMark]]) -> Strip:
    """Return the strip around a turn of those in which an agent was asked."""
    turns = [decision.turn for decision in decisions]
    at = turns.index(number)
    near = turns[max(at - REACH, 0) : at + REACH + 1]
    return Strip(
        [(turn, marks.get(turn, ())) for turn in near],
        len(turns),
        turns[at - 1] if at else None,
        turns[at + 1] if at + 1 < len(turns) else None,
    )
