"""Reading: find the JSON object in the text of an answer, without ever guessing from prose.

The steps are tried in this order, and the one that worked is recorded: the whole text (`json`); what follows
`</think>` or `</thought>` (`after-think`); a complete object inside fences or prose (`embedded`), and of
several, the one with the most fields of an answer; json-repair, applied from the first brace (`repaired`).
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any, Self, SupportsIndex

from hobbes.engine.answer import DECISIONS, FoundAs, Outcome, ParsedAnswer
from hobbes.engine.record import Findings
from hobbes.nodes.dialects import REASONING_TAGS
from hobbes.nodes.journal import TURN_QUESTION, Call, Reply

MAX_LENGTH = 1_000_000
"""An answer with more characters than this is not read."""
MAX_REPAIR_LENGTH = 100_000
"""An answer with more characters than this is not repaired, because json-repair is slow on long texts."""
MAX_REPAIR_READS = 300_000
"""The number of characters that json-repair may read. It usually reads each character about three times."""
MAX_EMBEDDED = 1_000
"""A text with more opening braces than this outside objects is not searched for objects."""
MAX_DEPTH = 32
"""An answer that is nested deeper than this is not read."""
MAX_NUMBER = 10**18
"""A number beyond this, or below its negative, is clamped to it. No world has that much of anything."""

_REASONING_ENDS = re.compile(f"</(?:{'|'.join(REASONING_TAGS)})>")
"""Matches the tags at the end of a reasoning."""


def deciding(calls: Iterable[Call]) -> Call | None:
    """Return the call whose answer counts, among the calls to one agent in one turn in order of attempt.

    It is the last call for the turn's own question, unless the call for the follow-up question after it is a
    decision.
    """
    decisive: Call | None = None
    for call in calls:
        if call.question == TURN_QUESTION or call.outcome in DECISIONS:
            decisive = call
    return decisive


def end_of_reasoning(text: str) -> int:
    """Return where the reasoning in a text ends: after its last closing tag; 0 without one."""
    return max((match.end() for match in _REASONING_ENDS.finditer(text)), default=0)


class UnreadableError(ValueError):
    """The text is not JSON, or has too many braces to search."""


def read(agent: str, reply: Reply, fields: Collection[str]) -> ParsedAnswer:
    """Return the parsed answer of a reply; it has no object if the text has none. This never raises.

    `fields` are the names that an answer may have; they decide which of several objects counts.
    """
    findings = Findings(agent)
    if reply.failure:
        findings.drop("read", f"read/{reply.failure}", None)
        return ParsedAnswer(reply.failure, FoundAs.NONE, None, tuple(findings.drops))
    found_as, answer = _find_object(findings, reply.text, fields)
    if answer is None:
        findings.drop("read", "read/unreadable", reply.text)
        return ParsedAnswer(Outcome.UNREADABLE, FoundAs.NONE, None, tuple(findings.drops))
    outcome = Outcome.REPAIRED if found_as is FoundAs.REPAIRED else Outcome.ANSWERED
    return ParsedAnswer(outcome, found_as, answer, tuple(findings.drops), tuple(findings.mends))


def _find_object(
    findings: Findings, text: str, fields: Collection[str]
) -> tuple[FoundAs, dict[str, Any] | None]:
    """Try the steps in order. A text that is JSON but not an object is not searched for objects inside it."""
    if len(text) > MAX_LENGTH:
        return FoundAs.NONE, None
    # An object inside the reasoning is a draft; only what follows it can be the answer.
    answer = text[end_of_reasoning(text) :]
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
    return FoundAs.EMBEDDED, _object(findings, _choose_object(findings, embedded, fields))


def _choose_object(findings: Findings, objects: list[tuple[str, set[str]]], fields: Collection[str]) -> str:
    """Return the text of the object with the most fields of an answer; of several, the last.

    `objects` has the text and the keys of each. The last one alone would not do: a stray closing brace ends
    an answer early, and what follows it may be an object of its own, such as a table of ratings.
    """
    texts = [text for text, _ in objects]
    known = [len(keys.intersection(fields)) for _, keys in objects]
    chosen = max(range(len(objects)), key=lambda k: (known[k], k))
    text = texts.pop(chosen)
    for other in texts:
        findings.drop("read", "read/other-object", other)
    if chosen < len(texts):
        findings.mend("read", "read/most-fields", texts[-1], text)
    return text


def _object(findings: Findings, text: str) -> dict[str, Any] | None:
    """Return the object of a JSON text; None if it is another JSON value or is nested too deep.

    Raise UnreadableError if the text is not JSON.
    """
    clean = _replace_lone_surrogates(text)
    of_this_text = Findings(findings.agent)  # what is noted of a text that cannot be used is not kept
    try:
        value = _decode(of_this_text, clean)
    except ValueError as error:
        raise UnreadableError from error
    except RecursionError:
        return None
    may_be_deep = clean.count("{") + clean.count("[") > MAX_DEPTH
    if not isinstance(value, dict) or (may_be_deep and _too_deep(value)):
        return None
    findings.drops += of_this_text.drops
    findings.mends += of_this_text.mends
    if clean != text:
        findings.mend("read", "read/half-characters", text, clean)
    return value


def _decode(findings: Findings, text: str) -> Any:  # noqa: ANN401  any JSON
    """Return the value of a JSON text.

    If an object has a key twice, the first value counts and the second is a drop. A number beyond MAX_NUMBER
    is clamped to it, which is a mend. NaN and Infinity, which are not JSON, are read as texts. Raise
    ValueError or RecursionError if the text cannot be decoded.
    """

    def first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in pairs:
            if key in result:
                findings.drop("read", "read/duplicate-key", {key: value})
            else:
                result[key] = value
        return result

    def number(kind: Callable[[str], float], digits: str) -> float:
        approximate = float(digits)  # unlike int, it takes any number of digits
        if abs(approximate) <= MAX_NUMBER:
            return kind(digits)
        clamped = MAX_NUMBER if approximate > 0 else -MAX_NUMBER
        findings.mend("read", "read/too-large", digits, clamped)
        return clamped

    return json.loads(
        text,
        object_pairs_hook=first_of_each,
        parse_constant=str,
        parse_int=partial(number, int),
        parse_float=partial(number, float),
    )


# Matches each JSON escape: a surrogate pair as a whole, a lone surrogate as `half`, and any other, so that
# the second backslash of `\\ud800` is not taken for the beginning of an escape.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def _replace_lone_surrogates(text: str) -> str:
    """Return the text with a question mark for each lone surrogate, which UTF-8 cannot encode."""
    clean = text if text.isascii() else text.encode("utf-8", "replace").decode()
    if "\\u" not in clean:
        return clean
    return _ESCAPE.sub(lambda match: "?" if match["half"] else match[0], clean)


def _too_deep(value: dict[str, Any]) -> bool:
    """Return whether a value is nested deeper than MAX_DEPTH, checked without recursion."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _embedded(text: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the complete outermost objects in a text, each with its keys.

    After a broken object the search resumes where it broke, because parts of a broken object are not answers.
    So the text is read once. Raise UnreadableError after MAX_EMBEDDED braces.
    """
    decoder = json.JSONDecoder(parse_int=float)  # unlike int, float takes any number of digits
    position = text.find("{")
    for _ in range(MAX_EMBEDDED):
        if position == -1:
            return
        try:
            value, end = decoder.raw_decode(text, position)
            yield text[position:end], set(value)
        except json.JSONDecodeError as error:
            end = max(error.pos, position + 1)
        except RecursionError:
            return
        position = text.find("{", end)
    raise UnreadableError


class _TooMuchWorkError(Exception):
    """json-repair has read more characters than it may."""


class _Counted(str):
    """A text that raises _TooMuchWorkError once more characters of it have been read than `left` allows.

    json-repair goes back and forth in a text, so its work may grow with the square of the length. Slices and
    concatenations of the text share the count.
    """

    __slots__ = ("left",)
    left: list[int]

    @classmethod
    def of(cls, text: str, left: list[int]) -> Self:
        """Return a text that shares a count of the characters that may still be read."""
        metered = cls(text)
        metered.left = left
        return metered

    def __getitem__(self, where: SupportsIndex | slice) -> str:
        part = super().__getitem__(where)
        self.left[0] -= len(part)
        if self.left[0] < 0:
            raise _TooMuchWorkError
        return self.of(part, self.left) if isinstance(where, slice) else part

    def __add__(self, other: str) -> str:
        return self.of(super().__add__(other), self.left)


def _repaired(findings: Findings, text: str) -> dict[str, Any] | None:
    """Return the object that json-repair makes of a text from its first brace, or None.

    The brace must be followed by a key or a quotation mark; any other text is taken for prose.
    """
    import json_repair  # noqa: PLC0415  most runs need none of it

    begin = text.find("{")
    if begin == -1 or not re.match(r"\{\s*[\"'\w\u201c]", text[begin:]) or len(text) > MAX_REPAIR_LENGTH:
        return None
    try:
        # json-repair turns escapes into characters, lone surrogates included, which UTF-8 cannot encode.
        repaired = json_repair.repair_json(_Counted.of(text[begin:], [MAX_REPAIR_READS]), ensure_ascii=False)
        repaired = repaired.encode("utf-8", "replace").decode()
        value = _object(findings, repaired)
    except (_TooMuchWorkError, RecursionError, ValueError):  # the last two: nested too deep, still not JSON
        return None
    if not value:
        return None
    findings.mend("read", "read/repaired", text, repaired)
    return value
