"""Where in a raw answer the words stand that a rejection or a correction is about.

A record keeps what was said as JSON, not where it stood. Here the raw answer is scanned once more, and the
words are looked for in it: a field, an entry of an object or of a list, or a text. The scan needs no valid
JSON, because many answers are none. What cannot be found is reported as such, never guessed from likeness.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from hobbes.engine.record import Findings, Json, canonical, excerpt
from hobbes.engine.said import cut_to_words, visible
from hobbes.nodes.reading import MAX_DEPTH, MAX_NUMBER, end_of_reasoning

MAX_LENGTH = 50_000
"""In an answer with more characters than this nothing is looked for."""

CUT = "…"
"""The end of what a record cut off."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
"""A token of JSON. A text that is not closed goes on to the end."""

PUNCTUATION = frozenset("{}[],:")

Span: TypeAlias = tuple[int, int]
"""Where words begin and end in the text."""

Found: TypeAlias = Mapping[str, Any]
"""A rejection or a correction as JSON; only a correction has the key `kept`."""


class Piece(NamedTuple):
    """A piece of a raw answer."""

    text: str
    drops: bool
    """Whether a rejection is about it."""
    mends: bool
    """Whether a correction is about it."""
    notes: tuple[Found, ...]
    """The rejections and corrections whose words end with this piece."""


@dataclass(eq=False)
class _Node:
    """A value in the text, and the key before it if it has one."""

    text: str
    begin: int
    """Where it begins; with a key, where the key begins."""
    start: int
    """Where the value begins."""
    key: str | None
    end: int
    inner: list["_Node"] = field(default_factory=list)

    @property
    def opens(self) -> str:
        """The first character of the value, which tells its kind."""
        return self.text[self.start]

    @cached_property
    def value(self) -> Json:
        """The value; its text if that is no valid JSON."""
        source = self.text[self.start : self.end]
        try:
            value: Json = json.loads(source, parse_int=_number, parse_float=_number, parse_constant=str)
        except (ValueError, RecursionError):
            return source
        return value

    @cached_property
    def kept(self) -> str:
        """What a record keeps of the value, as canonical JSON."""
        return canonical(excerpt(self.value))

    def all(self) -> Iterator["_Node"]:
        """Yield this value and all in it, in their order."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.inner))


def mark_answer(text: str, found: Sequence[Found]) -> tuple[list[Piece], list[Found]]:
    """Return a raw answer in pieces with what was found about them, and what was found about no words in it.

    The pieces joined are the text.
    """
    answer = _Answer(text)
    places: list[tuple[Span, Found]] = []
    nowhere: list[Found] = []
    alike: dict[tuple[bool, str], list[Found]] = {}
    said_first: dict[str, Json] = {}
    for one in found:
        alike.setdefault(("kept" in one, canonical(one["said"])), []).append(one)
        if "kept" in one:
            said_first[canonical(one["kept"])] = one["said"]
    for (_, words), ones in alike.items():
        spots = answer.spots(ones[0]["said"])
        if not spots and words in said_first:  # a correction came before
            spots = answer.spots(said_first[words])
        spots = spots[
            -len(ones) :
        ]  # of words that were said more than once, the first are those that counted
        for place, one in enumerate(ones):
            if place < len(spots):
                places.extend((span, one) for span in spots[place])
            else:
                nowhere.append(one)
    return list(_pieces(text, places)), nowhere


def _pieces(text: str, places: Sequence[tuple[Span, Found]]) -> Iterator[Piece]:
    """Yield the pieces of a text between the places where something begins or ends."""
    bounds = sorted({0, len(text), *(bound for span, _ in places for bound in span)})
    last = {id(one): max(span[1] for span, other in places if other is one) for _, one in places}
    for begin, end in pairwise(bounds):
        over = [one for span, one in places if span[0] <= begin and end <= span[1]]
        notes = {id(one): one for one in over if last[id(one)] == end}
        yield Piece(
            text[begin:end],
            any("kept" not in one for one in over),
            any("kept" in one for one in over),
            tuple(notes.values()),
        )


class _Answer:
    """A raw answer, in which words are looked for."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def objects(self) -> list[_Node]:
        """The outermost objects in the text; the last one is the answer that was read."""
        return _scan_objects(self.text) if len(self.text) <= MAX_LENGTH else []

    @cached_property
    def values(self) -> list[_Node]:
        """All values of the answer, in their order."""
        return [*self.objects[-1].all()] if self.objects else []

    def spots(self, said: Json) -> list[list[Span]]:
        """Return where this was said, each time with the spans of its words."""
        if said is None:
            return []
        if isinstance(said, str):
            return [[span] for span in self._texts(said)]
        kept = canonical(said)
        if isinstance(said, Mapping):
            return (
                [spans for node in self.values for spans in _entries(node, said)]
                or [[(node.start, node.end)] for node in self.values[1:] if node.kept == kept]
                or [[span] for span in self._of_size(said)]
            )
        return [[(node.start, node.end)] for node in self.values if node.key is None and node.kept == kept]

    def _texts(self, said: str) -> Iterator[Span]:
        """Yield where a text stands: a value of the answer, an object before it, or what was cut to it."""
        begins = said.removesuffix(CUT)
        for node in (*self.objects[:-1], *self.values[1:]):
            source = self.text[node.start : node.end]
            if source == said or (node.opens == '"' and _shows(node, said)):
                yield node.start, node.end
            elif begins != said and (
                source.startswith(begins)
                or (node.key is not None and excerpt({node.key: node.value}) == said)
            ):
                yield node.begin, node.end

    def _of_size(self, said: Mapping[str, Json]) -> Iterator[Span]:
        """Yield the texts that have as many characters or words as a correction says."""
        if said.keys() <= {"characters", "words"}:
            for node in self.values:
                value = node.value if node.opens == '"' else None
                if isinstance(value, str) and (
                    said.get("characters") == len(value) or said.get("words") == _words(value)
                ):
                    yield node.start, node.end


def _words(text: str) -> Json:
    """Return the number of words of a text, as a correction counts them; None if it has none."""
    findings = Findings("")
    cut_to_words(findings, "", text, 0)
    return findings.mends[0].said["words"] if findings.mends else None  # type: ignore[index,call-overload]


def _entries(node: _Node, said: Mapping[str, Json]) -> list[list[Span]]:
    """Return where the entries of an object that was said stand in another, if that has all of them.

    One entry may stand there several times. An entry whose value is null may be left out.
    """
    if node.opens != "{":
        return []
    spots_of_each = [
        [spans for inner in node.inner if inner.key == key for spans in _entry(inner, value)]
        for key, value in said.items()
    ]
    if len(spots_of_each) == 1:
        return spots_of_each[0]
    pairs = zip(spots_of_each, said.values(), strict=True)
    if any(not spots and value is not None for spots, value in pairs):
        return []
    together = [span for spots in spots_of_each for span in next(iter(spots), [])]
    return [together] if together else []


def _entry(node: _Node, said: Json) -> list[list[Span]]:
    """Return where a value stands in an entry of an object: the whole entry, or parts of it."""
    sought = [said, *said] if isinstance(said, list) and len(said) == 1 else [said]
    if node.kept == canonical(said):
        return [[(node.begin, node.end)]]
    if isinstance(said, Mapping) and said and node.opens == "{":
        return _entries(node, said)
    return [[(inner.begin, inner.end)] for inner in node.inner if inner.kept in map(canonical, sought)]


def _shows(node: _Node, said: str) -> bool:
    """Tell whether a text is what was said, whose invisible characters may be spelled out."""
    value = node.value
    return isinstance(value, str) and said in {excerpt(value), excerpt(visible(value))}


def _scan_objects(text: str) -> list[_Node]:
    """Return the outermost objects of a text after its reasoning. What is not closed ends with the text.

    A text that is nested too deep to be read has none.
    """
    roots: list[_Node] = []
    around: list[_Node] = []
    key: tuple[str, int] | None = None
    leaf: re.Match[str] | None = None
    position = text.find("{", end_of_reasoning(text))
    while position != -1 and (token := _TOKEN.search(text, position)):
        word, position = token[0], token.end()
        if word == ":":
            if leaf is not None:
                around[-1].inner.pop()
                key = _as_text(leaf[0]), leaf.start()
        elif word in {"}", "]"}:
            around.pop().end = position
            key = None
        elif word == ",":
            key = None
        else:
            name, begin = key or (None, token.start())
            node = _Node(text, begin, token.start(), name, position)
            (around[-1].inner if around else roots).append(node)
            if word in {"{", "["}:
                around.append(node)
                if len(around) > MAX_DEPTH + 1:
                    return []
            key = None
        leaf = None if word in PUNCTUATION else token
        if not around:
            position = text.find("{", position)
    for node in around:
        node.end = len(text)
    return roots


def _number(digits: str) -> float:
    """Return a number as reading does, which cuts large ones."""
    approximate = float(digits)
    if abs(approximate) > MAX_NUMBER:
        return MAX_NUMBER if approximate > 0 else -MAX_NUMBER
    return int(digits) if approximate.is_integer() and digits.lstrip("-").isdigit() else approximate


def _as_text(token: str) -> str:
    """Return the text of a key."""
    try:
        return str(json.loads(token))
    except ValueError:
        return token.strip("'\"")
