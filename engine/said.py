"""Make what an agent said safe: whole numbers, and clean text of bounded length. Nothing here raises."""

import re

from engine.record import Findings, Json

TEXT_LIMIT = 2048
"""The most characters kept of a summary, a memory or a reasoning (docs/rules/nations.md#summaries)."""

# Control characters except tab and newline, marks that change the reading direction, invisible characters
# (soft hyphens, zero-width spaces, tags, annotations), and lone surrogates. With them, text could be hidden
# from people, a terminal could be taken over, and a file could not be written.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def whole(value: Json) -> int | None:
    """Return the whole number that was said, else None. Integral floats (5.0) count, booleans do not."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    return None


def clean_text(findings: Findings, prefix: str, said: str, limit: int = TEXT_LIMIT) -> str:
    """Return a text without unsafe characters, cut to `limit` characters. Each change is a mend."""
    kept = said
    if not (said.isascii() and said.isprintable()) and _UNSAFE.search(kept):  # most texts are plain
        kept = _UNSAFE.sub("", kept)
        findings.mend("schema", f"{prefix}/unsafe-characters", visible(said), kept)
    if len(kept) > limit:
        findings.mend("schema", f"{prefix}/too-long", {"characters": len(kept)}, {"characters": limit})
        kept = kept[:limit]
    return kept


# Chinese and Japanese write no spaces between words, so each of their characters counts as one.
_CHARACTER = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_PUNCTUATION = "\u3000-\u303f\uff00-\uff65"
_WORD = re.compile(rf"[{_CHARACTER}]|[^\s{_CHARACTER}{_PUNCTUATION}]+")


def cut_to_words(findings: Findings, prefix: str, said: str, words: int) -> str:
    """Return a text, cut after the given number of words; of Chinese text, characters. A cut is a mend."""
    if len(said) <= words:  # no text has more words than characters
        return said
    ends = [word.end() for word in _WORD.finditer(said)]
    if len(ends) <= words:
        return said
    findings.mend("schema", f"{prefix}/too-many-words", {"words": len(ends)}, {"words": words})
    return said[: ends[words - 1]]


def visible(said: str) -> str:
    """Return a text with unsafe characters as escapes, so that the record of them is safe to show."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", said)
