"""Sums for people: what a figure is made of, written so that a hand can check it."""

from collections.abc import Sequence
from typing import TypeAlias

Line: TypeAlias = tuple[str, int]
"""A label and an amount; what is taken away is negative."""

MINUS = "\N{MINUS SIGN}"
TIMES = "\N{MULTIPLICATION SIGN}"
DIVIDED = "\N{DIVISION SIGN}"


def as_sum(lines: Sequence[Line]) -> str:
    """Write lines as a sum, as in `gross 60 + trade 15 = 75`; nothing for no lines."""
    return f"{terms(lines)} = {sum(amount for _, amount in lines)}" if lines else ""


def terms(lines: Sequence[Line]) -> str:
    """Write the terms of a sum; what is 0 is left out, but not the first."""
    (label, first), *rest = lines
    steps = [f"{label} {first}"]
    steps += [f"{MINUS if amount < 0 else '+'} {label} {abs(amount)}" for label, amount in rest if amount]
    return " ".join(steps)
