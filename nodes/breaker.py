"""When a provider, or a person's own code, is given up: docs/failures.md has the same rules in words."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from hobbes.engine.answer import Outcome
from hobbes.engine.telling import counted
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.secrecy import safe_line

GONE_AFTER = 10
"""How many calls in a row, of any agents, must fail for the provider's reasons before the run stops."""

REFUSED_AFTER = 3
"""How many permanent refusals in a row stop a run whose provider has never answered.

The cause is a wrong key, model or address, which no retry repairs. One refusal alone may be a hiccup. No more
calls than this are under way at once until the first answer, so a wrong name costs three calls and no more.
"""


class TryFailedError(Exception):
    """One try of a call failed.

    `message`   what happened: one line that is safe to show
    `outcome`   the outcome of the call, if there is no further try
    `tries`     how many tries the call may have in all
    `pause`     how many seconds the server asks to wait, None if it does not say
    `waits`     whether the server wants fewer requests: then not `tries` counts, but how long a call may wait
    `about`     what the failure concerns, which decides whether the provider counts as gone (`Breaker`):
                `provider` any call would fail now; `refusal` any call would fail, permanently;
                `request` this request, or perhaps every request; `prompt` this prompt only
    """

    def __init__(  # noqa: PLR0913  all that a failed try decides
        self,
        message: str,
        *,
        outcome: Outcome = Outcome.PROVIDER_ERROR,
        tries: int = 1,
        pause: float | None = None,
        waits: bool = False,
        about: Literal["provider", "refusal", "request", "prompt"] = "provider",
    ) -> None:
        super().__init__(message)
        self.message = safe_line(message)
        self.outcome, self.tries, self.pause, self.about = outcome, tries, pause, about
        self.waits = waits


class Breaker:
    """Stops a run whose provider is gone, before the rest is played with default actions.

    The provider of a Python player is its code. GONE_AFTER failures in a row are needed. Until the first
    answer, REFUSED_AFTER permanent refusals are enough, failures that concern a request count as well, and
    `few_at_first` keeps so few calls under way that these refusals are the last that is sent. The verdict
    then waits until no call is under way, because refusals arrive sooner than answers: some of the calls may
    still succeed.
    """

    def __init__(self, model: str, *, answered: bool = False, few_at_first: bool = True) -> None:
        self._model = model
        self._few_at_first = few_at_first
        self.answered = answered
        """Whether the provider has answered, or has refused a call for its prompt: then it has the model."""
        self._under_way = self._in_a_row = self._refused_in_a_row = 0
        self._changed = asyncio.Condition()
        self.failing = ""
        """What to say of the failures in a row; empty if the last call did not fail in a way that counts."""
        self.stop_reason = ""
        """Why the provider counts as gone; empty as long as it does not."""

    def check(self) -> None:
        """Raise HaltedError if the provider is gone."""
        if self.stop_reason:
            raise HaltedError(self.stop_reason)

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Make a call, as soon as it may begin. It fails with the TryFailedError that is raised within.

        Raise HaltedError if the provider is gone.
        """
        async with self._changed:
            await self._changed.wait_for(self._may_begin)
        self.check()
        self._under_way += 1
        try:
            yield
        except TryFailedError as failure:
            self._ended(failure)
            raise
        else:
            self._ended(None)
        finally:
            self._under_way -= 1
            async with self._changed:
                self._changed.notify_all()

    def _may_begin(self) -> bool:
        few = self._under_way + self._refused_in_a_row < REFUSED_AFTER
        return few or not self._few_at_first or self.answered or bool(self.stop_reason)

    def _ended(self, failure: TryFailedError | None) -> None:
        self.answered |= failure is None or failure.about == "prompt"
        about = failure.about if failure else "an answer"
        counts = about in {"provider", "refusal"} or (about == "request" and not self.answered)
        self._in_a_row = self._in_a_row + 1 if counts else 0
        self._refused_in_a_row = self._refused_in_a_row + 1 if about == "refusal" else 0
        refused = self._refused_in_a_row >= REFUSED_AFTER and not self.answered
        sure = self.answered or self._under_way == 1  # this call alone
        self.failing = ""
        if failure and counts:
            self.failing = (
                f"{self._model} failed {counted(self._in_a_row, 'call')} in a row; "
                f"the last error was {failure.outcome}: {failure.message}"
            )
        if sure and (refused or self._in_a_row >= GONE_AFTER):
            self.stop_reason = self.failing
