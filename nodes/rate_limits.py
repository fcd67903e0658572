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


@dataclass(eq=False, slots=True)
class Request:
    """A request to a model. Its tokens are an estimate until whoever made it sets their true number."""

    tokens: int
    begins: float
    """When it is sent, in seconds of the clock `time.monotonic`."""
    seen: float
    """The latest moment at which the server may have got it."""
    under_way: bool = True

    @property
    def counted_until(self) -> float:
        """The moment from which it does not count in the server's last minute any more."""
        return self.seen + MINUTE

    def end(self, now: float) -> None:
        """Note that it has ended."""
        self.under_way = False
        # Where nobody waits, such as with a cassette, it ends before it begins.
        self.seen = min(self.seen, max(self.begins, now))


@dataclass(slots=True)
class Window:
    """The requests to one model that still matter to its limits."""

    requests: list[Request] = field(default_factory=list)

    def begin(self, now: float, limits: Limits, tokens: int) -> Request | None:
        """Return a request; None if too many are under way.

        Its time is taken at once, so that requests which wait together follow each other.
        """
        per_minute = not (limits.calls is None and limits.tokens is None)
        self.requests = [
            request
            for request in self.requests
            if request.under_way or (per_minute and request.counted_until > now)
        ]
        if sum(request.under_way for request in self.requests) >= limits.parallel:
            return None
        begins = self._earliest(now, limits, tokens) if per_minute else now
        self.requests.append(Request(tokens, begins, begins + ON_THE_WAY))
        return self.requests[-1]

    def _earliest(self, now: float, limits: Limits, tokens: int) -> float:
        """Return the earliest time at which a request fits; a minute after the last one any request does."""
        first = max([now, *(request.begins for request in self.requests)])
        moments = sorted({first, *(request.counted_until for request in self.requests)})
        return next(at for at in moments if at >= first and self._fits(at, limits, tokens))

    def _fits(self, at: float, limits: Limits, tokens: int) -> bool:
        """Return whether a request fits at this time, with those of the minute before."""
        recent = [request.tokens for request in self.requests if request.counted_until > at]
        few = limits.calls is None or len(recent) < limits.calls
        return not recent or (few and (limits.tokens is None or sum(recent) + tokens <= limits.tokens))


class RateLimiter:
    """A rate limiter for the requests of this process: of one run, or of several that share it.

    Where several processes share the limits, each has its part of them.
    """

    def __init__(self, processes: int = 1) -> None:
        self._processes = processes
        self._windows = defaultdict[str, Window](Window)

    def begin(self, model: str, limits: Limits, tokens: int) -> Request | None:
        """Return a request of about so many tokens, and when it begins; None if too many are under way."""
        part = Limits(
            limits.parallel // self._processes,
            None if limits.calls is None else limits.calls // self._processes,
            None if limits.tokens is None else limits.tokens // self._processes,
        )
        return self._windows[model].begin(time.monotonic(), part, tokens)
