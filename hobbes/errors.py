"""Errors for people: one line that says what is wrong and what to do. Any other exception is a bug."""

from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


class HobbesError(Exception):
    """The request is valid, but cannot be carried out: exit code 1."""


class HaltedRunError(HobbesError):
    """A run stopped before its end and can be resumed: exit code 1."""


class LateError(HobbesError):
    """The time for an answer of a person is over: exit code 1."""


class DamagedError(HobbesError):
    """Something in the run database is damaged and cannot be read: exit code 1."""


class UsageError(HobbesError):
    """The request itself is wrong: exit code 2."""


class MissingError(UsageError, LookupError):
    """There is no such home, run, turn, agent or table: exit code 2."""


class ExtraError(HobbesError, ImportError):
    """Something needs a library that an extra of the package brings: exit code 1."""


@contextmanager
def as_usage_error() -> Iterator[None]:
    """Raise UsageError for a ValueError, which the rules, the prompts and the players raise in one line."""
    try:
        yield
    except ValueError as error:
        raise UsageError(str(error)) from error


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """Import libraries of an extra. Raise ExtraError, which says how to install it, if one is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ExtraError(f"{what} need more than is installed: pip install 'hobbes[{extra}]'") from error
