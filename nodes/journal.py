"""Calls, and the journal of a run as the nodes see it, which keeps each call and each resolved turn.

A call is kept before its answer is used. Resume, replay, fork and trace all read from these calls, so a
call that was answered is not sent again. The nodes know this protocol only; the run database implements it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from hobbes.engine.answer import DECISIONS, FoundAs, Outcome, ParsedAnswer
from hobbes.engine.record import sha256
from hobbes.engine.turn import TurnRecord


class PlayerKind(StrEnum):
    """What can answer for an agent. The value begins a player spec.

    `python` is a class or function of a person's own. `human` is a person who was asked. `given` is nobody:
    whoever forked a run wrote the answer.
    """

    CHAT = "openai"
    POLICY = "policy"
    PYTHON = "python"
    HUMAN = "human"
    GIVEN = "given"


WRITTEN_BY_PEOPLE = (PlayerKind.HUMAN, PlayerKind.GIVEN)
"""The players whose answers people write. They are also the names of their models, and cost nothing."""


POLICY_MODEL = f"{PlayerKind.POLICY.value}/"
"""The prefix of the model name under which the answers of scripted policies are kept."""

PYTHON_MODEL = f"{PlayerKind.PYTHON.value}/"
"""The prefix of the model name under which the answers of Python players are kept."""

PROGRAM_MODELS = (POLICY_MODEL, PYTHON_MODEL)
"""The prefixes of the model names of programs that are played here, and cost nothing."""


def is_program(spec: str) -> bool:
    """Return whether the player of a spec is a program that is played here, not over HTTP.

    It is a scripted policy or a Python player. It gets the view alone, which is not stored, since it follows
    from the turn before.
    """
    return spec.startswith((f"{PlayerKind.POLICY}:", f"{PlayerKind.PYTHON}:"))


def without_rng(spec: str) -> str:
    """Return a spec without the name of its program's random numbers."""
    return re.sub(r"(\?)rng=[\w-]+&|[?&]rng=[\w-]+", r"\1", spec)


def no_prompts(specs: Iterable[str]) -> str:
    """Say of the players of a run that all are programs, which are sent no prompts; empty if they are not."""
    return "no prompts (scripted)" if all(map(is_program, specs)) else ""


def sent_only_view(name: str) -> str:
    """Say of a program with this spec or model name that it gets no prompt; empty if it is no program."""
    for kind, words in ((PlayerKind.POLICY, "a scripted policy"), (PlayerKind.PYTHON, "a Python program")):
        if name.startswith((f"{kind}:", f"{kind}/")):
            return f"{words}: it was sent only its view, no words of a prompt"
    return ""


TURN_QUESTION = 1
"""`Call.question` of a turn's own question."""

FOLLOW_UP_QUESTION = 2
"""`Call.question` of the follow-up question, which shows what was rejected in the first answer."""


class Address(NamedTuple):
    """The address of a call inside its run: turn, agent and attempt, the first attempt being 1."""

    turn: int
    agent: str
    attempt: int = 1

    def __str__(self) -> str:
        """Return the address as it is sent over the wire and written into cassettes."""
        return f"{self.turn}/{self.agent}/{self.attempt}"


class Prompt(NamedTuple):
    """The two texts of a question. All but a chat model get the view as `turn` and an empty `system`."""

    system: str
    turn: str

    @property
    def hash(self) -> str:
        """The SHA-256 of both texts."""
        return sha256(self.system + "\x00" + self.turn)


class ReasoningSource(StrEnum):
    """Where the reasoning of a call comes from: what it shows of the model differs much."""

    NONE = ""
    """There is no reasoning."""
    TRACE = "trace"
    """The model's own reasoning, as it wrote it before its answer."""
    SUMMARY = "summary"
    """A summary of the reasoning, which the provider made."""
    ANSWER = "answer"
    """The field `reasoning` of the answer: what the agent says of itself."""


REFUSED_NOTE = ": the server refuses it"
"""How the note on an answer ends that was asked for without a parameter, in `Reply.error`."""


class CallDetails(NamedTuple):
    """What a provider says about a call besides its answer; None or empty for what it does not say.

    The fields are columns of the table `calls`, which docs/data.md describes.
    """

    tokens_cached: int | None = None
    """How many tokens of the prompt were read from a cache."""
    tokens_cache_written: int | None = None
    """How many tokens of the prompt were written to a cache."""
    tokens_reasoning: int | None = None
    """How many tokens of the answer were reasoning."""
    finish_reason: str = ""
    service_tier: str = ""
    fingerprint: str = ""
    provider_id: str = ""
    """The provider's id of the call."""
    provider_usd: float | None = None
    """What the call cost by the provider's own account, in US dollars."""
    usage: str | None = None
    """The usage as the provider sent it, as JSON."""


class Reply(NamedTuple):
    """What came back from a player. `failure` is the outcome if the call failed, otherwise None."""

    text: str
    model: str
    reasoning: str = ""
    failure: Outcome | None = None
    error: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    milliseconds: int = 0
    tries: int = 1
    """How often the request was sent. Every try but the last ended in a transient error."""
    player: str = ""
    """The spec of the player that replied; empty for a call of an earlier version of hobbes."""
    reasoning_source: ReasoningSource = ReasoningSource.NONE
    details: CallDetails = CallDetails()


class Call(NamedTuple):
    """One call, as it is written down: address, prompt, reply, outcome, and how its answer was found."""

    address: Address
    prompt: Prompt
    reply: Reply
    outcome: Outcome
    found_as: FoundAs
    question: int = TURN_QUESTION
    """TURN_QUESTION or FOLLOW_UP_QUESTION."""


def make_call(address: Address, prompt: Prompt, question: int, reply: Reply, parsed: ParsedAnswer) -> Call:
    """Return a call as it is kept: with its outcome, and with the answer's own reasoning."""
    return Call(
        address, prompt, _with_its_reasoning(reply, parsed), parsed.outcome, parsed.found_as, question
    )


def _with_its_reasoning(reply: Reply, parsed: ParsedAnswer) -> Reply:
    """Return the reply with the answer's own `reasoning` field, if the server sent no reasoning."""
    said = (parsed.said or {}).get("reasoning")
    if reply.reasoning or not said or not isinstance(said, str):
        return reply
    return reply._replace(reasoning=said, reasoning_source=ReasoningSource.ANSWER)


class Logged(NamedTuple):
    """A turn as it is written down.

    `digest`   the new end of the chain of digests
    `ledgers`  those of the world, which are derived and not hashed
    """

    number: int
    record: TurnRecord
    digest: str
    ledgers: Mapping[str, Any]


class Journal(Protocol):
    """Where a run is written down. The run database has one, and so has a replay."""

    has_all: bool
    """Whether it has all answers, so that no player is asked."""

    def answered(self, turn: int, agent: str, question: int, prompt: Prompt, spec: str) -> Call | None:
        """Return the kept call that answers a question to the player of a spec; None if it must be asked."""

    def free(self, turn: int, agent: str) -> Address:
        """Return the address of this agent's next call, which is the attempt after all that were kept."""

    def read(self, call: Call, parsed: ParsedAnswer) -> None:
        """Compare how the answer of a kept call was read then with how it is read now.

        Only a replay does so; other journals do nothing.
        """

    async def keep(self, *calls: Call) -> None:
        """Write calls down, durably, before their answers are used."""

    def turn(self, turn: Logged) -> None:
        """Write a turn down. After a crash the same turn may be written a second time."""


def last_answer(calls: Sequence[Call], question: int, prompt: Prompt, spec: str) -> Call | None:
    """Return the last call that put this question with this prompt to the player of a spec, None without one.

    An answer that was given stands whoever plays. Calls of earlier versions of hobbes do not say who did.
    """
    players = {spec, PlayerKind.GIVEN, ""}
    same = (call for call in reversed(calls) if (call.question, call.prompt) == (question, prompt))
    return next((call for call in same if call.reply.player in players), None)


KEPT = 100
"""Of how many places a journal in memory keeps the calls."""


class MemoryJournal:
    """A journal that keeps calls in memory, so that no model is asked twice for an answer.

    `place` names what is played, such as the checkpoint that a node starts from, which is unique. Only the
    calls of the last KEPT places are kept, so threads that are never finished take no memory for ever.
    `recorded` has the calls to an agent in a turn that were recorded before.
    """

    has_all = False

    def __init__(
        self,
        place: Callable[[], str],
        recorded: Callable[[int, str], Iterable[Call]] = lambda _turn, _agent: (),
    ) -> None:
        self._place = place
        self._recorded = recorded
        self._calls: dict[str, list[Call]] = {}

    def _of(self, turn: int, agent: str) -> list[Call]:
        """Return the calls to an agent in a turn."""
        kept = self._calls.get(self._place(), ())
        new = (call for call in kept if (call.address.turn, call.address.agent) == (turn, agent))
        return [*self._recorded(turn, agent), *new]

    def answered(self, turn: int, agent: str, question: int, prompt: Prompt, spec: str) -> Call | None:
        """Return the last of the calls that answers, None if it has to be asked."""
        return last_answer(self._of(turn, agent), question, prompt, spec)

    def free(self, turn: int, agent: str) -> Address:
        """Return the address of this agent's next call, after all that were kept."""
        last = max((call.address.attempt for call in self._of(turn, agent)), default=0)
        return Address(turn, agent, last + 1)

    def read(self, call: Call, parsed: ParsedAnswer) -> None:
        """Do nothing: answers are read by the current rules."""

    async def keep(self, *calls: Call) -> None:
        """Keep answers in memory, but for those of people.

        Where a turn is played again, as after a halt, people are asked and failed calls are made again.
        """
        answers = (call for call in calls if call.outcome in DECISIONS)
        kept = (call for call in answers if call.reply.player != PlayerKind.HUMAN)
        self._calls.setdefault(self._place(), []).extend(kept)
        if len(self._calls) > KEPT:
            del self._calls[next(iter(self._calls))]

    def turn(self, turn: Logged) -> None:
        """Do nothing: the checkpoints have the turn."""
