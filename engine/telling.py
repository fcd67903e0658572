"""The facet `Telling` of a world: in words, what agents did, what one knew, and what it wanted to do.

All of it follows from the record. Nothing that is told here is stored, and no agent is sent it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from hobbes.engine.board import join_names
from hobbes.engine.measures import PlayedTurn
from hobbes.engine.record import MESSAGE, Event, Json, JsonObject

I = TypeVar("I")  # noqa: E741  a world's intent

MAX_NAMED = 3
"""How many agents are named; of more, the number is told."""

AGENT = "AGENT"
"""What stands for the name of an agent in the name of an act."""

Deed: TypeAlias = Callable[[Sequence[Event]], str]
"""Tells the events of one type that one agent caused in a turn, in the past tense and without its name."""


Counts: TypeAlias = Counter[str]
"""How often things occurred, by their names."""


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
class Landmark:
    """An event that a reader of a run looks for, such as a capture. The page of a run marks its turns.

    `name` is the word for it, `event` the type of the event, and `facts` what its fields must hold.
    """

    name: str
    event: str
    facts: JsonObject = field(default_factory=dict)

    def is_at(self, event: JsonObject) -> bool:
        """Return whether an event, as JSON, is this landmark."""
        return event["type"] == self.event and all(
            name in event and event[name] == value for name, value in self.facts.items()
        )


@dataclass(frozen=True, slots=True)
class Telling(Generic[I]):
    """How a world is told in words. What it leaves out is told by its names and values.

    events         what each type of event says: its own fields, a colon, what happened. A field that names an
                   actor says to whom it happened, or, if it is called `from`, from whom something came. A
                   message is an event of the type `message`, with `text` and, where it is not to all, `to`
    codes          what each code of a rejection or correction means; the rules, and an observer's, give no
                   other. Those of reading are in `engine.answer`, those of reflections in `engine.reflection`
    deeds          how the events of each type are told, the most important type first. A type that is the
                   cause of another one is told together with the events that it caused. Events that are told
                   in no words are left out
    causes         the types of events that only say why another event of the same agent happened, each with
                   the type of that one; a trace tells both as one deed
    called         what an event of a type that is a cause is called, such as `missed high five`
    more(events, of_turn)
                   what to add to how the events of one type are told, by all events of the turn: readers are
                   told it, agents are not; empty if there is nothing to add
    landmarks      the events that a reader of a run looks for, the most important one first
    in_short(counts, first, now)
                   what happened in a run, in at most two sentences: by how often each landmark and each other
                   type of event occurred, the first turn, and the state now. By default, it is the number of
                   the landmarks
    knew(view)     what a view told its agent that mattered
    in_truth(state, agent)
                   for each other one that the agent saw do something else to it in the last turn, what that
                   was: readers are told it, the agent is not
    meant(intent)  what an agent wanted to do, one thing each, in words such as `raid [0,1] of miner-02`
    acts(intent)   the acts of a decision that matter to a reader, in words such as `raid`. An act on somebody
                   may stand there a second time, with its object: `attack`, `attack unit-b`. Probes count the
                   answers that have each
    act_names      every act that decisions may have; one on somebody has AGENT for its object: `attack AGENT`
    held           what is counted of each agent after a turn, so that a trace tells how it changes: by its
                   name, the count of each agent in the JSON of a state
    """

    events: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, str] = field(default_factory=dict)
    deeds: Mapping[str, Deed] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)
    more: Callable[[Sequence[Event], Sequence[Event]], str] = lambda _events, _of_turn: ""
    landmarks: tuple[Landmark, ...] = ()
    in_short: Callable[[Counts, PlayedTurn[Any, I], Any], Sequence[str]] | None = None
    knew: Callable[[Mapping[str, Any]], Knew] = lambda _: Knew()
    in_truth: Callable[[Any, str], Mapping[str, str]] = lambda _state, _agent: {}
    meant: Callable[[I], Sequence[str]] = lambda _: ()
    acts: Callable[[I], tuple[str, ...]] = lambda _: ()
    act_names: tuple[str, ...] = ()
    held: Mapping[str, Callable[[Any], Mapping[str, int]]] = field(default_factory=dict)

    def fields_of(self, kind: str) -> list[str]:
        """Return the names of the fields that are declared for a type of event."""
        return [*filter(None, self.events.get(kind, "").partition(":")[0].split(", "))]

    def name_of(self, kind: str) -> str:
        """Return what an event of a type is called."""
        return self.called.get(kind, kind)

    @property
    def event_names(self) -> list[str]:
        """What events are called: the names of landmarks, and all types."""
        return [*dict.fromkeys([*(mark.name for mark in self.landmarks), *self.events])]

    def is_called(self, name: str, event: JsonObject) -> bool:
        """Return whether an event, as JSON, has a name: that of a landmark, or else of its type."""
        mark = next((mark for mark in self.landmarks if mark.name == name), None)
        return mark.is_at(event) if mark else event["type"] == name

    def deeds_told(self, events: Iterable[Event], of_turn: Sequence[Event]) -> list[Done]:
        """Return what one agent did in a turn, type by type, in words; its messages are left out.

        The types are in the order of `deeds`. `of_turn` are the events of all agents in the turn.

        Events of another version of the rules, which lack a field of today's, are told by their names and
        values.
        """
        by_type: dict[str, list[Event]] = {}
        for event in events:
            if event.type != MESSAGE:
                by_type.setdefault(event.type, []).append(event)
        for cause, effect in self.causes.items():
            if cause in by_type:
                by_type[cause] += by_type.pop(effect, [])
        told, order = [], [*self.deeds]
        for kind in sorted(by_type, key=lambda kind: order.index(kind) if kind in order else len(order)):
            of_kind = by_type[kind]
            is_known = all(event.facts.keys() >= {*self.fields_of(event.type)} for event in of_kind)
            tell = self.deeds.get(kind, in_plain_words) if is_known else in_plain_words
            more = self.more(of_kind, of_turn) if is_known else ""
            told.append(Done(kind, f"{tell(of_kind)}{more}", of_kind))
        return [done for done in told if done.words]


def in_plain_words(events: Sequence[Event]) -> str:
    """Tell events whose world has no words for them: their type and what their fields say."""
    told = [", ".join(f"{name} {value}" for name, value in event.facts.items()) for event in events]
    return f"{events[0].type.replace('_', ' ')} {'; '.join(told)}".rstrip()


def counted(n: int, thing: str, things: str | None = None) -> str:
    """Return a number with the word for what is counted: `1 plot`, `3 plots`, `2 misses`, `1,000 plots`."""
    return f"{n:,} {thing if n == 1 else things or several(thing)}"


def several(thing: str) -> str:
    """Return the plural of a word: `plots`, `misses`."""
    return f"{thing}es" if thing.endswith("s") else f"{thing}s"


def in_numbers(counts: Counts, things: Mapping[str, str]) -> str:
    """Return how often things occurred, in a sentence: the first one in any case, the others if they did.

    `things` has the word for each by its name in `counts`.
    """
    first, *_ = things
    none = [] if counts[first] else [f"No {several(things[first])}"]
    told = [counted(counts[name], thing) for name, thing in things.items() if counts[name]]
    return f"{', '.join([*none, *told])}."


def few(agents: Sequence[str]) -> str:
    """Return agents by their names, or their number if they are many."""
    return join_names(agents) if len(agents) <= MAX_NAMED else counted(len(agents), "agent")


def all_of(n: int, thing: str) -> str:
    """Return all of what is counted: `the only pair`, `all 8 pairs`."""
    return f"the only {thing}" if n == 1 else f"all {counted(n, thing)}"


def quoted(text: Json) -> str:
    """Return words that somebody said, in quotation marks."""
    return f"“{text}”"


def said(messages: Mapping[str, str]) -> list[str]:
    """Return messages by addressee as what an agent wants to do."""
    return [f"write to {to}: {quoted(text)}" for to, text in messages.items() if text]
