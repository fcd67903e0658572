"""Caps: limits on what a run may cost in calls, tokens, money and time.

They are checked before each call. A run that reaches a cap halts, and can be resumed with a higher one. What
a run costs is not part of what it plays, so caps never change a digest.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import TypeVar

from hobbes.engine.answer import NO_ANSWER
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.journal import Reply

T = TypeVar("T", int, float)


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that a run may cost; None means no limit."""

    calls: int | None = None
    tokens: int | None = None
    """Tokens of prompts and answers together."""
    usd: float | None = None
    seconds: float | None = None
    """Seconds of playing, over all times that the run was resumed."""


NO_CAPS = Caps()


@dataclass(slots=True)
class Spent:
    """What a run has cost so far; None means that a call did not report it, so the sum is unknown."""

    calls: int = 0
    tokens: int | None = 0
    usd: float | None = 0.0
    seconds: float = 0.0

    def add(self, tokens: int | None, usd: float | None) -> None:
        """Add the cost of one or more calls."""
        self.tokens = _sum(self.tokens, tokens)
        self.usd = _sum(self.usd, usd)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run, or several runs that are played side by side, may cost, and have cost so far."""

    caps: Caps
    spent: Spent

    def reached_cap(self, *, of_calls: bool = True) -> str:
        """Return which cap is reached or cannot be enforced; empty if all allow another call.

        Without `of_calls`, the cap on calls does not matter.
        """
        for name in Caps.__dataclass_fields__:
            cap, used = getattr(self.caps, name), getattr(self.spent, name)
            if cap is None or (name == "calls" and not of_calls):
                continue
            option = f"--max-{name} {cap:.15g}"
            if used is None:
                return f"{option} cannot be enforced: the server reported no tokens for an answer"
            if used >= cap:
                return f"{option} is reached"
        return ""


class Meter:
    """Counts what a run costs, and stops it when a cap is reached.

    `usd_of` returns the price of a reply in US dollars, or None if it is unknown. `shared` is what this run
    and others together may cost, None without such a limit.
    """

    def __init__(
        self,
        caps: Caps = NO_CAPS,
        spent: Spent | None = None,
        usd_of: Callable[[Reply], float | None] = lambda _: None,
        shared: Budget | None = None,
    ) -> None:
        self._caps = caps
        self._usd_of = usd_of
        self.spent = spent or Spent()
        """What the run has cost so far."""
        self._budgets = [Budget(caps, self.spent), *([shared] if shared else [])]
        self._began = time.monotonic() - self.spent.seconds
        self.waiting: list[str] = []
        """The agents whose calls are under way, in the order in which they were asked."""
        self.stop_reason = ""
        """Which cap stopped the run; empty until one does."""

    @contextmanager
    def call(self, agent: str) -> Iterator[None]:
        """Count a call to an agent while it is made. Raise HaltedError if a cap does not allow it."""
        # The first reason stays, so that every later call of the turn reports the same one.
        self.stop_reason = self.stop_reason or self._reached_cap()
        if self.stop_reason:
            raise HaltedError(self.stop_reason)
        for budget in self._budgets:
            budget.spent.calls += 1
        self.waiting.append(agent)
        try:
            yield
        finally:
            self.waiting.remove(agent)

    def check(self) -> None:
        """Raise HaltedError if a cap was reached while a counted call waited until it might be sent.

        Caps on calls do not matter here, since the call has been counted.
        """
        if reason := self._reached_cap(of_calls=False):
            self.stop_reason = self.stop_reason or reason
            raise HaltedError(reason)

    def _reached_cap(self, *, of_calls: bool = True) -> str:
        """Return which cap of any budget does not allow another call; empty if all do."""
        self.spent.seconds = time.monotonic() - self._began
        reasons = (budget.reached_cap(of_calls=of_calls) for budget in self._budgets)
        return next(filter(None, reasons), "")

    def seconds_left(self) -> float:
        """Return how many seconds the run may still take; infinity without a cap on them."""
        if self._caps.seconds is None:
            return inf
        return max(0.0, self._caps.seconds - (time.monotonic() - self._began))

    def add_cost(self, reply: Reply) -> None:
        """Add the cost of a call that has ended. A call that brought no answer costs nothing."""
        if reply.failure in NO_ANSWER:
            return
        tokens, usd = _sum(reply.tokens_in, reply.tokens_out), self._usd_of(reply)
        for budget in self._budgets:
            budget.spent.add(tokens, usd)


def _sum(one: T | None, other: T | None) -> T | None:
    """Return the sum, or None if either part is unknown."""
    return None if one is None or other is None else one + other
