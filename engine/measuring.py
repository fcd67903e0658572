"""What the measures of all worlds share: the parts of a history that figures are given for, and division."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def parts(history: Sequence[T]) -> Iterator[tuple[str, Sequence[T]]]:
    """Give the whole run and, where there are two turns or more, its halves, each with its scope."""
    yield "run", history
    half = len(history) // 2
    if half:
        yield "first-half", history[:half]
        yield "second-half", history[half:]


def ratio(part: float, whole: float) -> float | None:
    """Divide; nothing is undefined's honest name."""
    return part / whole if whole else None
