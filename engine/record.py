"""What is written down about a turn: drops, mends, events and draws.

Nothing that an agent said disappears without a Drop (it was refused) or a Mend (it was changed and kept).
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]

Stage: TypeAlias = Literal["read", "schema", "rule", "budget"]

EXCERPT = 500
"""Characters of what was said that a drop or mend carries; the whole answer is in the ledger of answers."""

DEPTH = 32
"""Levels of what was said that a drop or mend carries, and no more: no stack can overflow on a record."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Something an agent said that was refused.

    `stage` is where, `code` the countable reason (`mining/not-yours`), `said` what was refused.
    """

    agent: str
    stage: Stage
    code: str
    said: Json
    detail: str = ""

    def to_json(self) -> JsonObject:
        """Give the drop as interfaces name it."""
        return {
            "agent": self.agent,
            "stage": self.stage,
            "code": self.code,
            "said": self.said,
            "detail": self.detail,
        }


@dataclass(frozen=True, slots=True)
class Mend:
    """Something an agent said that was changed, and kept as `kept`."""

    agent: str
    stage: Stage
    code: str
    said: Json
    kept: Json

    def to_json(self) -> JsonObject:
        """Give the mend as interfaces name it."""
        return {
            "agent": self.agent,
            "stage": self.stage,
            "code": self.code,
            "said": self.said,
            "kept": self.kept,
        }


class Event(NamedTuple):
    """Something that happened in a world; `facts` are the type's own fields.

    A tuple, since a round has hundreds: a frozen dataclass takes twice the time to make.
    """

    type: str
    agent: str
    facts: JsonObject

    def to_json(self) -> JsonObject:
        """Give the event as one flat object."""
        return {"type": self.type, "agent": self.agent, **self.facts}

    @classmethod
    def from_json(cls, data: JsonObject) -> "Event":
        """Return the event of its flat object."""
        facts = {name: value for name, value in data.items() if name not in {"type", "agent"}}
        return cls(str(data["type"]), str(data["agent"]), facts)


MESSAGE = "message"
"""The type of the event that tells of a message, in every world where agents can write."""


def message(sender: str, text: str, to: str | None = None) -> Event:
    """Return the event of a message; without `to`, in a world where every message is to all."""
    return Event(MESSAGE, sender, {"text": text} if to is None else {"to": to, "text": text})


def message_of(event: Event) -> tuple[str, Json, Json] | None:
    """Return sender, receiver and text of a message; None for any other event."""
    if event.type != MESSAGE:
        return None
    return event.agent, event.facts.get("to", "all"), event.facts["text"]


@dataclass(frozen=True, slots=True)
class Draw:
    """One use of luck: who took part, the digest that decided, and what it decided."""

    event: str
    subject: Json
    participants: tuple[str, ...]
    digest: str
    winner: str

    def to_json(self) -> JsonObject:
        """Give the draw as interfaces name it."""
        return {
            "event": self.event,
            "subject": self.subject,
            "participants": list(self.participants),
            "digest": self.digest,
            "winner": self.winner,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Draw":
        """Return the draw of its JSON."""
        return cls(**{**data, "participants": tuple(data["participants"])})


_as_text = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


MOST_ALIKE = 100
"""Drops of one answer for one reason that are each written down; the rest are counted in one more."""


class Findings:
    """The drops and mends of one agent's answer, collected while it is validated."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.drops: list[Drop] = []
        self.mends: list[Mend] = []
        self._alike: Counter[str] = Counter()
        self._rest: dict[str, int] = {}

    def drop(self, stage: Stage, code: str, said: Json, detail: str = "") -> None:
        """Write down that `said` was refused; of a megabyte of refusals, the first ones and their number."""
        self._alike[code] += 1
        if self._alike[code] <= MOST_ALIKE:
            self.drops.append(Drop(self.agent, stage, code, excerpt(said), detail))
            return
        rest = Drop(self.agent, stage, code, "…", f"{self._alike[code] - MOST_ALIKE} more for this reason")
        place = self._rest.setdefault(code, len(self.drops))
        self.drops[place : place + 1] = [rest]

    def mend(self, stage: Stage, code: str, said: Json, kept: Json) -> None:
        """Write down that `said` was changed into `kept`."""
        self.mends.append(Mend(self.agent, stage, code, excerpt(said), excerpt(kept)))


_as_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def canonical(value: Json) -> str:
    """Give the one text of a JSON value: keys sorted, no spaces. What is hashed is this text."""
    return _as_canonical(value)


def sha256(text: str) -> str:
    """Give the hexadecimal SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def excerpt(said: Json) -> Json:
    """Give `said` itself if it is short and plain, else the beginning of its text: records stay bounded."""
    plain = _plain(said, DEPTH)
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    return plain if len(text) <= EXCERPT else text[:EXCERPT] + "…"


def _plain(said: Json, depth: int) -> Json:
    """Spell out what JSON, UTF-8 or a stack cannot carry: NaN, endless numbers, surrogates, deep nesting."""
    if isinstance(said, str):
        return said.encode(errors="backslashreplace").decode()
    if not isinstance(said, Mapping | Sequence):
        return _plain_number(said)
    if not depth:
        return "…"
    if isinstance(said, Mapping):
        return {str(_plain(key, depth)): _plain(value, depth - 1) for key, value in said.items()}
    return [_plain(value, depth - 1) for value in said]


def _plain_number(said: Json) -> Json:
    """Spell out a number that JSON does not know, or that has no end."""
    if isinstance(said, float) and not math.isfinite(said):
        return str(said)
    if isinstance(said, int) and said.bit_length() > EXCERPT:
        return f"a number of {said.bit_length()} bits"
    return said
