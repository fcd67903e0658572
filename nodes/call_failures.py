"""How model calls fail: which errors are retried, and when.

This is the only layer that retries: openai's client waits two minutes at most, and retries where a quota is
used up. docs/failures.md has the same rules as a table. The random jitter of pauses is not keyed by the run's
seed, since it never reaches a record.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from math import inf
from typing import Any, TypeAlias, TypeVar

import openai
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    wait_exponential,
    wait_random_exponential,
)

from hobbes.engine.answer import Outcome
from hobbes.nodes.breaker import TryFailedError
from hobbes.nodes.dialects import FILTERED, NO_MODEL, OVERFLOW, OVERLOADED, QUOTA, outcome_of_finish
from hobbes.nodes.secrecy import MAX_SEARCHED_LENGTH

TRIES = 5
"""How often a call is tried in all, if its errors are transient."""

TRIES_AFTER_TIMEOUT = 2
"""How often a call is tried in all, if it times out. Each such try costs the full timeout."""

FIRST_PAUSE = 0.5
"""The longest first pause, in seconds. The limit doubles with each further pause."""

MAX_PAUSE = 8.0
"""The longest pause in seconds, unless the server asks for more."""

WORTH_TELLING = 60.0
"""From how many seconds on an error says how long the server asks to wait."""

TRANSIENT = frozenset({408, 409, 429, *range(500, 600)})
"""Status codes of transient errors: timeout, conflict, too many requests, server error."""

ABOUT_THE_REQUEST = frozenset({400, 413, 422})
"""Status codes of permanent errors that concern one request. Any other permanent error concerns every call.

Before the provider's first answer these may concern every request too, such as a missing billing address.
"""

WEB_PAGE = re.compile(r"(?is)\s*<(?:!doctype )?html\b(?:.*?<title>(.*?)</title>)?")
"""The beginning of a web page, which a server of another kind sends, with its title if it has one."""

CONTEXT_OVERFLOW = "context overflow"
"""How the message of a prompt that is too long begins."""

T = TypeVar("T")

Pause: TypeAlias = Callable[[float], Awaitable[None]]
"""Waits so many seconds."""

wait: ContextVar[Pause] = ContextVar("wait", default=asyncio.sleep)
"""Waits between two tries. When a cassette is played, it is replaced by a wait that takes no time."""


async def with_retries(one_try: Callable[[], Awaitable[T]], patience: float, pause: Pause) -> T:
    """Return the result of the first try that succeeds.

    All pauses for which the server asks may take `patience` seconds together. Raise the last try's
    TryFailedError if it allows no further try, or one that comes later.
    """
    trying = AsyncRetrying(
        retry=retry_if_exception_type(TryFailedError),
        stop=partial(_no_more_tries, patience),
        wait=partial(_seconds_of_pause, patience),
        sleep=pause,
        reraise=True,
    )
    return await trying(one_try)


def _failure(state: RetryCallState) -> TryFailedError:
    failure = state.outcome.exception() if state.outcome else None
    if not isinstance(failure, TryFailedError):
        raise TypeError("the last try did not fail")
    return failure


def _no_more_tries(patience: float, state: RetryCallState) -> bool:
    """Return whether a failure allows no further try, or its server asks for more time than a call has."""
    failure = _failure(state)
    if not failure.waits and state.attempt_number >= failure.tries:
        return True
    server_asks = failure.waits or failure.pause is not None
    return server_asks and state.idle_for + state.upcoming_sleep > patience


_growing = wait_exponential(multiplier=FIRST_PAUSE, max=MAX_PAUSE)
_random = wait_random_exponential(multiplier=FIRST_PAUSE, max=MAX_PAUSE)


def _seconds_of_pause(patience: float, state: RetryCallState) -> float:
    """Return the pause in seconds: what the server asks for, or a random time below a limit that doubles.

    The random time is at most `patience`. A server that wants fewer requests is given at least that limit.
    """
    failure = _failure(state)
    if failure.pause is None:
        return min(_random(state), patience)
    return max(failure.pause, _growing(state)) if failure.waits else failure.pause


IS_IT_RUNNING = "is the server running? `hobbes serve` starts the stand-in server"
"""What to do where no server listens."""


def failure_of(error: openai.OpenAIError | TimeoutError) -> TryFailedError:
    """Return the failure that an error of the openai client stands for."""
    if is_timeout(error):
        message = f"timed out: {_root_cause(error)}"
        return TryFailedError(message, outcome=Outcome.TIMED_OUT, tries=TRIES_AFTER_TIMEOUT)
    if isinstance(error, openai.APIResponseValidationError):
        return _of_no_completion(error)
    if isinstance(error, openai.APIStatusError):
        status = f"HTTP {error.status_code}{ask_for_v1(error.status_code, error.request.url.path)}"
        return _of_status(error.status_code, error.response.headers, error.body, status)
    if isinstance(error, openai.APIConnectionError):
        if any(isinstance(cause, ConnectionRefusedError) for cause in _causes(error)):
            url = error.request.url
            place = url.host if url.port is None else f"{url.host}:{url.port}"
            return TryFailedError(f"nothing listens at {place}; {IS_IT_RUNNING}", tries=TRIES)
        return TryFailedError(f"connection lost: {_root_cause(error)}", tries=TRIES)
    return TryFailedError(_root_cause(error))


def ask_for_v1(status: int, path: str) -> str:
    """Return a question for people where a server has nothing at a path, perhaps for want of a /v1."""
    return " (does the address end in /v1?)" if status == HTTPStatus.NOT_FOUND and "/v1" not in path else ""


def _in_short(body: str) -> str:
    """Return the text of a response; of a web page, its title alone."""
    page = WEB_PAGE.match(body)
    return f"a web page: {page[1] or 'it has no title'}" if page else body


def _of_no_completion(error: openai.APIResponseValidationError) -> TryFailedError:
    """Return the failure of a successful response whose body is not a completion.

    An error in the body is judged by the status code that it names.
    """
    message = f"HTTP {error.status_code}, but not a completion"
    found = error_in(str(error.body))
    if found is None:
        return TryFailedError(f"{message}: {_in_short(str(error.body))}", tries=TRIES)
    code = found.get("code")
    # An error without a status comes from a server behind the one that answers: it counts as a server error.
    status = code if type(code) is int else 500
    return _of_status(status, error.response.headers, found, f"{message}: error {code or ''}".rstrip())


def error_in(body: str) -> dict[str, Any] | None:
    """Return the error object of a response body or of its first choice; None if there is none."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    error = data.get("error") or _error_of_choice(data.get("choices"))
    if not error:
        return None
    return error if isinstance(error, dict) else {"message": str(error)}


def _error_of_choice(choices: object) -> object:
    """Return the error of a choice that broke off, from its own field or its finish reason."""
    match choices:
        case [dict() as choice, *_]:
            reason = (
                choice.get("finish_reason") if outcome_of_finish(choice) is Outcome.PROVIDER_ERROR else None
            )
            return choice.get("error") or (reason and f"broken off, finish_reason {reason}")
    return None


def _of_status(status: int, headers: Mapping[str, str], body: object, prefix: str) -> TryFailedError:
    """Return the failure of an error status. `body` is the error object, or the text of the response."""
    error = body if isinstance(body, dict) else {"message": body or ""}
    # Servers put the code of an error in either of these fields.
    code, kind, text = (
        str(part)[:MAX_SEARCHED_LENGTH]
        for part in (error.get("code"), error.get("type"), error.get("message") or error)
    )
    if "location" in headers and status < 400:  # noqa: PLR2004  HTTP's own
        text = f"redirects to {headers['location']}, which is not asked; write the server's own address"
    names = {code, kind}
    message = f"{prefix}: {_in_short(text)}"
    if names & FILTERED:
        return TryFailedError(message, outcome=Outcome.REFUSED, about="prompt")
    if any(OVERFLOW.search(word) for word in (*names, text)) and status < 500:  # noqa: PLR2004  HTTP's own
        return TryFailedError(f"{CONTEXT_OVERFLOW}: {message}", about="prompt")
    if status not in TRANSIENT or names & QUOTA:
        no_model = any(NO_MODEL.search(word) for word in (*names, text))
        one_request = status in ABOUT_THE_REQUEST and not no_model
        return TryFailedError(message, about="request" if one_request else "refusal")
    waits = status == HTTPStatus.TOO_MANY_REQUESTS or bool(names & OVERLOADED)
    pause = retry_after(headers)
    if pause is not None and pause >= WORTH_TELLING:
        message = f"asks to wait {pause:.0f} s: {message}"
    return TryFailedError(message, tries=TRIES, pause=pause, waits=waits)


def _number(header: str) -> float | None:
    """Return the number in a header; None for one that is negative or infinite, and for anything else."""
    try:
        number = float(header)
    except ValueError:
        return None
    return number if 0 <= number < inf else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds a server asks to wait, in any of its spellings; None without a usable value.

    A date is compared with the date of the response, because this machine's clock may be wrong.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if (number := _number(headers.get(name, ""))) is not None:
            return number * unit
    until, now = _date(headers, "retry-after"), _date(headers, "date") or datetime.now(UTC)
    return max(0.0, (until - now).total_seconds()) if until else None


def _date(headers: Mapping[str, str], name: str) -> datetime | None:
    """Return the date in a header; None if it has none, or one without a time zone."""
    try:
        found = parsedate_to_datetime(headers.get(name, ""))
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found.tzinfo else None


def is_timeout(error: BaseException) -> bool:
    """Return whether a call took too long.

    The type of the error itself does not tell: the transport reports lost connections as timeouts, too.
    """
    return any(isinstance(cause, TimeoutError) for cause in _causes(error))


def _root_cause(error: BaseException) -> str:
    """Return the outermost error below the client and its transport, whose own errors hide what happened."""
    below = (c for c in _causes(error) if type(c).__module__.partition(".")[0] not in {"openai", "httpx2"})
    cause = next(below, error)
    return f"{type(cause).__name__} {cause}".strip()


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, from the outermost to the innermost."""
    while error is not None:
        yield error
        error = error.__cause__
