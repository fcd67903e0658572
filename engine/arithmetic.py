"""Figures written as sums, so that people can check them by hand."""

from collections.abc import Sequence
from typing import TypeAlias

Line: TypeAlias = tuple[str, int]
"""A label and an amount. An amount that is subtracted is negative."""

MINUS = "\N{MINUS SIGN}"
TIMES = "\N{MULTIPLICATION SIGN}"
DIVIDED = "\N{DIVISION SIGN}"


def as_sum(lines: Sequence[Line]) -> str:
    """Return the lines as a sum, such as `gross 60 + trade 15 = 75`; empty for no lines."""
    return f"{terms(lines)} = {sum(amount for _, amount in lines)}" if lines else ""


def terms(lines: Sequence[Line]) -> str:
    """Return the terms of a sum, such as `gross 60 + trade 15`. Terms of 0 are left out, except the first."""
    (label, first), *rest = lines
    steps = [f"{label} {first}"]
    steps += [f"{MINUS if amount < 0 else '+'} {label} {abs(amount)}" for label, amount in rest if amount]
    return " ".join(steps)
