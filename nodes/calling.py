"""The rule of calling a model: what is tried again and when, what is final, when a provider is given up.

This is the only layer that tries again; docs/failures.md tells the same as a table for people. Pauses and
their jitter have nothing to do with a run's luck, which is drawn by name.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, TypeVar

import openai
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from engine.answer import Outcome
from nodes.halted import HaltedError
from nodes.secrecy import safe_line

TRIES = 5
"""Times that a call is tried in all, where the failure may pass."""

TRIES_AFTER_TIMEOUT = 2
"""Times that a call is tried in all, where the server let the whole of its time pass."""

FIRST_PAUSE = 0.5
"""Seconds below which the first pause lies; each further one may be twice as long."""

LONGEST_PAUSE = 8.0
"""Seconds below which every pause lies that no server asked for."""

LONGEST_WAIT = 60.0
"""Seconds that are waited where a server asks for it (Retry-After); who asks for more gets no further try."""

GONE_AFTER = 10
"""Calls in a row, whoever's they are, which fail for the provider's reasons before a run stops."""

REFUSED_AFTER = 3
"""Refusals in a row that stop a run in which nobody ever answered: a wrong key, model or address.

Such a thing does not pass by itself, so more calls would only cost turns; one alone may be a hiccup.
"""

PASSING = frozenset({408, 409, 429, *range(500, 600)})
"""The statuses that may pass: too slow, in conflict, too many requests, the server's own trouble."""

ABOUT_THE_REQUEST = frozenset({400, 413, 422})
"""The statuses that speak of one request; every other final one would meet each call alike.

As long as nobody ever answered, it may be each request that they speak of: no billing address, a wrong model.
"""

QUOTA = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Codes of a 429 that no waiting helps."""

FILTERED = frozenset({"content_filter"})
"""Codes of an error that is a refusal: the provider's filter held the prompt back."""

OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context (size|window)"
    r"|prompt is too long|exceeds? context limit|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
"""How servers say that a prompt is longer than the model can read."""

FINISHED: Mapping[str, Outcome] = {
    **dict.fromkeys(
        ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"),
        Outcome.TRUNCATED,
    ),
    **dict.fromkeys(
        (
            "blocklist",
            "content_filter",
            "guardrail_intervened",
            "prohibited_content",
            "recitation",
            "refusal",
            "safety",
            "image_safety",
            "sensitive",
            "spii",
        ),
        Outcome.REFUSED,
    ),
    **dict.fromkeys(
        (
            "abort",
            "aborted",
            "cancelled",
            "error",
            "insufficient_system_resource",
            "malformed_function_call",
            "network_error",
            "timeout",
        ),
        Outcome.PROVIDER_ERROR,
    ),
    **dict.fromkeys(
        ("eos", "eos_token", "end_turn", "function_call", "stop", "stop_sequence", "tool_calls"),
        Outcome.ANSWERED,
    ),
}
"""Each finish reason that servers give, in lower case, and how the call ended.

`answered` says no more than that the message is whole.
"""

T = TypeVar("T")

wait: ContextVar[Callable[[float], Awaitable[None]]] = ContextVar("wait", default=asyncio.sleep)
"""How seconds pass between two tries; who plays a recording puts something quicker in its place."""


class TryFailedError(Exception):
    """One try failed. It says how the call ends if there is no other, and how many tries it may have in all.

    `pause` are the seconds that the server asks for, None if it asks for none. `about` is what failed: the
    provider, as it would for any call; its willingness, for good; a request, which may be any or this one; or
    its prompt alone.
    """

    def __init__(
        self,
        told: str,
        *,
        outcome: Outcome = Outcome.PROVIDER_ERROR,
        tries: int = 1,
        pause: float | None = None,
        about: Literal["provider", "refusal", "request", "prompt"] = "provider",
    ) -> None:
        super().__init__(told)
        self.told = safe_line(told)
        self.outcome, self.tries, self.pause, self.about = outcome, tries, pause, about


async def persistently(one_try: Callable[[], Awaitable[T]]) -> T:
    """Try until it goes well or the last failure allows no further try; that failure is raised."""
    trying = AsyncRetrying(
        retry=retry_if_exception_type(TryFailedError),
        stop=_no_more_tries,
        wait=_pause,
        sleep=wait.get(),
        reraise=True,
    )
    return await trying(one_try)


def _failure(state: RetryCallState) -> TryFailedError:
    """Give the failure of the last try."""
    failure = state.outcome.exception() if state.outcome else None
    if not isinstance(failure, TryFailedError):
        raise TypeError("asked about a try that did not fail")
    return failure


def _no_more_tries(state: RetryCallState) -> bool:
    return state.attempt_number >= _failure(state).tries


_own_pause = wait_random_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE)


def _pause(state: RetryCallState) -> float:
    """Wait as long as the server asks for, or else any time below a limit that doubles with each try."""
    asked = _failure(state).pause
    return _own_pause(state) if asked is None else asked


class Breaker:
    """Stops a run whose provider is gone, before it is played out with default actions.

    As long as nobody was `answered`, more counts, and it counts once no call is under way: a refusal comes
    sooner than an answer.
    """

    def __init__(self, model: str, *, answered: bool = False) -> None:
        self._model = model
        self._answered = answered
        self._under_way = self._in_a_row = self._refused_in_a_row = 0
        self.told = ""
        """What to say of a provider that is gone; empty as long as it is there."""

    def check(self) -> None:
        """Ask nothing more of a provider that is gone: HaltedError."""
        if self.told:
            raise HaltedError(self.told)

    def begun(self) -> None:
        """Count a call that is under way."""
        self._under_way += 1

    def ended(self, failure: TryFailedError | None) -> None:
        """Count a call that ended."""
        self._under_way -= 1
        self._answered |= failure is None
        about = failure.about if failure else "an answer"
        counts = about in {"provider", "refusal"} or (about == "request" and not self._answered)
        self._in_a_row = self._in_a_row + 1 if counts else 0
        self._refused_in_a_row = self._refused_in_a_row + 1 if about == "refusal" else 0
        refused = self._refused_in_a_row >= REFUSED_AFTER and not self._answered
        sure = self._answered or not self._under_way
        if failure and sure and (refused or self._in_a_row >= GONE_AFTER):
            self.told = (
                f"{self._model} gave no answer to {self._in_a_row} calls in a row, "
                f"at last {failure.outcome}, {failure.told}"
            )


def failure_of(error: openai.OpenAIError | TimeoutError) -> TryFailedError:
    """Say what an error of the client comes to."""
    if timed_out(error):
        told = f"no answer in time: {_cause_told(error)}"
        return TryFailedError(told, outcome=Outcome.TIMED_OUT, tries=TRIES_AFTER_TIMEOUT)
    if isinstance(error, openai.APIResponseValidationError):
        return _of_no_completion(error)
    if isinstance(error, openai.APIStatusError):
        return _of_status(error.status_code, error.response.headers, error.body, f"HTTP {error.status_code}")
    if isinstance(error, openai.APIConnectionError):
        return TryFailedError(f"connection lost: {_cause_told(error)}", tries=TRIES)
    return TryFailedError(_cause_told(error))


def _of_no_completion(error: openai.APIResponseValidationError) -> TryFailedError:
    """Say what a 200 comes to that is no completion: an error in its body counts as one of its status."""
    told = f"HTTP {error.status_code}, but no completion"
    said = error_in(str(error.body))
    if said is None:
        return TryFailedError(f"{told}: {error.body}", tries=TRIES)
    code = said.get("code")
    # An error under a 200 without a status of its own is some server's behind the one that answers.
    status = code if type(code) is int else 500
    return _of_status(status, error.response.headers, said, f"{told}: error {code or ''}".rstrip())


def finished(choice: Mapping[str, Any]) -> Outcome | None:
    """Return how a choice ended by its finish reason; None if it gives none, or one that is not known."""
    return FINISHED.get(str(choice.get("finish_reason")).lower())


def error_in(body: str) -> dict[str, Any] | None:
    """Give the error object of a body or of its choice, None if it has none."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    error = said.get("error") or _error_of_choice(said.get("choices"))
    if not error:
        return None
    return error if isinstance(error, dict) else {"message": str(error)}


def _error_of_choice(choices: object) -> object:
    """Give the error of a choice that was broken off."""
    match choices:
        case [dict() as choice, *_]:
            reason = choice.get("finish_reason") if finished(choice) is Outcome.PROVIDER_ERROR else None
            return choice.get("error") or (reason and f"broken off, finish_reason {reason}")
    return None


def _of_status(status: int, headers: Mapping[str, str], said: object, told: str) -> TryFailedError:
    """Say what an error of a server comes to; `said` is its error object, or the text of its page."""
    error = said if isinstance(said, dict) else {"message": said or ""}
    names = {str(error.get("code")), str(error.get("type"))}
    message = str(error.get("message") or error)
    told = f"{told}: {message}"
    if names & FILTERED:
        return TryFailedError(told, outcome=Outcome.REFUSED, about="prompt")
    if any(OVERFLOW.search(text) for text in (*names, message)) and status < 500:  # noqa: PLR2004  HTTP's own
        return TryFailedError(f"context overflow: {told}", about="prompt")
    if status not in PASSING or names & QUOTA:
        return TryFailedError(told, about="request" if status in ABOUT_THE_REQUEST else "refusal")
    pause = retry_after(headers, datetime.now(UTC))
    if pause is not None and pause > LONGEST_WAIT:
        return TryFailedError(f"asks to wait {pause:.0f} s, more than {LONGEST_WAIT:.0f}: {told}")
    return TryFailedError(told, tries=TRIES, pause=pause)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Give the seconds that a server asks to wait, in any spelling; None if it says nothing usable."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return seconds if seconds >= 0 else None  # nan is none, either
    try:
        return max(0.0, (parsedate_to_datetime(headers.get("retry-after", "")) - now).total_seconds())
    except (TypeError, ValueError, OverflowError):  # no date, or one without its zone
        return None


def timed_out(error: BaseException) -> bool:
    """Tell whether a call took too long; the transport calls every lost connection a time-out, too."""
    return any(isinstance(cause, TimeoutError) for cause in _causes(error))


def _cause_told(error: BaseException) -> str:
    """Say what happened below the client and its transport, who have names of their own for it."""
    below = (c for c in _causes(error) if type(c).__module__.partition(".")[0] not in {"openai", "httpx2"})
    cause = next(below, error)
    return f"{type(cause).__name__} {cause}".strip()


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Give an error and what caused it, from the outside in."""
    while error is not None:
        yield error
        error = error.__cause__
