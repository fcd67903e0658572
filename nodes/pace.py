"""The pace of requests to a model: they wait until its limits allow them, and are fewer if its server asks.

langchain-core's rate limiters count requests per second, but no tokens, and heed nothing that servers say.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from hobbes.nodes.call_failures import Pause, TryFailedError
from hobbes.nodes.models import ModelSettings
from hobbes.nodes.rate_limits import Limits, Place, RateLimiter

LOOK_AGAIN = 0.02
"""How many seconds a request waits before it looks whether one of another run has ended."""

LESS = 0.8
"""The share of requests at once that is left when a server wants fewer, as in Inspect."""


@dataclass(slots=True)
class Request:
    """A request that has begun. Whoever made it sets its true number of tokens."""

    tokens: int


class Pace:
    """Lets requests to one model begin when its rate limiter allows it.

    `pause` waits; it raises HaltedError if the run has to stop meanwhile.

    Fewer are under way at once while the server answers that it wants fewer: each time LESS of them, and one
    more after each round of answers, from one up to the limit of the settings.
    """

    def __init__(self, limiter: RateLimiter, model: str, settings: ModelSettings, pause: Pause) -> None:
        self._limiter = limiter
        self._model = model
        self._limits = Limits(settings.parallel, settings.calls_per_minute, settings.tokens_per_minute)
        self._pause = pause
        self._parallel = settings.parallel
        self._of_round = 0
        self._slots = asyncio.Semaphore(settings.parallel)
        self._next = asyncio.Lock()

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[Request]:
        """Wait until a request of about so many tokens may begin. Set the true number in what is yielded."""
        async with self._slots:
            async with self._next:  # only the first one in the queue looks
                # Another run may end its request, so there is no event to wait for.
                while (place := self._begun(tokens)) is None:
                    await asyncio.sleep(LOOK_AGAIN)
                    await self._pause(0)  # the run may have to stop
            request = Request(tokens)
            try:
                if place.seconds:
                    await self._pause(place.seconds)
                yield request
            except TryFailedError as failure:
                self._adapt(fewer=failure.waits)
                raise
            else:
                self._adapt(fewer=False)
            finally:
                self._limiter.end(self._model, place.number, request.tokens)

    def _begun(self, tokens: int) -> Place | None:
        """Return the place of a request; None if too many are under way."""
        return self._limiter.begin(self._model, self._limits._replace(parallel=self._parallel), tokens)

    def _adapt(self, *, fewer: bool) -> None:
        """Take in that a request has ended, and whether the server wants fewer of them at once.

        Those of a round that are refused together count once.
        """
        self._of_round += 1
        if fewer and (self._of_round >= self._parallel or self._parallel == self._limits.parallel):
            self._parallel, self._of_round = max(1, int(self._parallel * LESS)), 0
        elif not fewer and self._of_round >= self._parallel:
            self._parallel, self._of_round = min(self._limits.parallel, self._parallel + 1), 0
