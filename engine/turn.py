"""One turn of any world: its record, and the pure steps that make it.

Whatever plays a turn calls these steps: the LangGraph nodes, `hobbes step`, `prompts render`, `verify`,
tournaments and tests. Parsed answers and an observer's ruling go in, and a record comes out. Two rules hold:

1. The same world, agents, seed, settings and answers give the same record, to the last byte.
2. Each part of the record is declared once, in `TurnRecord`, with the layer that makes it. Hashing, storing,
   replay and verification all follow that declaration.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeAlias, get_args

from hobbes.engine.answer import FAILURE_CODES, READING_CODES, ParsedAnswer
from hobbes.engine.measures import PlayedTurn
from hobbes.engine.memory import EMPTY_MEMORY, Memory, feedback_by_agent
from hobbes.engine.record import Draw, Drop, Event, JsonObject, Mend, canonical
from hobbes.engine.reflection import CODES as REFLECTION_CODES
from hobbes.engine.reflection import Reflection, fields_of
from hobbes.engine.world import OBSERVER, AnyWorld, I, Resolved, S, Setting

RECORD_VERSION = 5
"""The version of the record. It grows whenever a part is added, removed, renamed or reshaped, and whenever
the same text may be read as another answer."""

Layer: TypeAlias = Literal["prompt", "answer", "reading", "validation", "engine", "memory"]
"""The layers that make the parts of a turn, in the order in which they run."""


def _as_is(value: Any) -> Any:  # noqa: ANN401  plain JSON already
    return value


def as_list(elements: Iterable[Any]) -> list[JsonObject]:
    """Return drops, mends, events or draws as plain JSON."""
    return [element.to_json() for element in elements]


@dataclass(frozen=True, slots=True)
class Part:
    """How a part of the record is declared: the layer that makes it, and how it becomes JSON and back."""

    layer: Layer
    dump: Callable[[Any], Any] = _as_is
    load: Callable[[Any], Any] = _as_is


@dataclass(frozen=True, eq=False)
class TurnRecord:
    """The record of one turn, which is hashed into the chain: no times, attempts, ids or tokens.

    The parts stand in the order in which they are made. `outcomes` has the outcome of each agent's call;
    `intents` and `state` are the world's own values as plain JSON. Records are compared by their `text`.
    """

    outcomes: Annotated[Mapping[str, str], Part("reading")]
    intents: Annotated[Mapping[str, JsonObject], Part("validation")]
    drops: Annotated[
        tuple[Drop, ...],
        Part("validation", as_list, lambda data: tuple(Drop(**drop) for drop in data)),
    ]
    mends: Annotated[
        tuple[Mend, ...],
        Part("validation", as_list, lambda data: tuple(Mend(**mend) for mend in data)),
    ]
    state: Annotated[JsonObject, Part("engine")]
    events: Annotated[
        tuple[Event, ...],
        Part("engine", as_list, lambda data: tuple(map(Event.from_json, data))),
    ]
    draws: Annotated[
        tuple[Draw, ...],
        Part("engine", as_list, lambda data: tuple(map(Draw.from_json, data))),
    ]
    memories: Annotated[
        Mapping[str, Memory],
        Part(
            "memory",
            lambda memories: {agent: memory.to_json() for agent, memory in memories.items()},
            lambda data: {agent: Memory.from_json(memory) for agent, memory in data.items()},
        ),
    ]

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain JSON, with its version. The object is shared: do not change it."""
        return self._json

    @cached_property
    def _json(self) -> dict[str, Any]:
        parts = {name: part.dump(getattr(self, name)) for name, part in self.parts().items()}
        return {"version": RECORD_VERSION, **parts}

    @classmethod
    def from_json(cls, data: JsonObject) -> "TurnRecord":
        """Return the record of its JSON.

        Raise LookupError, TypeError, ValueError or AttributeError for data of another shape.
        """
        values: Mapping[str, Any] = data
        return cls(**{name: part.load(values[name]) for name, part in cls.parts().items()})

    @classmethod
    @cache
    def parts(cls) -> Mapping[str, Part]:
        """Return the declaration of each part by name, in the order in which the parts are made."""
        return {declared.name: part for declared in fields(cls) for part in get_args(declared.type)[1:]}

    @cached_property
    def text(self) -> str:
        """The canonical text of the record, which is what is hashed and stored."""
        return canonical(self._json)


@dataclass(frozen=True, eq=False)
class Judged(Generic[I]):
    """The judged answers of a turn: outcomes of calls, intents of agents, rejections and corrections."""

    world: AnyWorld
    outcomes: Mapping[str, str]
    intents: Mapping[str, I]
    drops: tuple[Drop, ...] = ()
    mends: tuple[Mend, ...] = ()

    @cached_property
    def intents_json(self) -> Mapping[str, JsonObject]:
        """The intents as plain JSON, for the graph state and for the record. It must not be changed."""
        return {agent: self.world.intent.to_json(intent) for agent, intent in self.intents.items()}

    def to_json(self) -> dict[str, Any]:
        """Return the judged answers as plain JSON."""
        return {
            "outcomes": dict(self.outcomes),
            "intents": self.intents_json,
            "drops": as_list(self.drops),
            "mends": as_list(self.mends),
        }

    @classmethod
    def from_json(cls, world: AnyWorld, data: Mapping[str, Any]) -> "Judged[Any]":
        """Return the judged answers of their JSON. Raise ValueError for intents of another shape."""
        return cls(
            world,
            data["outcomes"],
            {agent: world.intent.from_json(intent) for agent, intent in data["intents"].items()},
            tuple(Drop(**drop) for drop in data["drops"]),
            tuple(Mend(**mend) for mend in data["mends"]),
        )


class Turn(NamedTuple, Generic[S, I]):
    """One turn that has been played: the world's own values, and the memories after it."""

    world: AnyWorld
    before: S
    judged: Judged[I]
    resolved: Resolved[S]
    memories: Mapping[str, Memory]

    @property
    def played(self) -> PlayedTurn[S, I]:
        """The turn in the form that measures read."""
        resolved = self.resolved
        return PlayedTurn(self.before, self.judged.intents, resolved.state, resolved.events, resolved.draws)

    @property
    def record(self) -> TurnRecord:
        """The record of the turn, which is hashed."""
        return TurnRecord(
            outcomes=self.judged.outcomes,
            intents=self.judged.intents_json,
            drops=self.judged.drops,
            mends=(*self.judged.mends, *self.resolved.mends),
            state=self.world.state.to_json(self.resolved.state),
            events=self.resolved.events,
            draws=self.resolved.draws,
            memories=self.memories,
        )


def view_of(world: AnyWorld, state: Any, memories: Mapping[str, Memory], agent: str) -> JsonObject:  # noqa: ANN401
    """Return the view of one agent, with its own memory."""
    return views(world, state, memories, (agent,))[agent]


def views(
    world: AnyWorld,
    state: Any,  # noqa: ANN401  a world's own state
    memories: Mapping[str, Memory],
    agents: Iterable[str] | None = None,
) -> dict[str, JsonObject]:
    """Return the views of these agents, or of all that act this turn, each with its own memory."""
    fields = fields_of(world.action(state.setting))
    sentences = meanings(world) if state.config.feedback else None
    return {
        agent: world.remembering(
            world.observe(state, agent),
            memories.get(agent, EMPTY_MEMORY).as_shown(fields, sentences),
        )
        for agent in (world.actors(state) if agents is None else agents)
    }


def answer_fields(world: AnyWorld, setting: Setting[Any], asked: str) -> frozenset[str]:
    """Return the names of the fields that the answer of an agent, or of the observer, may have."""
    if asked == OBSERVER and world.observer is not None:
        return fields_of(world.observer.ruling(()))
    return fields_of(world.action(setting))


def judge(world: AnyWorld, state: Any, answers: Mapping[str, ParsedAnswer]) -> Judged[Any]:  # noqa: ANN401
    """Validate the answers of a turn. The drops and mends of reading come before those of the rules.

    Agents are judged in the order of the world's actors, in whatever order their answers came. Raise
    KeyError for an answer of somebody who does not act now.
    """
    outcomes, intents = {}, {}
    drops: list[Drop] = []
    mends: list[Mend] = []
    place = {agent: k for k, agent in enumerate(world.actors(state))}
    for agent in sorted(answers, key=place.__getitem__):
        answer = answers[agent]
        judged = world.validate(state, agent, answer.said)
        outcomes[agent], intents[agent] = answer.outcome.value, judged.intent
        drops += answer.drops + judged.drops
        mends += answer.mends + judged.mends
    return Judged(world, outcomes, intents, tuple(drops), tuple(mends))


def question_of(world: AnyWorld, state: Any, intents: Mapping[str, Any]) -> JsonObject | None:  # noqa: ANN401
    """Return the observer's view, with the requests of this turn; None if no agent requests anything."""
    requests = world.observer.requests(state, intents) if world.observer else ()
    if not requests:
        return None
    return {
        "world": world.name,
        "turn": state.turn,
        world.viewer_key: OBSERVER,
        "requests": list(requests),
    }


def rule(world: AnyWorld, state: Any, judged: Judged[Any], ruling: ParsedAnswer | None) -> Judged[Any]:  # noqa: ANN401
    """Put the observer's ruling into the intents. Change nothing if a player had to rule and did not."""
    if world.observer is None or question_of(world, state, judged.intents) is None:
        return judged
    if ruling is None and world.observer.asks(state):
        return judged
    ruled = world.observer.rule(state, judged.intents, ruling.said if ruling else None)
    # The outcome of the observer's call is left out, so that a person and a model that rule alike give the
    # same digest.
    return replace(
        judged,
        intents=ruled.intents,
        drops=(*judged.drops, *(ruling.drops if ruling else ()), *ruled.drops),
        mends=(*judged.mends, *(ruling.mends if ruling else ()), *ruled.mends),
    )


def meanings(world: AnyWorld) -> Mapping[str, str]:
    """Return the sentence of each code in a run: of rejections, corrections and scripted rulings."""
    reasons = world.observer.reasons if world.observer else {}
    codes = {**READING_CODES, **FAILURE_CODES, **REFLECTION_CODES}
    return {**codes, **world.telling.codes, **reasons}


def remember(
    state: Any,  # noqa: ANN401  a world's own state
    memories: Mapping[str, Memory],
    judged: Judged[Any],
    resolved: Resolved[Any],
) -> dict[str, Memory]:
    """Return the memory of every agent after a turn: its reflection, and feedback on its answer.

    The memory of an agent that acts but gave no answer changes as after a failed call.
    """
    mends = (*judged.mends, *resolved.mends)
    has_feedback = state.config.feedback and (judged.drops or mends)  # most turns have none
    feedback = feedback_by_agent(judged.drops, mends) if has_feedback else {}
    after = dict(memories)
    for agent in judged.world.actors(state):
        intent = judged.intents.get(agent)
        reflection = intent.reflection if intent else Reflection()
        after[agent] = after.get(agent, EMPTY_MEMORY).after(reflection, feedback.get(agent, ()))
    return after


def resolve(
    world: AnyWorld,
    state: Any,  # noqa: ANN401  a world's own state
    memories: Mapping[str, Memory],
    judged: Judged[Any],
) -> Turn[Any, Any]:
    """Return the turn that these judged answers lead to. The agents' reflections become their memories."""
    resolved = world.resolve(state, judged.intents)
    return Turn(world, state, judged, resolved, remember(state, memories, judged, resolved))


def play_turn(
    world: AnyWorld,
    state: Any,  # noqa: ANN401  a world's own state
    memories: Mapping[str, Memory],
    answers: Mapping[str, ParsedAnswer],
    ruling: ParsedAnswer | None = None,
) -> Turn[Any, Any]:
    """Play one turn: validate the answers, apply the observer's ruling, resolve, update the memories."""
    return resolve(world, state, memories, rule(world, state, judge(world, state, answers), ruling))
