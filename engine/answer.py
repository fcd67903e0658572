"""The outcomes of a call, and the parsed answer that validation starts from.

An agent's answer has three forms: the raw answer, which is text; the parsed answer, which holds a JSON
object; and the intent, which is what a world's rules accept of it.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from hobbes.engine.record import Drop, Mend


class Outcome(StrEnum):
    """How a call ended (docs/failures.md). Only the first two are decisions; all others are failed calls."""

    ANSWERED = "answered"
    REPAIRED = "repaired"
    UNREADABLE = "unreadable"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    PROVIDER_ERROR = "provider-error"
    TIMED_OUT = "timed-out"


DECISIONS = frozenset({Outcome.ANSWERED, Outcome.REPAIRED})
"""The outcomes of calls in which an agent made a decision."""

NO_ANSWER = frozenset({Outcome.PROVIDER_ERROR, Outcome.TIMED_OUT})
"""The outcomes of calls that brought no text back, so that their cost is unknown too."""


READING_CODES: Mapping[str, str] = {
    "read/unreadable": "the answer holds no JSON object that can be read",
    "read/other-object": "an object that does not count, in a text that holds several",
    "read/duplicate-key": "a key that was said before in the same object",
    "read/half-characters": "halves of surrogate pairs were replaced by question marks",
    "read/too-large": "a number was cut to the largest one that is read, 10 to the power of 18",
    "read/most-fields": "of several objects, one before the last counts: it has the most fields of an answer",
    "read/repaired": "a broken JSON object was completed",
    "read/second-answer": "the other one of the two answers of an agent counts",
}
"""What the codes of reading an answer mean."""

FAILURE_CODES: Mapping[str, str] = {
    "read/refused": "the model refused to answer",
    "read/truncated": "the answer was cut off at its greatest length",
    "read/provider-error": "the provider, or the agent's own code, raised an error instead of answering",
    "read/timed-out": "no answer came in time",
}
"""What the codes of calls without an answer mean: each is `read/` and how the call ended."""


class FoundAs(StrEnum):
    """How the JSON object of an answer was found in its text."""

    JSON = "json"
    """The whole text is the object."""
    AFTER_THINK = "after-think"
    """The object follows `</think>` or `</thought>`."""
    EMBEDDED = "embedded"
    """A complete object inside fences or prose: of several, the one with the most fields of an answer."""
    REPAIRED = "repaired"
    """json-repair made an object from the first brace on."""
    NONE = "none"
    """No object was found."""


class ParsedAnswer(NamedTuple):
    """What reading made of a raw answer. `said` is its JSON object, None if it has none."""

    outcome: Outcome
    found_as: FoundAs
    said: dict[str, Any] | None
    drops: tuple[Drop, ...] = ()
    mends: tuple[Mend, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the parsed answer as plain JSON."""
        return {
            "outcome": self.outcome.value,
            "found_as": self.found_as.value,
            "said": self.said,
            "drops": [drop.to_json() for drop in self.drops],
            "mends": [mend.to_json() for mend in self.mends],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ParsedAnswer":
        """Return the parsed answer of its JSON."""
        return cls(
            Outcome(data["outcome"]),
            FoundAs(data["found_as"]),
            data["said"],
            tuple(Drop(**drop) for drop in data["drops"]),
            tuple(Mend(**mend) for mend in data["mends"]),
        )
