"""Pacing: the limits of one model on calls at once, and on calls and tokens per minute."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from nodes.calling import wait
from nodes.models import ModelSettings

MINUTE = 60.0


@dataclass(slots=True)
class Sent:
    """A request: when it is sent, and its tokens, which are an estimate until the response has arrived."""

    at: float
    tokens: int


class Pace:
    """Lets requests to one model begin when its limits allow it."""

    def __init__(self, settings: ModelSettings) -> None:
        self._slots = asyncio.Semaphore(settings.parallel)
        self._calls, self._tokens = settings.calls_per_minute, settings.tokens_per_minute
        self._log: deque[Sent] = deque()

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[Sent]:
        """Wait until a request of about so many tokens may begin. Set the true number in what is yielded."""
        async with self._slots:
            now = time.monotonic()
            sent = Sent(now, tokens)
            if self._calls or self._tokens:
                while self._log and self._log[0].at <= now - MINUTE:
                    self._log.popleft()
                # The place is taken before the wait, so that requests which wait together follow each other.
                sent.at = self._earliest(now, tokens)
                self._log.append(sent)
                if sent.at > now:
                    await wait.get()(sent.at - now)
            yield sent

    def _earliest(self, now: float, tokens: int) -> float:
        """Return the earliest time at which a request fits; a minute after the last one any request does."""
        first = max([now, *(sent.at for sent in self._log)])
        moments = sorted({first, *(sent.at + MINUTE for sent in self._log)})
        return next(at for at in moments if at >= first and self._fits(at, tokens))

    def _fits(self, at: float, tokens: int) -> bool:
        """Return whether a request fits at this time, with those of the minute before."""
        recent = [sent.tokens for sent in self._log if sent.at > at - MINUTE]
        few = self._calls is None or len(recent) < self._calls
        return not recent or (few and (self._tokens is None or sum(recent) + tokens <= self._tokens))
