"""Reading: find the JSON object in the text of an answer, without ever guessing from prose.

The steps are tried in this order, and the one that worked is recorded: the whole text (`json`); what follows
`</think>` (`after-think`); the last complete object inside fences or prose (`embedded`); json-repair, applied
from the first brace (`repaired`).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import json_repair

from engine.answer import DECISIONS, FoundAs, Outcome, ParsedAnswer
from engine.record import Findings
from nodes.journal import TURN_QUESTION, Call, Reply

LONGEST = 1_000_000
"""An answer with more characters than this is not read."""
LONGEST_REPAIR = 100_000
"""An answer with more characters than this is not repaired: json-repair is slow on long texts."""
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
"""An answer that is nested deeper than this is not read."""
LONGEST_NUMBER = 18
"""A number with more digits than this is read as text, which validation then rejects."""


def deciding(calls: Iterable[Call]) -> Call | None:
    """Return the call that counts among the calls to one agent in one turn, given in order of attempt.

    It is the last call for the turn's own question, unless the call for the follow-up question after it is a
    decision.
    """
    counts: Call | None = None
    for call in calls:
        if call.question == TURN_QUESTION or call.outcome in DECISIONS:
            counts = call
    return counts


class UnreadableError(ValueError):
    """The text is not JSON, or has too many braces to search."""


def read(agent: str, reply: Reply) -> ParsedAnswer:
    """Return the parsed answer of a reply, without an object if there is none. This never raises."""
    findings = Findings(agent)
    if reply.failure:
        findings.drop("read", f"read/{reply.failure}", None)
        return ParsedAnswer(reply.failure, FoundAs.NONE, None, tuple(findings.drops))
    found_as, said = _found_object(findings, reply.text)
    if said is None:
        findings.drop("read", "read/unreadable", reply.text)
        return ParsedAnswer(Outcome.UNREADABLE, FoundAs.NONE, None, tuple(findings.drops))
    outcome = Outcome.REPAIRED if found_as is FoundAs.REPAIRED else Outcome.ANSWERED
    return ParsedAnswer(outcome, found_as, said, tuple(findings.drops), tuple(findings.mends))


def _found_object(findings: Findings, text: str) -> tuple[FoundAs, dict[str, Any] | None]:
    """Try the steps in order. A text that is JSON but not an object is not searched for objects inside it."""
    if len(text) > LONGEST:
        return FoundAs.NONE, None
    # An object inside the reasoning is a draft; only what follows it can be the answer.
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
    """Return the object of a JSON text; None if it is another JSON value or is nested too deep.

    Of a key that occurs twice, the first value counts and the second is a drop. Raise UnreadableError if the
    text is not JSON.
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


# Matches each JSON escape: a surrogate pair as a whole, a lone surrogate as `half`, and any other, so that
# the second backslash of `\\ud800` is not taken for the beginning of an escape.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def _without_half_characters(text: str) -> str:
    """Return the text with a question mark for each lone surrogate, which UTF-8 cannot encode."""
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
    """Return whether a value is nested deeper than DEEPEST, checked without recursion."""
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
    """Yield the complete outermost objects in a text.

    After a broken object the search goes on behind the place where it broke, because parts of a broken object
    are not answers. So the text is walked through once. Raise UnreadableError after MOST_BEGINNINGS braces.
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
    """Return the object that json-repair makes of a text from its first brace, or None.

    The brace must be followed by a key or a quotation mark; any other prose is left alone.
    """
    begin = text.find("{")
    if begin == -1 or not re.match(r"\{\s*[\"'\w\u201c]", text[begin:]) or len(text) > LONGEST_REPAIR:
        return None
    try:
        # json-repair turns escapes into characters, lone surrogates included, which UTF-8 cannot encode.
        repaired = json_repair.repair_json(text[begin:], ensure_ascii=False)
        repaired = repaired.encode("utf-8", "replace").decode()
        said = _object(findings, repaired)
    except (RecursionError, ValueError):  # nested too deep for json-repair, or still not JSON
        return None
    if not said:
        return None
    findings.mend("read", "read/repaired", text, repaired)
    return said
