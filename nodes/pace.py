"""The pace of requests to a model: they wait until its limits allow them.

langchain-core's rate limiters count requests per second, but no tokens.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hobbes.nodes.call_failures import Pause
from hobbes.nodes.models import ModelSettings
from hobbes.nodes.rate_limits import Limits, RateLimiter, Request

LOOK_AGAIN = 0.02
"""How many seconds a request waits before it looks whether one of another run has ended."""


class Pace:
    """Lets requests to one model begin when its rate limiter allows it.

    `pause` waits; it raises HaltedError if the run has to stop meanwhile.
    """

    def __init__(self, limiter: RateLimiter, model: str, settings: ModelSettings, pause: Pause) -> None:
        self._limiter = limiter
        self._model = model
        self._limits = Limits(settings.parallel, settings.calls_per_minute, settings.tokens_per_minute)
        self._pause = pause
        self._slots = asyncio.Semaphore(settings.parallel)
        self._next = asyncio.Lock()

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[Request]:
        """Wait until a request of about so many tokens may begin, and yield it; set its true number there."""
        async with self._slots:
            async with self._next:  # only the first one in the queue looks
                # Another run may end its request, so there is no event to wait for.
                while (request := self._limiter.begin(self._model, self._limits, tokens)) is None:
                    await asyncio.sleep(LOOK_AGAIN)
                    await self._pause(0)  # the run may have to stop
            try:
                if (seconds := request.begins - time.monotonic()) > 0:
                    await self._pause(seconds)
                yield request
            finally:
                request.end(time.monotonic())
