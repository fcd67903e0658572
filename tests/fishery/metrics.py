"""fishery: the measures of a run, and each boat's landings as a sum. A figure over 0 rounds is undefined."""

from typing import TypeAlias

from hobbes.engine.arithmetic import as_sum
from hobbes.engine.measures import Formulas, Measures, PlayedTurn, at_end, share, total
from tests.fishery.state import State
from tests.fishery.validation import Intent

PlayedRound: TypeAlias = PlayedTurn[State, Intent]


@total
def landed(played: PlayedRound) -> float:
    """Tonnes landed by all boats."""
    return float(sum(played.after.landed.values()) - sum(played.before.landed.values()))


@share
def restraint(played: PlayedRound) -> tuple[int, int]:
    """1 - tonnes that boats chose to catch / quotas of those that chose."""
    chosen = [intent.catch for intent in played.intents.values() if intent.chosen]
    allowed = played.before.quota * len(chosen)
    return allowed - sum(chosen), allowed


@share
def requests(played: PlayedRound) -> tuple[int, int]:
    """Requests / answers of boats."""
    asked = [intent.request is not None for intent in played.intents.values()]
    return sum(asked), len(asked)


@at_end
def stock(played: PlayedRound) -> float:
    """Fish after the turn."""
    return float(played.after.stock)


FORMULAS: Formulas[PlayedRound] = {"landed": landed, "restraint": restraint, "requests": requests}

OF_ROUNDS: Formulas[PlayedRound] = {"stock": stock}


def arithmetic(played: PlayedTurn[State, Intent]) -> dict[str, dict[str, str]]:
    """Return what each boat has landed, as what it had landed before and its catch."""
    before, after = played.before.landed, played.after.landed
    return {
        boat: {"landed": as_sum((("before", before[boat]), ("catch", after[boat] - before[boat])))}
        for boat in after
    }


MEASURES: Measures[State, Intent] = Measures(
    each=OF_ROUNDS, parts=FORMULAS, headline=("landed", "restraint"), arithmetic=arithmetic
)
"""The figures of the run and of its halves, and the stock after each turn."""
