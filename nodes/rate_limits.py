"""The limits of models on calls at once, and on calls and tokens per minute, and what keeps to them.

A rate limiter says when one more request may begin. Runs that are played side by side share one.
"""

import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

MINUTE = 60.0

ON_THE_WAY = 5.0
"""How many seconds a request may need until the server has it. A faster response shows that it had it before.

Servers count a request when they get it. If it counted here when it is sent, a slow one and a quick one that
follows a minute later could be in the same minute of the server.
"""


class Limits(NamedTuple):
    """What a model allows: requests at once, and requests and tokens per minute; None means no limit."""

    parallel: int
    calls: int | None = None
    tokens: int | None = None


class Place(NamedTuple):
    """The place of a request among those to a model, and how many seconds it must wait before it begins."""

    number: int
    seconds: float


@dataclass(slots=True)
class Sent:
    """A request. Its tokens are an estimate until it has ended."""

    tokens: int
    begins: float
    """When it is sent, in seconds of the rate limiter's clock."""
    seen: float
    """The latest moment at which the server may have got it."""
    under_way: bool = True

    @property
    def counted_until(self) -> float:
        """The moment from which it does not count in the server's last minute any more."""
        return self.seen + MINUTE


@dataclass(slots=True)
class Window:
    """The requests to one model that still matter to its limits, by their numbers."""

    sent: dict[int, Sent] = field(default_factory=dict)
    last: int = 0

    def begin(self, now: float, limits: Limits, tokens: int) -> Place | None:
        """Return the place of a request; None if too many are under way.

        Its time is taken at once, so that requests which wait together follow each other.
        """
        per_minute = not (limits.calls is None and limits.tokens is None)
        self.sent = {
            number: sent
            for number, sent in self.sent.items()
            if sent.under_way or (per_minute and sent.counted_until > now)
        }
        if sum(sent.under_way for sent in self.sent.values()) >= limits.parallel:
            return None
        begins = self._earliest(now, limits, tokens) if per_minute else now
        self.last += 1
        self.sent[self.last] = Sent(tokens, begins, begins + ON_THE_WAY)
        return Place(self.last, max(0.0, begins - now))

    def end(self, now: float, number: int, tokens: int) -> None:
        """Note that a request has ended."""
        if sent := self.sent.get(number):
            sent.tokens, sent.under_way = tokens, False
            # Where nobody waits, such as with a cassette, it ends before it begins.
            sent.seen = min(sent.seen, max(sent.begins, now))

    def _earliest(self, now: float, limits: Limits, tokens: int) -> float:
        """Return the earliest time at which a request fits; a minute after the last one any request does."""
        first = max([now, *(sent.begins for sent in self.sent.values())])
        moments = sorted({first, *(sent.counted_until for sent in self.sent.values())})
        return next(at for at in moments if at >= first and self._fits(at, limits, tokens))

    def _fits(self, at: float, limits: Limits, tokens: int) -> bool:
        """Return whether a request fits at this time, with those of the minute before."""
        recent = [sent.tokens for sent in self.sent.values() if sent.counted_until > at]
        few = limits.calls is None or len(recent) < limits.calls
        return not recent or (few and (limits.tokens is None or sum(recent) + tokens <= limits.tokens))


class RateLimiter:
    """A rate limiter for the requests of this process: of one run, or of several that share it.

    Where several processes share the limits, each has its part of them.
    """

    def __init__(self, processes: int = 1) -> None:
        self._processes = processes
        self._windows = defaultdict[str, Window](Window)

    def begin(self, model: str, limits: Limits, tokens: int) -> Place | None:
        """Return the place of a request of about so many tokens; None if too many are under way."""
        part = Limits(
            limits.parallel // self._processes,
            None if limits.calls is None else limits.calls // self._processes,
            None if limits.tokens is None else limits.tokens // self._processes,
        )
        return self._windows[model].begin(time.monotonic(), part, tokens)

    def end(self, model: str, number: int, tokens: int) -> None:
        """Note that a request has ended, and the tokens that it had."""
        self._windows[model].end(time.monotonic(), number, tokens)
