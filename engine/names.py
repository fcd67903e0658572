"""Which names can be given, and what is said of a name that nothing has."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from hobbes.engine.said import UNSAFE

MOST, LIKE = 3, 0.7
"""How many names are suggested at most, and how alike two names are at least, from 0 to 1."""

_NOT_IN_A_NAME = re.compile(f"[\\t\\n{UNSAFE}]")


def is_readable(name: str) -> bool:
    """Return whether a name is one line without control characters or others that nobody sees."""
    return _NOT_IN_A_NAME.search(name) is None


def alike(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that differ from a name in case only, or else those most like it, in order."""
    names = [*known]
    but_for_case = [other for other in names if other.casefold() == name.casefold()]
    return but_for_case or get_close_matches(name, names, MOST, LIKE)


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return how the error for an unknown name ends: with the known names most like it, or else `otherwise`.

    It begins with `; ` unless it is empty.
    """
    names = " or ".join(map(repr, alike(name, known)))
    hint = f"did you mean {names}?" if names else otherwise
    return f"; {hint}" if hint else ""
