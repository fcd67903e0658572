"""What the measures of all worlds share: the scopes of a history, and safe division."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def parts(history: Sequence[T]) -> Iterator[tuple[str, Sequence[T]]]:
    """Yield each scope with its turns: `run`, and from two turns on `first-half` and `second-half`.

    Of an odd number of turns, the second half has one more.
    """
    yield "run", history
    half = len(history) // 2
    if half:
        yield "first-half", history[:half]
        yield "second-half", history[half:]


def ratio(part: float, whole: float) -> float | None:
    """Return part / whole, or None if the whole is 0: undefined, there was nothing to measure."""
    return part / whole if whole else None
