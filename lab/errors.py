"""Errors for people: one line that says what is wrong and what to do. Any other exception is a bug."""

from collections.abc import Iterable
from difflib import get_close_matches

MOST_NEAR = 3
"""How many names are offered in place of an unknown one."""


class LabError(Exception):
    """The request is valid, but cannot be carried out: exit code 1."""


class HaltedRunError(LabError):
    """A run stopped before its end and can be resumed: exit code 1."""


class DamagedError(LabError):
    """Something in the run database is damaged and cannot be read: exit code 1."""


class UsageError(LabError):
    """The request itself is wrong: exit code 2."""


class MissingError(UsageError, LookupError):
    """There is no such home, run, turn, agent or table: exit code 2."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of the error for an unknown name: the known ones that it may stand for, or all."""
    names = sorted(known)
    near = get_close_matches(name, names, MOST_NEAR)
    return f"; did you mean {' or '.join(near)}?" if near else f"; choose of: {', '.join(names)}"
