"""Caps: what a run may cost in calls, tokens, money and time.

Each is checked before a call is made. A run that reaches one stops as it stands and goes on under a higher
one; what a run costs is no part of what it is, so its digest knows nothing of it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from engine.answer import NO_ANSWER
from nodes.halted import HaltedError
from nodes.journal import Reply

T = TypeVar("T", int, float)


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that a run may cost; None: as much as it takes."""

    calls: int | None = None
    tokens: int | None = None
    """In and out, together."""
    usd: float | None = None
    seconds: float | None = None


NO_CAPS = Caps()


@dataclass(slots=True)
class Spent:
    """What a run has cost so far; None: nobody knows."""

    calls: int = 0
    tokens: int | None = 0
    usd: float | None = 0.0
    seconds: float = 0.0

    def add(self, tokens: int | None, usd: float | None) -> None:
        """Add what calls have cost."""
        self.tokens = _sum(self.tokens, tokens)
        self.usd = _sum(self.usd, usd)


class Meter:
    """Counts what a run costs, and says when it may cost no more."""

    def __init__(self, caps: Caps, spent: Spent, usd_of: Callable[[Reply], float | None]) -> None:
        self._caps = caps
        self._spent = spent
        self._usd_of = usd_of
        self._began = time.monotonic() - spent.seconds
        self.told = ""
        """Which cap is reached; empty as long as none is."""

    def begin(self) -> None:
        """Count a call that is about to be made; HaltedError: it may not be."""
        self.told = self.told or self._reached()
        if self.told:
            raise HaltedError(self.told)
        self._spent.calls += 1

    def _reached(self) -> str:
        """Say which cap is reached, or cannot be kept."""
        self._spent.seconds = time.monotonic() - self._began
        for name in Caps.__dataclass_fields__:
            cap, spent = getattr(self._caps, name), getattr(self._spent, name)
            if cap is not None and spent is None:
                return f"--max-{name} {cap} cannot be kept: an answer did not say what it cost"
            if cap is not None and spent >= cap:
                return f"--max-{name} {cap} is reached"
        return ""

    def ended(self, reply: Reply) -> None:
        """Count what a call has cost. One that never came back has cost nothing that anybody could know."""
        if reply.failure in NO_ANSWER:
            return
        self._spent.add(_sum(reply.tokens_in, reply.tokens_out), self._usd_of(reply))


def _sum(one: T | None, other: T | None) -> T | None:
    """Add what is known; with something unknown, the sum is."""
    return None if one is None or other is None else one + other
