"""Make what an agent said safe: whole numbers, and clean text of bounded length. Nothing here raises."""

import re

from hobbes.engine.record import EXCERPT, Findings, Json

TEXT_LIMIT = 2048
"""The most characters kept of a summary, a memory or a reasoning text (docs/rules/nations.md#summaries)."""

UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters except tab and newline
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # line separators, and marks that change the direction
    "\xad\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"  # invisible
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # annotations, tags
    "\ud800-\udfff"  # lone surrogates
)
"""Characters that are removed, as ranges of a character class.

With them, text could be hidden from people, a terminal could be taken over, and a file could not be written.
"""

INVISIBLE = UNSAFE + "\u034f\u180b-\u180d\u180f\u200c\u200d\u2800\ufe00-\ufe0f"
"""Invisible characters, as ranges of a character class: the unsafe ones, and those that writing needs.

The latter are joiners, variation selectors, and the blank of Braille. They are kept.
"""

_TO_REMOVE = re.compile(f"[{UNSAFE}]")


def whole(value: Json) -> int | None:
    """Return the whole number that was said, else None. Integral floats (5.0) count, booleans do not."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    return None


def clean_text(findings: Findings, prefix: str, said: str, limit: int = TEXT_LIMIT) -> str:
    """Return a text without unsafe characters, cut to `limit` characters. Each change is a correction."""
    kept = said
    if not (said.isascii() and said.isprintable()) and _TO_REMOVE.search(kept):  # most texts are plain
        kept = _TO_REMOVE.sub("", kept)
        begins = said[: EXCERPT + 1]  # no more is recorded
        findings.mend("schema", f"{prefix}/unsafe-characters", visible(begins), kept)
    if len(kept) > limit:
        findings.mend("schema", f"{prefix}/too-long", {"characters": len(kept)}, {"characters": limit})
        kept = kept[:limit]
    return kept


# Chinese and Japanese write no spaces between words, so each of their characters counts as one.
_CHARACTER = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_PUNCTUATION = "\u3000-\u303f\uff00-\uff65"
_WORD = re.compile(rf"[{_CHARACTER}]|[^\s{_CHARACTER}{_PUNCTUATION}]+")


def cut_to_words(findings: Findings, prefix: str, said: str, words: int) -> str:
    """Return a text, cut after the given number of words. A cut is a correction.

    Each Chinese or Japanese character counts as one word.
    """
    if len(said) <= words:  # no text has more words than characters
        return said
    ends = [word.end() for word in _WORD.finditer(said)]
    if len(ends) <= words:
        return said
    findings.mend("schema", f"{prefix}/too-many-words", {"words": len(ends)}, {"words": words})
    return said[: ends[words - 1]]


def visible(said: str) -> str:
    """Return a text with unsafe characters as escapes, so that the record of them is safe to show."""
    return _TO_REMOVE.sub(lambda found: f"\\u{ord(found.group()):04x}", said)
