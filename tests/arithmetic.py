"""A hand that checks a sum: numbers and signs count, words do not."""

import re

TOKEN = re.compile(r"(?<= )[-+](?= )|(?<![\w-])\d+(?![\w-])")


def in_ascii(text: str) -> str:
    """Return a sum with a minus that Python has."""
    return text.replace("\N{MINUS SIGN}", "-")


def comes_out(text: str) -> bool:
    """Return whether the left side of a sum equals its right side."""
    left, right = re.sub(r"\[.*?\]", "", in_ascii(text)).split(" = ")
    signed = re.findall(r"[-+]?\d+", "".join(TOKEN.findall(left)))
    return sum(map(int, signed)) == int(right)
