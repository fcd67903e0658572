"""What is written down about a turn: drops, mends, events and draws.

Nothing that an agent said disappears without a record: a Drop says what was rejected, a Mend what was
changed. All records stay bounded and plain, whatever an agent said.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import orjson

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]

Stage: TypeAlias = Literal["read", "schema", "rule", "budget"]
"""Where something was rejected or changed: reading, types and shape, rules of the world, or costs."""

EXCERPT = 500
"""How many characters of what was said a drop or mend keeps; the whole answer is kept with its call."""

DEPTH = 32
"""How many levels of nesting a drop or mend keeps, so that no recursion over records can overflow."""


class Drop(NamedTuple):
    """A rejection: something an agent said that was refused.

    `code` is the reason, such as `mining/not-yours`, to be counted; `detail` explains the single case.
    """

    agent: str
    stage: Stage
    code: str
    said: Json
    detail: str = ""

    def to_json(self) -> JsonObject:
        """Return the drop as plain JSON."""
        return self._asdict()


class Mend(NamedTuple):
    """A correction: something an agent said that was changed, and what was kept instead.

    If what was said was kept as it is, it is a note: nothing was wrong with it, and it changed nothing.
    """

    agent: str
    stage: Stage
    code: str
    said: Json
    kept: Json

    def to_json(self) -> JsonObject:
        """Return the mend as plain JSON."""
        return self._asdict()


class Event(NamedTuple):
    """Something that happened in a world. `facts` are the fields of this type of event.

    It is a named tuple because a round may have hundreds: a frozen dataclass takes twice as long to make.
    """

    type: str
    agent: str
    facts: JsonObject

    def to_json(self) -> JsonObject:
        """Return the event as one flat JSON object."""
        return {"type": self.type, "agent": self.agent, **self.facts}

    @classmethod
    def from_json(cls, data: JsonObject) -> "Event":
        """Return the event of its flat JSON object."""
        facts = dict(data)
        return cls(str(facts.pop("type")), str(facts.pop("agent")), facts)


MESSAGE = "message"
"""The type of the event for a message, in every world where agents can write to each other."""


def message(sender: str, text: str, to: str | None = None) -> Event:
    """Return the event of a message. Without `to` it goes to all agents."""
    return Event(MESSAGE, sender, {"text": text} if to is None else {"to": to, "text": text})


class Draw(NamedTuple):
    """One random draw: who took part, the digest that decided, and who won (`engine.chance`)."""

    event: str
    subject: Json
    participants: tuple[str, ...]
    digest: str
    winner: str

    def to_json(self) -> JsonObject:
        """Return the draw as plain JSON."""
        return {**self._asdict(), "participants": list(self.participants)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Draw":
        """Return the draw of its JSON."""
        return cls(**{**data, "participants": tuple(data["participants"])})


MAX_ALIKE = 100
"""How many drops or mends of one answer with the same code are written down; one more counts the rest."""


F = TypeVar("F", Drop, Mend)
T = TypeVar("T")


class Findings:
    """The drops and mends of one agent's answer, collected while it is validated."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.drops: list[Drop] = []
        self.mends: list[Mend] = []
        self._alike: dict[tuple[type, str], int] = {}
        self._rest: dict[tuple[type, str], int] = {}

    def drop(self, stage: Stage, code: str, said: Json, detail: str = "") -> None:
        """Add a rejection. Beyond MAX_ALIKE of one code, only their number is kept."""
        if more := self._count(Drop, code):
            rest = Drop(self.agent, stage, code, "…", f"{more} more for this reason")
            self._replace_rest(self.drops, rest)
        else:
            self.drops.append(Drop(self.agent, stage, code, excerpt(said), detail))

    def mend(self, stage: Stage, code: str, said: Json, kept: Json) -> None:
        """Add a correction. Beyond MAX_ALIKE of one code, only their number is kept."""
        if more := self._count(Mend, code):
            rest = f"… {more} more"
            self._replace_rest(self.mends, Mend(self.agent, stage, code, rest if said == kept else "…", rest))
        else:
            self.mends.append(Mend(self.agent, stage, code, excerpt(said), excerpt(kept)))

    def note(self, stage: Stage, code: str, said: Json) -> None:
        """Add a note: a correction that changes nothing, which is recorded and not told to the agent."""
        self.mend(stage, code, said, said)

    def _count(self, kind: type, code: str) -> int:
        """Count one more drop or mend of a code. Return how many there are beyond MAX_ALIKE."""
        alike = self._alike[kind, code] = self._alike.get((kind, code), 0) + 1
        return max(0, alike - MAX_ALIKE)

    def _replace_rest(self, findings: list[F], rest: F) -> None:
        """Put the finding that counts the rest into the place where it was first added."""
        place = self._rest.setdefault((type(rest), rest.code), len(findings))
        findings[place : place + 1] = [rest]


_as_canonical = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode
_as_compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode

_PLAIN = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME

_WRITTEN_OTHERWISE = (b"e-", b"0.0000", b"null")
"""What may be in a text that Python writes in another way: small numbers, and `null` for NaN and infinity."""


def canonical(value: Json) -> str:
    """Return the canonical text of a JSON value, which is what is hashed: sorted keys, no spaces.

    Python's json module defines the text. orjson writes most values ten times as fast, to the same bytes.
    Raise ValueError for NaN and infinity, and TypeError for what JSON cannot hold.
    """
    return _written(value, _PLAIN | orjson.OPT_SORT_KEYS, _as_canonical)


def compact(value: Json) -> str:
    """Return the text of a JSON value without spaces, its keys in their own order. Raise as `canonical`."""
    return _written(value, _PLAIN, _as_compact)


def _written(value: Json, option: int, as_python: Callable[[Json], str]) -> str:
    try:
        quick = orjson.dumps(value, option=option)
    except orjson.JSONEncodeError:  # numbers of more than 64 bits, half characters, keys that are not text
        return as_python(value)
    return as_python(value) if any(one in quick for one in _WRITTEN_OTHERWISE) else quick.decode()


def sha256(text: str) -> str:
    """Return the SHA-256 of a text as hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def excerpt(said: Json, longest: int = EXCERPT) -> Json:
    """Return `said` made plain, or the beginning of its text if that is longer than this many characters.

    However long `said` is, no more of it is looked at than that beginning.
    """
    plain = _plain(said, DEPTH, _Room(longest))
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    return plain if len(text) <= longest else text[:longest] + "…"


class _Room:
    """How many characters of JSON may still be written. What is written last may take one more."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, text: str) -> str:
        """Return the beginning of a text for which there is room, or all of it."""
        kept = text[: self.left + 1]
        self.left -= len(kept)
        return kept

    def each(self, values: Iterable[T]) -> Iterator[T]:
        """Yield values as long as there is room. Each takes at least a character."""
        for value in values:
            if self.left < 0:
                return
            self.left -= 1
            yield value


def _plain(said: Json, depth: int, room: _Room) -> Json:
    """Return `said` with everything replaced that cannot be written as JSON in UTF-8 or is too deep.

    What there is no room for is left out.
    """
    if isinstance(said, str):
        return room.take(said).encode(errors="backslashreplace").decode()
    if not isinstance(said, Mapping | Sequence):
        return _plain_number(said)
    if not depth:
        return "…"
    if isinstance(said, Mapping):
        return {
            str(_plain(key, depth, room)): _plain(value, depth - 1, room)
            for key, value in room.each(said.items())
        }
    return [_plain(value, depth - 1, room) for value in room.each(said)]


def _plain_number(said: Json) -> Json:
    """Return a number, or a text in its place if JSON has no such number or it has too many digits."""
    if isinstance(said, float) and not math.isfinite(said):
        return str(said)
    if isinstance(said, int) and said.bit_length() > EXCERPT:
        return f"a number of {said.bit_length()} bits"
    return said
