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
from hobbes.nodes.journal import TURN_QUESTION, Call, Reply

LONGEST = 1_000_000
"""An answer with more characters than this is not read."""
LONGEST_REPAIR = 100_000
"""An answer with more characters than this is not repaired: json-repair is slow on long texts."""
MOST_REPAIR = 300_000
"""How many characters json-repair may look at. Usually that is three for each character of an answer."""
MOST_BEGINNINGS = 1_000
"""Opening braces in prose beyond which no object is looked for."""
DEEPEST = 32
"""An answer that is nested deeper than this is not read."""
LARGEST = 10**18
"""A number beyond this, or below its negative, is cut to it. It is more than any world has of anything."""

REASONING_ENDS = re.compile("</th(?:ink|ought)>")
"""Matches the tags at the end of a reasoning."""

MAY_BE_LARGE = re.compile(r"[0-9](?:[0-9]{18}|[eE])")
"""Matches in every text that has a number beyond LARGEST: 19 digits in a row, or an exponent."""


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


def end_of_reasoning(text: str) -> int:
    """Return where the reasoning in a text ends: after its last closing tag; 0 without one."""
    return max((found.end() for found in REASONING_ENDS.finditer(text)), default=0)


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
    found_as, said = _found_object(findings, reply.text, fields)
    if said is None:
        findings.drop("read", "read/unreadable", reply.text)
        return ParsedAnswer(Outcome.UNREADABLE, FoundAs.NONE, None, tuple(findings.drops))
    outcome = Outcome.REPAIRED if found_as is FoundAs.REPAIRED else Outcome.ANSWERED
    return ParsedAnswer(outcome, found_as, said, tuple(findings.drops), tuple(findings.mends))


def _found_object(
    findings: Findings, text: str, fields: Collection[str]
) -> tuple[FoundAs, dict[str, Any] | None]:
    """Try the steps in order. A text that is JSON but not an object is not searched for objects inside it."""
    if len(text) > LONGEST:
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
    return FoundAs.EMBEDDED, _object(findings, _that_counts(findings, embedded, fields))


def _that_counts(findings: Findings, found: list[tuple[str, set[str]]], fields: Collection[str]) -> str:
    """Return the text of the object that counts: of those with the most fields of an answer, the last.

    A brace too many ends an answer early. What follows it may be an object, such as a table of ratings.
    """
    most = max(len(keys.intersection(fields)) for _, keys in found)
    place = max(k for k, (_, keys) in enumerate(found) if len(keys.intersection(fields)) == most)
    texts = [text for text, _ in found]
    counts = texts.pop(place)
    for other in texts:
        findings.drop("read", "read/other-object", other)
    if place < len(texts):
        findings.mend("read", "read/most-fields", texts[-1], counts)
    return counts


def _object(findings: Findings, text: str) -> dict[str, Any] | None:
    """Return the object of a JSON text; None if it is another JSON value or is nested too deep.

    Raise UnreadableError if the text is not JSON.
    """
    whole = _without_half_characters(text)
    found = Findings(findings.agent)
    try:
        said = _decoded(found, whole)
    except ValueError as error:
        raise UnreadableError from error
    except RecursionError:
        return None
    may_be_deep = whole.count("{") + whole.count("[") > DEEPEST
    if not isinstance(said, dict) or (may_be_deep and _too_deep(said)):
        return None
    findings.drops += found.drops
    findings.mends += found.mends
    if whole != text:
        findings.mend("read", "read/half-characters", text, whole)
    return said


class _RepeatedKeyError(Exception):
    """An object of a JSON text has a key twice."""


def _without_repeats(found: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these pairs. Raise _RepeatedKeyError if a key is there twice."""
    result = dict(found)
    if len(result) < len(found):
        raise _RepeatedKeyError
    return result


# Made once, because it takes longer to make a decoder than to read a short answer.
_usual_decoder = json.JSONDecoder(object_pairs_hook=_without_repeats, parse_constant=str)


def _decoded(findings: Findings, text: str) -> Any:  # noqa: ANN401  any JSON
    """Return the value of a JSON text, as `_decoded_with_findings` does.

    Most answers have neither repeated keys nor large numbers, so that there is nothing to find.
    """
    if MAY_BE_LARGE.search(text):
        return _decoded_with_findings(findings, text)
    try:
        return _usual_decoder.decode(text)
    except _RepeatedKeyError:
        return _decoded_with_findings(findings, text)


def _decoded_with_findings(findings: Findings, text: str) -> Any:  # noqa: ANN401  any JSON
    """Return the value of a JSON text.

    Of a key that occurs twice, the first value counts and the second is a drop. A number beyond LARGEST is
    cut to it, which is a mend. Raise ValueError or RecursionError if the text cannot be decoded.
    """

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(found)
        if len(result) == len(found):
            return result
        result.clear()
        for key, value in found:
            if key in result:
                findings.drop("read", "read/duplicate-key", {key: value})
            else:
                result[key] = value
        return result

    def number(kind: Callable[[str], float], digits: str) -> float:
        approximate = float(digits)  # unlike int, it takes any number of digits
        if abs(approximate) <= LARGEST:
            return kind(digits)
        kept = LARGEST if approximate > 0 else -LARGEST
        findings.mend("read", "read/too-large", digits, kept)
        return kept

    return json.loads(
        text,
        object_pairs_hook=pairs,
        parse_int=partial(number, int),
        parse_float=partial(number, float),
        parse_constant=str,
    )


# Matches each JSON escape: a surrogate pair as a whole, a lone surrogate as `half`, and any other, so that
# the second backslash of `\\ud800` is not taken for the beginning of an escape.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def _without_half_characters(text: str) -> str:
    """Return the text with a question mark for each lone surrogate, which UTF-8 cannot encode."""
    clean = text if text.isascii() else text.encode("utf-8", "replace").decode()
    if "\\u" not in clean:
        return clean
    return _ESCAPE.sub(lambda found: "?" if found["half"] else found[0], clean)


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


def _embedded(text: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the complete outermost objects in a text, each with its keys.

    After a broken object the search goes on behind the place where it broke, because parts of a broken object
    are not answers. So the text is walked through once. Raise UnreadableError after MOST_BEGINNINGS braces.
    """
    decoder = json.JSONDecoder(parse_int=float)
    position = text.find("{")
    for _ in range(MOST_BEGINNINGS):
        if position == -1:
            return
        try:
            said, end = decoder.raw_decode(text, position)
            yield text[position:end], {*said}
        except json.JSONDecodeError as error:
            end = max(error.pos, position + 1)
        except RecursionError:
            return
        position = text.find("{", end)
    raise UnreadableError


class _TooMuchWorkError(Exception):
    """A text was looked at more often than it may be."""


class _Metered(str):
    """A text of which `left` characters may be looked at, so that the work on it is bounded.

    json-repair goes back and forth in a text, and may need time in proportion to the square of its length.
    What is cut out of the text or appended to it goes on counting.
    """

    __slots__ = ("left",)
    left: list[int]

    @classmethod
    def of(cls, text: str, left: list[int]) -> Self:
        """Return a text that counts down a number, which it shares with all texts that are made of it."""
        made = cls(text)
        made.left = left
        return made

    def __getitem__(self, where: SupportsIndex | slice) -> str:
        found = super().__getitem__(where)
        self.left[0] -= len(found)
        if self.left[0] < 0:
            raise _TooMuchWorkError
        return self.of(found, self.left) if isinstance(where, slice) else found

    def __add__(self, other: str) -> str:
        return self.of(super().__add__(other), self.left)


def _repaired(findings: Findings, text: str) -> dict[str, Any] | None:
    """Return the object that json-repair makes of a text from its first brace, or None.

    The brace must be followed by a key or a quotation mark; any other prose is left alone.
    """
    import json_repair  # noqa: PLC0415  most runs need none of it

    begin = text.find("{")
    if begin == -1 or not re.match(r"\{\s*[\"'\w\u201c]", text[begin:]) or len(text) > LONGEST_REPAIR:
        return None
    try:
        # json-repair turns escapes into characters, lone surrogates included, which UTF-8 cannot encode.
        repaired = json_repair.repair_json(_Metered.of(text[begin:], [MOST_REPAIR]), ensure_ascii=False)
        repaired = repaired.encode("utf-8", "replace").decode()
        said = _object(findings, repaired)
    except (_TooMuchWorkError, RecursionError, ValueError):  # the last two: nested too deep, still not JSON
        return None
    if not said:
        return None
    findings.mend("read", "read/repaired", text, repaired)
    return said
