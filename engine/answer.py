"""How a call can end, and the parsed answer that validation starts from.

An agent's answer has three forms: the raw answer (a text), the parsed answer (a JSON object, below) and the
intent (what a world's rules make of it).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.record import Drop, Mend


class Outcome(StrEnum):
    """How a call ended (design, law 2). Only the first two are decisions; all others are failed calls."""

    ANSWERED = "answered"
    REPAIRED = "repaired"
    UNREADABLE = "unreadable"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    PROVIDER_ERROR = "provider-error"
    TIMED_OUT = "timed-out"


DECISIONS = frozenset({Outcome.ANSWERED, Outcome.REPAIRED})
"""The outcomes in which an agent decided."""

NO_ANSWER = frozenset({Outcome.PROVIDER_ERROR, Outcome.TIMED_OUT})
"""The outcomes in which the model said nothing: no text came back, and nothing is known of its cost."""


class FoundAs(StrEnum):
    """How the JSON object of an answer was found in its text."""

    JSON = "json"
    """The text is the object."""
    AFTER_THINK = "after-think"
    """The object follows `</think>`."""
    EMBEDDED = "embedded"
    """It is the last whole object that stands in fences or prose."""
    REPAIRED = "repaired"
    """json-repair completed what begins an object."""
    NONE = "none"
    """There is no object."""


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """What reading made of a raw answer: how the call ended, and the JSON object that was said, if any."""

    outcome: Outcome
    found_as: FoundAs
    said: dict[str, Any] | None
    drops: tuple[Drop, ...] = ()
    mends: tuple[Mend, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "outcome": self.outcome.value,
            "found_as": self.found_as.value,
            "said": self.said,
            "drops": [drop.to_json() for drop in self.drops],
            "mends": [mend.to_json() for mend in self.mends],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ParsedAnswer":
        """Return it from plain JSON."""
        return cls(
            Outcome(data["outcome"]),
            FoundAs(data["found_as"]),
            data["said"],
            tuple(Drop(**drop) for drop in data["drops"]),
            tuple(Mend(**mend) for mend in data["mends"]),
        )
