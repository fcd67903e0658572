"""The journal of a run: each answer the moment it arrives, each turn when it is resolved.

One ledger of answers serves resume (what had arrived is not asked again), replay (all answers come from it),
fork and trace. Where a journal is kept is not a node's business.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from engine.answer import FoundAs, Outcome, ParsedAnswer
from engine.record import sha256
from engine.turn import TurnRecord


class PlayerKind(StrEnum):
    """What can answer for an agent: the beginning of its spec, and a person's model."""

    CHAT = "openai"
    POLICY = "policy"
    HUMAN = "human"


POLICY_MODEL = f"{PlayerKind.POLICY.value}/"
"""What the name of a model begins with where a scripted policy answers."""


def policy_model(name: str) -> str:
    """Return the name of the model under which the answers of a scripted policy are kept."""
    return POLICY_MODEL + name


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
    failure: Outcome | None = None
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
    outcome: Outcome
    found_as: FoundAs
    question: int = 1
    """1: the turn's own question; 2: the second one, about the answer to the first."""


class Journal(Protocol):
    """Where a run is written down."""

    def answered(self, turn: int, agent: str, question: int, prompt: Prompt) -> Call | None:
        """Give the last call that was kept for this question to this agent, if it answers the same prompt."""

    def free(self, turn: int, agent: str) -> Address:
        """Give the address of this agent's next call: the attempt after all that were kept."""

    def read(self, call: Call, parsed: ParsedAnswer) -> None:
        """Be told how the answer of a call that was kept is read now."""

    def keep(self, call: Call) -> None:
        """Write a call down, durably, before anything else is done with it."""

    def turn(self, turn: int, record: TurnRecord, digest: str, ledgers: Mapping[str, Any]) -> None:
        """Write a turn down: its record, the new last link of the chain, and the world's own ledgers.

        Ledgers are derived, and not hashed. Written again after a crash, it is the same turn.
        """


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

    def read(self, call: Call, parsed: ParsedAnswer) -> None:
        """Nothing was kept to compare with."""

    def keep(self, call: Call) -> None:
        """Keep nothing."""

    def turn(self, turn: int, record: TurnRecord, digest: str, ledgers: Mapping[str, Any]) -> None:
        """Keep nothing."""
