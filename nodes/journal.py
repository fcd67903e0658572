"""The journal of a run: each answer the moment it arrives, each turn when it is resolved.

One ledger of answers serves resume (what had arrived is not asked again), replay (all answers come from it),
fork and trace. Where a journal is kept is not a node's business.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from engine.record import canonical, sha256

PERSON = "human"
"""Who answers where a person does: the spec of that mind, and the model under which its answers are kept."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a call belongs inside its run."""

    turn: int
    agent: str
    attempt: int = 1

    def __str__(self) -> str:
        """Spell it as it goes over the wire and into cassettes."""
        return f"{self.turn}/{self.agent}/{self.attempt}"


@dataclass(frozen=True, slots=True)
class Prompt:
    """The two texts that an agent is asked with; a policy has the view alone as `turn`."""

    system: str
    turn: str

    @property
    def hash(self) -> str:
        """Name this prompt."""
        return sha256(self.system + "\x00" + self.turn)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back from whoever answers. `failure` is the outcome of a call that gave no answer."""

    text: str
    model: str
    reasoning: str = ""
    failure: str = ""
    error: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    milliseconds: int = 0
    tries: int = 1
    """How often the request was sent; all but the last failed in a way that may pass."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call, as it is written down: address, prompt, reply, how it ended, how it was read."""

    address: Address
    prompt: Prompt
    reply: Reply
    outcome: str
    stage: str
    question: int = 1
    """1: the turn's own question; 2: the second one, about the answer to the first."""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn, as it is hashed into the chain.

    `record` holds state, intents, drops, mends, events, draws and minds, and nothing of times, attempts,
    ids or tokens. `digest` is the new last link. `ledgers` are a world's own books, derived, not hashed.
    """

    turn: int
    record: Mapping[str, Any]
    digest: str
    ledgers: Mapping[str, Any]


def link(previous: str, record: Mapping[str, Any]) -> str:
    """Give the next link of the chain of digests."""
    return sha256(previous + canonical(record))


class Journal(Protocol):
    """Where a run is written down."""

    def answered(self, turn: int, agent: str, question: int, prompt: Prompt) -> Call | None:
        """Give the last call that was kept for this question to this agent, if it answers the same prompt."""

    def free(self, turn: int, agent: str) -> Address:
        """Give the address of this agent's next call: the attempt after all that were kept."""

    def read(self, call: Call, outcome: str, stage: str) -> None:
        """Be told how a call that was kept is read now."""

    def keep(self, call: Call) -> None:
        """Write a call down, durably, before anything else is done with it."""

    def turn(self, turn: TurnRecord) -> None:
        """Write a turn down. Written again after a crash, it is the same turn."""


class NoJournal:
    """A journal that keeps nothing, for a server that keeps checkpoints of its own."""

    def __init__(self) -> None:
        self._attempts: Counter[tuple[int, str]] = Counter()

    def answered(self, turn: int, agent: str, question: int, prompt: Prompt) -> None:
        """Nothing was kept."""

    def free(self, turn: int, agent: str) -> Address:
        """Give the first attempt, or the one after it."""
        self._attempts[turn, agent] += 1
        return Address(turn, agent, self._attempts[turn, agent])

    def read(self, call: Call, outcome: str, stage: str) -> None:
        """Nothing was kept to compare with."""

    def keep(self, call: Call) -> None:
        """Keep nothing."""

    def turn(self, turn: TurnRecord) -> None:
        """Keep nothing."""
