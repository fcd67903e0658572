"""Reading: from the text of an answer to a JSON object, in recorded steps, never by guessing from prose.

The steps, tried in order: the text as it is (`json`); what follows `</think>` (`after-think`); the last whole
object that stands in fences or prose (`embedded`); json-repair on what begins an object (`repaired`).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import json_repair

from engine.answer import DECISIONS, FoundAs, Outcome, ParsedAnswer
from engine.record import Findings
from nodes.journal import Call, Reply

LONGEST = 1_000_000
"""Characters of an answer beyond which it is not read."""
LONGEST_REPAIR = 100_000
"""Characters beyond which an answer is not repaired."""
MOST_BEGINNINGS = 1_000
"""Opening braces in prose beyond which no object is looked for."""
CODES: Mapping[str, str] = {
    "read/unreadable": "the answer holds no JSON object that can be read",
    "read/other-object": "an object before the last one in a text that holds several",
    "read/duplicate-key": "a key that was said before in the same object",
    "read/half-characters": "halves of surrogate pairs were replaced by question marks",
    "read/repaired": "a broken JSON object was completed",
}
"""What the codes of reading a text mean."""

FAILURE_CODES: Mapping[str, str] = {
    "read/refused": "the model refused to answer",
    "read/truncated": "the answer was cut off at its greatest length",
    "read/provider-error": "the provider gave an error instead of an answer",
    "read/timed-out": "no answer came in time",
}
"""What the codes of calls without an answer mean: each is `read/` and how the call ended."""

DEEPEST = 32
"""Levels of nesting beyond which an answer is not read."""
LONGEST_NUMBER = 18
"""Digits beyond which a number stays the text it was; validation then drops it as what it is."""


def deciding(calls: Iterable[Call]) -> Call | None:
    """Give the call that counts of those to one agent in one turn, in the order of their attempts.

    The last to the turn's own question; or the one to the second question after it, if it is a decision.
    """
    counts: Call | None = None
    for call in calls:
        if call.question == 1 or call.outcome in DECISIONS:
            counts = call
    return counts


class UnreadableError(ValueError):
    """A text that is no JSON object."""


def read(agent: str, reply: Reply) -> ParsedAnswer:
    """Return the parsed answer of a reply, whatever the reply is; nothing raises."""
    findings = Findings(agent)
    if reply.failure:
        findings.drop("read", f"read/{reply.failure}", None)
        return ParsedAnswer(reply.failure, FoundAs.NONE, None, tuple(findings.drops))
    found_as, said = _first_that_reads(findings, reply.text)
    if said is None:
        findings.drop("read", "read/unreadable", reply.text)
        return ParsedAnswer(Outcome.UNREADABLE, FoundAs.NONE, None, tuple(findings.drops))
    outcome = Outcome.REPAIRED if found_as is FoundAs.REPAIRED else Outcome.ANSWERED
    return ParsedAnswer(outcome, found_as, said, tuple(findings.drops), tuple(findings.mends))


def _first_that_reads(findings: Findings, text: str) -> tuple[FoundAs, dict[str, Any] | None]:
    """Try the steps in order; what is JSON, but no object, is not searched for one."""
    if len(text) > LONGEST:
        return FoundAs.NONE, None
    answer = text.rpartition("</think>")[2]
    try:
        return (FoundAs.JSON if answer == text else FoundAs.AFTER_THINK), _object(findings, answer)
    except UnreadableError:
        pass
    try:
        embedded = list(_embedded(answer))
    except UnreadableError:
        return FoundAs.NONE, None
    if not embedded:
        return FoundAs.REPAIRED, _repaired(findings, answer)
    for other in embedded[:-1]:
        findings.drop("read", "read/other-object", other)
    return FoundAs.EMBEDDED, _object(findings, embedded[-1])


def _object(findings: Findings, text: str) -> dict[str, Any] | None:
    """Give the object that a JSON text is, None if it is something else or nested too deep.

    A key said twice counts once, the first time. UnreadableError: the text is no JSON.
    """
    twice: list[dict[str, Any]] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in found:
            if key in result:
                twice.append({key: value})
            else:
                result[key] = value
        return result

    whole = _without_half_characters(text)
    try:
        said = json.loads(whole, object_pairs_hook=pairs, **_NUMBERS)
    except ValueError as error:
        raise UnreadableError from error
    except RecursionError:
        return None
    if not isinstance(said, dict) or _too_deep(said):
        return None
    for pair in twice:
        findings.drop("read", "read/duplicate-key", pair)
    if whole != text:
        findings.mend("read", "read/half-characters", text, whole)
    return said


# An escape of JSON: a pair of surrogates is one character, one alone is half of one; others are passed over.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def _without_half_characters(text: str) -> str:
    """Replace halves of surrogate pairs, which no file can hold, by question marks."""
    clean = text.encode("utf-8", "replace").decode()
    if "\\ud" not in clean.lower():
        return clean
    return _ESCAPE.sub(lambda found: "?" if found["half"] else found[0], clean)


def _whole_or_text(digits: str) -> int | str:
    return int(digits) if len(digits) <= LONGEST_NUMBER else digits


def _finite_or_text(digits: str) -> float | str:
    number = float(digits)
    return number if abs(number) < 10**LONGEST_NUMBER else digits


_NUMBERS: Any = {"parse_int": _whole_or_text, "parse_float": _finite_or_text, "parse_constant": str}


def _too_deep(said: dict[str, Any]) -> bool:
    """Tell whether a value is nested deeper than anything an answer needs."""
    level: list[Any] = [said]
    for _ in range(DEEPEST):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _embedded(text: str) -> Iterator[str]:
    """Find the whole objects that stand in a text, outermost ones only.

    After a failure the search goes on behind the place of the failure: parts of a broken object are not
    answers, and the text is walked through once. UnreadableError: so many beginnings are no answer.
    """
    decoder = json.JSONDecoder(**_NUMBERS)
    position = text.find("{")
    for _ in range(MOST_BEGINNINGS):
        if position == -1:
            return
        try:
            _, end = decoder.raw_decode(text, position)
            yield text[position:end]
        except json.JSONDecodeError as error:
            end = max(error.pos, position + 1)
        except RecursionError:
            return
        position = text.find("{", end)
    raise UnreadableError


def _repaired(findings: Findings, text: str) -> dict[str, Any] | None:
    """Let json-repair close, quote and comma what begins an object; nothing else is tried on prose."""
    begin = text.find("{")
    if begin == -1 or not re.match(r"\{\s*[\"'\w\u201c]", text[begin:]) or len(text) > LONGEST_REPAIR:
        return None
    try:
        # json-repair spells out halves of surrogate pairs, which no file can hold.
        repaired = json_repair.repair_json(text[begin:], ensure_ascii=False)
        repaired = repaired.encode("utf-8", "replace").decode()
        said = _object(findings, repaired)
    except (RecursionError, ValueError):  # nested deeper than json-repair goes, or still no JSON
        return None
    if not said:
        return None
    findings.mend("read", "read/repaired", text, repaired)
    return said
