"""Two texts word by word: what was kept, what is only in the first, what is only in the second."""

import re
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter
from typing import Literal

CHANGE = Literal[" ", "-", "+"]
"""What became of a piece of text: kept, only in the first text, only in the second."""

_WORD = re.compile(r"\s+|\w+|.")

_BREAK = re.compile(r'(?<=,)(?=["{\[])|(?<=, )(?=["{\[])')
"""Where a line of JSON is broken; it also works for JSON that was cut off."""

MAX_PAIRS = 1_000_000
"""How many words are compared with how many at most, as a product; that takes a tenth of a second."""


def word_diff(one: str, other: str) -> list[tuple[CHANGE, str]]:
    """Return the lines that differ, word by word. Lines of JSON are broken into several lines."""
    a, b = lines_of(one), lines_of(other)
    pieces: list[tuple[CHANGE, str]] = []
    for kind, a_from, a_to, b_from, b_to in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind != "equal":
            pieces += _pieces("\n".join(a[a_from:a_to]), "\n".join(b[b_from:b_to]))
            pieces.append((" ", "\n"))
    return pieces


def whole_word_diff(one: str, other: str) -> list[tuple[CHANGE, str]]:
    """Return two texts whole, word by word. Lines of JSON are compared part by part.

    The pieces that are not only in the first text, joined, are the second text.
    """
    if one == other:
        return [(" ", one)] if one else []
    a, b = _parts(one), _parts(other)
    pieces: list[tuple[CHANGE, str]] = []
    for kind, a_from, a_to, b_from, b_to in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append((" ", "".join(b[b_from:b_to])))
        elif a_to - a_from == b_to - b_from:
            for was, now in zip(a[a_from:a_to], b[b_from:b_to], strict=True):
                pieces += _pieces(was, now)
        else:
            pieces += _pieces("".join(a[a_from:a_to]), "".join(b[b_from:b_to]))
    return [(change, "".join(text for _, text in same)) for change, same in groupby(pieces, itemgetter(0))]


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, with lines of JSON broken into several lines."""
    return [part.removesuffix("\n").removesuffix(" ") for part in _parts(text)]


def _parts(text: str) -> list[str]:
    """Return the lines of a text with their ends; lines of JSON in several parts."""
    lines = text.splitlines(keepends=True)
    return [
        part for line in lines for part in (_BREAK.split(line) if line.startswith(("{", "[")) else [line])
    ]


def _pieces(one: str, other: str) -> list[tuple[CHANGE, str]]:
    """Return the pieces of two texts, without those that are empty.

    A space between two words that changed is taken to have changed with them, so that phrases stay whole.
    Texts with too many words to be compared are taken to be different.
    """
    a, b = _WORD.findall(one), _WORD.findall(other)
    if len(a) * len(b) > MAX_PAIRS:
        return [("-", one), ("+", other)]
    pieces: list[tuple[CHANGE, str]] = []
    only_a = only_b = ""
    for kind, a_from, a_to, b_from, b_to in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        in_a, in_b = "".join(a[a_from:a_to]), "".join(b[b_from:b_to])
        if kind != "equal" or (in_a == " " and (only_a or only_b)):
            only_a, only_b = only_a + in_a, only_b + in_b
            continue
        pieces += [("-", only_a), ("+", only_b), (" ", in_a)]
        only_a = only_b = ""
    pieces += [("-", only_a), ("+", only_b)]
    return [(change, text) for change, text in pieces if text]
