"""What the curves of a report are, whoever draws them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """A line by its points: x, y and the ends of its band, None where it has none."""

    name: str
    points: Sequence[tuple[float, float, float | None, float | None]]


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over the same axes. `null` has the ends of the null arm's band, if there is one."""

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    null: tuple[float, float] | None = None
    steps: bool = False
