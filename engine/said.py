"""What an agent said, made safe: whole numbers and bounded, clean text. Nothing here raises."""

import re
from itertools import islice

from engine.record import Findings, Json

TEXT_LIMIT = 2048
"""Characters of a summary, a memory or a reasoning that are kept (nations seed, `max_summary_len`)."""

# Control characters but tab and newline; marks that change the reading direction, or that nobody sees (soft
# hyphens, zero-width spaces, tags, annotations); lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def whole(value: Json) -> int | None:
    """Give the whole number that was said: integral floats (5.0) are integers, booleans are not."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    return None


def clean_text(findings: Findings, prefix: str, said: str, limit: int = TEXT_LIMIT) -> str:
    """Take unsafe characters out of a text and cut it to `limit` characters, each a mend."""
    kept = said
    if _UNSAFE.search(kept):
        kept = _UNSAFE.sub("", kept)
        findings.mend("schema", f"{prefix}/unsafe-characters", _visible(said), kept)
    if len(kept) > limit:
        findings.mend("schema", f"{prefix}/too-long", kept, kept[:limit])
        kept = kept[:limit]
    return kept


def cut_to_words(findings: Findings, prefix: str, said: str, words: int) -> str:
    """Cut a text after so many words, a mend."""
    ends = [word.end() for word in islice(re.finditer(r"\S+", said), words + 1)]
    if len(ends) <= words:
        return said
    kept = said[: ends[words - 1]]
    findings.mend("schema", f"{prefix}/too-many-words", said, kept)
    return kept


def _visible(said: str) -> str:
    """Spell unsafe characters as escapes, so that a record of them is safe itself."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", said)
