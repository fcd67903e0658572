"""What the charts of a report are, whoever draws them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

Point: TypeAlias = tuple[float, float, float | None, float | None]
"""A point of a line: x, y, and the ends of its band, None where it has none."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line by its points.

    `look` is its place among those that differ in colour, marker and dashes. An arm has the same one in all
    pictures of a report.
    """

    name: str
    points: Sequence[Point]
    look: int = 0


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over the same axes. `null` has the ends of the null arm's band, if there is one."""

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    null: tuple[float, float] | None = None
    steps: bool = False


@dataclass(frozen=True, slots=True)
class Pairs:
    """The differences of an arm from the baseline: one of each pair, and their mean with its interval."""

    name: str
    values: Sequence[float]
    mean: float
    low: float | None
    high: float | None
    look: int | None
    """None for an arm that has no line in the pictures of its report, since there are too many arms."""


def rows_of_points(values: Sequence[float], width: float) -> list[int]:
    """Return in which row each point is drawn, so that points of this width do not cover each other.

    The rows are 0, which is the middle one, then 1, -1, 2, -2 and so on. Tied values are spread over them.
    """
    rows = [0] * len(values)
    ends: dict[int, float] = {}
    for place in sorted(range(len(values)), key=lambda place: values[place]):
        value = values[place]
        row = next(row for row in _from_the_middle() if row not in ends or ends[row] <= value)
        rows[place], ends[row] = row, value + width
    return rows


def _from_the_middle() -> Iterator[int]:
    """Yield the rows, the middle one first."""
    for place in count():
        yield (place + 1) // 2 * (1 if place % 2 else -1)
