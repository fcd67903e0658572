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
    return f"{terms(lines)} = {sum([amount for _, amount in lines])}" if lines else ""


def terms(lines: Sequence[Line]) -> str:
    """Return the terms of a sum, such as `gross 60 + trade 15`. Terms of 0 are left out, except the first."""
    (label, first), *rest = lines
    steps = [f"{_words(label)} {first}"]
    steps += [
        f"{MINUS if amount < 0 else '+'} {_words(label)} {abs(amount)}" for label, amount in rest if amount
    ]
    return " ".join(steps)


def _words(label: str) -> str:
    """Return a label as people read it; as a key of JSON it has underscores."""
    return label.replace("_", " ")
