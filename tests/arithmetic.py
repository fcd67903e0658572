"""A hand that checks a sum: numbers and signs count, words do not."""

import re
from fractions import Fraction
from math import ceil, floor
from typing import Any

TOKEN = re.compile(r"floor\(|ceil\(|min\(|[(),]|(?<= )[-+x](?= )|/|(?<![\w-])\d+(\.\d+)?(?![\w-])")
ASCII = str.maketrans("\N{MINUS SIGN}\N{MULTIPLICATION SIGN}\N{DIVISION SIGN}", "-x/")


def in_ascii(text: str) -> str:
    """Return a sum with the operators that Python has."""
    return text.translate(ASCII)


def comes_out(text: str) -> bool:
    """Return whether the left side of a sum equals its right side."""
    left, right = re.sub(r"\[.*?\]", "", in_ascii(text)).split(" = ")
    tokens = [found[0].replace("x", "*") for found in TOKEN.finditer(left)]
    python = "".join(f"Fraction('{token}')" if token[0].isdigit() else token for token in tokens)
    known: dict[str, Any] = {"Fraction": Fraction, "floor": floor, "ceil": ceil, "min": min}
    return bool(eval(python, {"__builtins__": {}}, known) == int(right))  # noqa: S307  our own sums
