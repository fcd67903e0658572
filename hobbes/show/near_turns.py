"""The turns to which the card of an agent leads: those next to its own, and the nearest with a mark."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from hobbes.store.calls import Decision
from hobbes.store.marked_turns import Marks
from hobbes.store.notes import Note


class NearTurns(NamedTuple):
    """The turns near one of those in which an agent was asked; None where there is none."""

    before: int | None
    after: int | None
    earlier: int | None
    """The nearest one before that has a mark."""
    later: int | None


def near_turns(turns: Sequence[int], number: int, marked: Collection[int]) -> NearTurns:
    """Return which of the turns in which an agent was asked are near one of them."""
    at = turns.index(number)
    before, after = turns[:at][::-1], turns[at + 1 :]
    return NearTurns(
        next(iter(before), None),
        next(iter(after), None),
        next((turn for turn in before if turn in marked), None),
        next((turn for turn in after if turn in marked), None),
    )


def marked_turns(
    agent: str, decisions: Iterable[Decision], marks: Marks, notes: Iterable[Note]
) -> frozenset[int]:
    """Return the turns in which an agent has a failed call, a rejection, a landmark or a note."""
    places = [place for times in (marks.rejections, *marks.landmarks.values()) for place in times]
    return frozenset(
        [
            *(decision.turn for decision in decisions if decision.failed),
            *(turn for turn, name in places if name == agent),
            *(note.turn for note in notes if note.agent == agent and note.turn is not None),
        ]
    )
