"""How a world is told in words: what agents did, what one of them knew, and what it wanted to do.

All of it follows from the record. Nothing that is told here is stored, and no agent is sent it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from hobbes.engine.record import Event, Json

I = TypeVar("I")  # noqa: E741  a world's intent

Deed: TypeAlias = Callable[[Sequence[Event]], str]
"""Tells the events of one type that one agent caused in a turn, in the past tense and without its name."""


class Heard(NamedTuple):
    """Words that an agent read at the start of a turn, written in the one before; without `to`, to all."""

    author: str
    to: str | None
    text: str


class Befell(NamedTuple):
    """What another did to an agent, as the agent saw it. The words follow the name of the other.

    `harm` says that it was directed against the agent: a card tells this first.
    """

    by: str
    words: str
    harm: bool = False


class Standing(NamedTuple):
    """What everybody has, as an agent saw it: a row for each, which begins with the name."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str | int]]


@dataclass(frozen=True, slots=True)
class Knew:
    """What an agent's view told it that mattered.

    `befell` is what others did to it since its last turn, None if its world does not tell that. `gained` says
    what it gained and lost since then, and `has` what it has now.
    """

    heard: Sequence[Heard] = ()
    befell: Sequence[Befell] | None = None
    gained: Sequence[str] = ()
    has: str = ""
    standing: Standing | None = None

    @property
    def account(self) -> Sequence[str]:
        """What the agent gained and lost, and what it has now; empty if its world tells neither."""
        return [*(self.gained or ["nothing"]), f"now {self.has}"] if self.has else self.gained


class Done(NamedTuple):
    """What an agent did in a turn, of one type, in words that follow its name, and the events of that."""

    type: str
    words: str
    events: Sequence[Event]


@dataclass(frozen=True, slots=True)
class Telling(Generic[I]):
    """How a world is told in words. What it leaves out is told by its names and values.

    deeds          how the events of each type are told, the most important type first. A type that is the
                   cause of another one (`World.causes`) is told together with the events that it caused
    knew(view)     what a view told its agent that mattered
    meant(intent)  what an agent wanted to do, one thing each, in words such as `raid [0,1] of miner-02`
    in_truth(state, agent)
                   for each other one that the agent saw do something else to it in the last turn, what that
                   was: readers are told it, the agent is not
    more(events, of_turn)
                   what to add to how the events of one type are told, by all events of the turn: readers are
                   told it, agents are not; empty if there is nothing to add
    between        what a table of all pairs of agents counts of the events of each type in which one names
                   another, such as `how often the row raided the column`
    causes         what an event of each type that is the cause of another one is called, such as `missed high
                   five`
    """

    deeds: Mapping[str, Deed] = field(default_factory=dict)
    knew: Callable[[Mapping[str, Any]], Knew] = lambda _: Knew()
    meant: Callable[[I], Sequence[str]] = lambda _: ()
    in_truth: Callable[[Any, str], Mapping[str, str]] = lambda _state, _agent: {}
    more: Callable[[Sequence[Event], Sequence[Event]], str] = lambda _events, _of_turn: ""
    between: Mapping[str, str] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)


def in_plain_words(events: Sequence[Event]) -> str:
    """Tell events whose world has no words for them: their type and what their fields say."""
    told = [", ".join(f"{name} {value}" for name, value in event.facts.items()) for event in events]
    return f"{events[0].type.replace('_', ' ')} {'; '.join(told)}".rstrip()


def counted(n: int, thing: str, things: str | None = None) -> str:
    """Return a number with the word for what is counted: `1 plot`, `3 plots`, `2 misses`, `1,000 plots`."""
    return f"{n:,} {thing if n == 1 else things or (f'{thing}es' if thing.endswith('s') else f'{thing}s')}"


def all_of(n: int, thing: str) -> str:
    """Return all of what is counted: `the only pair`, `all 8 pairs`."""
    return f"the only {thing}" if n == 1 else f"all {counted(n, thing)}"


def quoted(text: Json) -> str:
    """Return words that somebody said, in quotation marks."""
    return f"“{text}”"


def said(messages: Mapping[str, str]) -> list[str]:
    """Return messages by addressee as what an agent wants to do."""
    return [f"write to {to}: {quoted(text)}" for to, text in messages.items() if text]
