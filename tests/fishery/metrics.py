"""fishery: the measures of a run, and each boat's landings as a sum. A figure over 0 rounds is undefined."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from engine.arithmetic import as_sum
from engine.measuring import parts, ratio
from engine.world import Measure, Played
from tests.fishery.state import State
from tests.fishery.validation import Intent

History: TypeAlias = Sequence[Played[State, Intent]]


def measures(history: History) -> tuple[Measure, ...]:
    """Return the figures of the run and of its halves, and the stock after each turn."""
    if not history:
        return ()
    found = [
        Measure(name, scope, formula(part))
        for scope, part in parts(history)
        for name, formula in FORMULAS.items()
    ]
    stocks = [Measure("stock", f"turn/{p.before.turn}", stock(p)) for p in history]
    return (*found, *stocks)


def landed(history: History) -> float:
    """Tonnes landed by all boats."""
    return float(sum(history[-1].after.landed.values()) - sum(history[0].before.landed.values()))


def restraint(history: History) -> float | None:
    """1 - tonnes that boats chose to catch / quotas of those that chose."""
    chosen = [(i.catch, p.before.quota) for p in history for i in p.intents.values() if i.chosen]
    used = ratio(sum(catch for catch, _ in chosen), sum(quota for _, quota in chosen))
    return None if used is None else 1 - used


def requests(history: History) -> float | None:
    """Requests / answers of boats."""
    asked = [intent.request is not None for played in history for intent in played.intents.values()]
    return ratio(sum(asked), len(asked))


def stock(played: Played[State, Intent]) -> float:
    """Fish after the turn."""
    return float(played.after.stock)


FORMULAS: Mapping[str, Callable[[History], float | None]] = {
    "landed": landed,
    "restraint": restraint,
    "requests": requests,
}

BY_NAME: Mapping[str, Callable[..., object]] = {**FORMULAS, "stock": stock}


def arithmetic(played: Played[State, Intent]) -> dict[str, dict[str, str]]:
    """Return what each boat has landed, as what it had landed before and its catch."""
    before, after = played.before.landed, played.after.landed
    return {
        boat: {"landed": as_sum((("before", before[boat]), ("catch", after[boat] - before[boat])))}
        for boat in after
    }
