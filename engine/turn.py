"""One turn of any world: its record, and the pure steps that make it.

Everybody who plays a turn calls these steps: the LangGraph nodes, `hobbes step`, `prompts render`, `verify`,
tournaments and tests. Parsed answers and an observer's ruling go in, a record comes out. Two laws hold:

1. The same world, agents, seed, settings and answers give the same record, to the last byte.
2. Each part of the record is declared once, in `TurnRecord`, with the layer that makes it and the tables
   that tell it. Hashing, the database, replay, verification, exports and docs/data.md follow from there.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Annotated, Any, Generic, Literal, TypeAlias, get_args

from engine.answer import ParsedAnswer
from engine.memory import EMPTY_MEMORY, Memory
from engine.record import Draw, Drop, Event, JsonObject, Mend, canonical, message_of, sha256
from engine.reflection import REPORTS
from engine.world import (
    OBSERVER,
    AnyWorld,
    I,
    Intent,
    Played,
    Resolved,
    S,
    Setting,
    hashed_settings,
)

RECORD_VERSION = 2
"""The version of the record's shape; it changes whenever a part is added, removed, renamed or reshaped."""

Layer: TypeAlias = Literal["prompt", "answer", "reading", "validation", "engine", "memory"]
"""What makes a part of a turn, in the order in which things happen."""

Column: TypeAlias = Literal["text", "integer", "json"]
"""What a column holds; `json` is JSON as text."""

Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the run database that tells a part of the record.

    `columns` and `key` come after the columns `run` and `turn`, which every table has; `rows` lists the rows
    of a part, each in the order of `columns`.
    """

    name: str
    columns: Mapping[str, Column]
    key: tuple[str, ...]
    rows: Callable[[Any], Iterable[Row]]
    meaning: str


def _as_is(value: Any) -> Any:  # noqa: ANN401  plain JSON already
    return value


def as_list(elements: Iterable[Any]) -> list[JsonObject]:
    """Return drops, mends, events or draws as plain JSON."""
    return [element.to_json() for element in elements]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the record: the layer that makes it, the tables that tell it, and how it becomes JSON.

    A record of an earlier version may lack a part; then it is read as `empty`.
    """

    layer: Layer
    tables: tuple[Table, ...] = ()
    dump: Callable[[Any], Any] = _as_is
    load: Callable[[Any], Any] = _as_is
    empty: Callable[[], Any] = dict


INTENTS = Table(
    "intents",
    {"agent": "text", "intent": "json"},
    ("agent",),
    lambda intents: intents.items(),
    "what each agent intended, after validation",
)
REPORTS_GIVEN = Table(
    "reports",
    {"rater": "text", "ratee": "text", "kind": "text", "score": "integer"},
    ("rater", "ratee", "kind"),
    lambda intents: [
        (rater, ratee, kind, score)
        for rater, intent in intents.items()
        for kind in REPORTS
        for ratee, score in intent["reflection"][kind].items()
    ],
    "the ratings that agents gave each other in the turn, from 1 to 10",
)
DROPS = Table(
    "drops",
    {"n": "integer", "agent": "text", "stage": "text", "code": "text", "said": "json", "detail": "text"},
    ("n",),
    lambda drops: [(n, d.agent, d.stage, d.code, d.said, d.detail) for n, d in enumerate(drops)],
    "the rejections: what was refused of an answer, and why",
)
MENDS = Table(
    "mends",
    {"n": "integer", "agent": "text", "stage": "text", "code": "text", "said": "json", "kept": "json"},
    ("n",),
    lambda mends: [(n, m.agent, m.stage, m.code, m.said, m.kept) for n, m in enumerate(mends)],
    "the corrections: what was changed in an answer, and what was kept",
)
EVENTS = Table(
    "events",
    {"n": "integer", "type": "text", "agent": "text", "event": "json"},
    ("n",),
    lambda events: [(n, e.type, e.agent, e.to_json()) for n, e in enumerate(events)],
    "what happened in the world",
)
MESSAGES = Table(
    "messages",
    {"n": "integer", "sender": "text", "receiver": "text", "text": "text"},
    ("n",),
    lambda events: [(n, *told) for n, told in enumerate(filter(None, map(message_of, events)))],
    "the messages that agents wrote to one another",
)
DRAWS = Table(
    "draws",
    {
        "n": "integer",
        "event": "text",
        "subject": "json",
        "participants": "json",
        "digest": "text",
        "winner": "text",
    },
    ("n",),
    lambda draws: [(n, d.event, d.subject, d.participants, d.digest, d.winner) for n, d in enumerate(draws)],
    "the random draws: who took part, the digest that decided, and who won",
)
MEMORIES = Table(
    "memories",
    {"agent": "text", "memory": "json"},
    ("agent",),
    lambda memories: [(agent, memory.to_json()) for agent, memory in memories.items()],
    "what each agent keeps after the turn: notes, summaries, reports",
)


@dataclass(frozen=True, eq=False)
class TurnRecord:
    """One turn, as it is hashed into the chain: no times, attempts, ids or tokens. Its text is its identity.

    The parts stand in the order in which they are made. `outcomes` says how the call of each agent that was
    asked ended; `intents` and `state` are the world's own values as plain JSON.
    """

    outcomes: Annotated[Mapping[str, str], Part("reading")]
    intents: Annotated[Mapping[str, JsonObject], Part("validation", (INTENTS, REPORTS_GIVEN))]
    drops: Annotated[
        tuple[Drop, ...],
        Part("validation", (DROPS,), as_list, lambda told: tuple(Drop(**drop) for drop in told), tuple),
    ]
    mends: Annotated[
        tuple[Mend, ...],
        Part("validation", (MENDS,), as_list, lambda told: tuple(Mend(**mend) for mend in told), tuple),
    ]
    state: Annotated[JsonObject, Part("engine")]
    events: Annotated[
        tuple[Event, ...],
        Part("engine", (EVENTS, MESSAGES), as_list, lambda told: tuple(map(Event.from_json, told)), tuple),
    ]
    draws: Annotated[
        tuple[Draw, ...],
        Part("engine", (DRAWS,), as_list, lambda told: tuple(map(Draw.from_json, told)), tuple),
    ]
    memories: Annotated[
        Mapping[str, Memory],
        Part(
            "memory",
            (MEMORIES,),
            lambda memories: {agent: memory.to_json() for agent, memory in memories.items()},
            lambda told: {agent: Memory(**memory) for agent, memory in told.items()},
        ),
    ]

    @cached_property
    def told(self) -> dict[str, Any]:
        """The record as plain JSON, with its version; it is made once and never changed."""
        parts = {name: part.dump(getattr(self, name)) for name, part in self.parts().items()}
        return {"version": RECORD_VERSION, **parts}

    @classmethod
    def from_json(cls, data: JsonObject) -> "TurnRecord":
        """Return the record of its JSON, of this version or an earlier one.

        Raise LookupError, TypeError, ValueError or AttributeError for data of another shape.
        """
        told: Mapping[str, Any] = upgraded(data)
        parts = cls.parts().items()
        return cls(**{name: part.load(told[name]) if name in told else part.empty() for name, part in parts})

    @classmethod
    @cache
    def parts(cls) -> Mapping[str, Part]:
        """Return the declaration of each part, in the order in which the parts are made."""
        return {one.name: part for one in fields(cls) for part in get_args(one.type)[1:]}

    @classmethod
    def tables(cls) -> tuple[Table, ...]:
        """Return the tables that tell a record."""
        return tuple(table for part in cls.parts().values() for table in part.tables)

    @cached_property
    def text(self) -> str:
        """The canonical text of the record, which is what is hashed and stored."""
        return canonical(self.told)


def upgraded(data: JsonObject) -> JsonObject:
    """Return the JSON of a record of an earlier version in the shape of this one.

    Version 1 had no version number, called memories minds, and did not hold how calls ended.
    """
    if "version" in data:
        return data
    known: Mapping[str, Any] = data
    memories = {
        agent: {("notes" if name == "memory" else name): value for name, value in mind.items()}
        for agent, mind in known["minds"].items()
    }
    return {**{name: value for name, value in known.items() if name != "minds"}, "memories": memories}


def first_digest(world: AnyWorld, setting: Setting[Any]) -> str:
    """Return the first link of a run's chain: what is played, and nothing of how it is carried out."""
    return sha256(
        canonical(
            {
                "world": world.name,
                "rules_version": world.rules_version,
                "agents": setting.agents,
                "seed": setting.seed,
                "settings": hashed_settings(setting.config),
            }
        )
    )


def link(previous: str, record: TurnRecord) -> str:
    """Return the next link of the chain of digests."""
    return sha256(previous + record.text)


@dataclass(frozen=True, slots=True)
class Judged(Generic[I]):
    """What became of the answers of a turn: how calls ended, what agents intend, rejections, corrections."""

    outcomes: Mapping[str, str]
    intents: Mapping[str, I]
    drops: tuple[Drop, ...] = ()
    mends: tuple[Mend, ...] = ()

    def to_json(self, world: AnyWorld) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "outcomes": dict(self.outcomes),
            "intents": {agent: world.intent.to_json(intent) for agent, intent in self.intents.items()},
            "drops": as_list(self.drops),
            "mends": as_list(self.mends),
        }

    @classmethod
    def from_json(cls, world: AnyWorld, data: Mapping[str, Any]) -> "Judged[Any]":
        """Return it from plain JSON; raise ValueError, in one line, for intents of another shape."""
        return cls(
            data["outcomes"],
            {agent: world.intent.from_json(intent) for agent, intent in data["intents"].items()},
            tuple(Drop(**drop) for drop in data["drops"]),
            tuple(Mend(**mend) for mend in data["mends"]),
        )


@dataclass(frozen=True, slots=True)
class Turn(Generic[S, I]):
    """One turn, played: the world's own values, and the memories after it."""

    world: AnyWorld
    before: S
    judged: Judged[I]
    resolved: Resolved[S]
    memories: Mapping[str, Memory]

    @property
    def played(self) -> Played[S, I]:
        """The turn as measures read it."""
        resolved = self.resolved
        return Played(self.before, self.judged.intents, resolved.state, resolved.events, resolved.draws)

    @property
    def record(self) -> TurnRecord:
        """The turn as it is hashed."""
        return TurnRecord(
            outcomes=self.judged.outcomes,
            intents={one: self.world.intent.to_json(intent) for one, intent in self.judged.intents.items()},
            drops=self.judged.drops,
            mends=(*self.judged.mends, *self.resolved.mends),
            state=self.world.state.to_json(self.resolved.state),
            events=self.resolved.events,
            draws=self.resolved.draws,
            memories=self.memories,
        )


def views(world: AnyWorld, state: Any, memories: Mapping[str, Memory]) -> dict[str, JsonObject]:  # noqa: ANN401
    """Return what each agent that acts now sees, with its own memory under `memory`."""
    return {agent: view_of(world, state, memories, agent) for agent in world.actors(state)}


def view_of(world: AnyWorld, state: Any, memories: Mapping[str, Memory], agent: str) -> JsonObject:  # noqa: ANN401
    """Return what one agent sees, with its own memory under `memory`."""
    return {**world.observe(state, agent), "memory": memories.get(agent, EMPTY_MEMORY).to_json()}


def judge(world: AnyWorld, state: Any, answers: Mapping[str, ParsedAnswer]) -> Judged[Any]:  # noqa: ANN401
    """Validate the answers of a turn; what reading refused or changed stands before what the rules do."""
    outcomes, intents = {}, {}
    drops: list[Drop] = []
    mends: list[Mend] = []
    for agent, answer in answers.items():
        judged = world.validate(state, agent, answer.said)
        outcomes[agent], intents[agent] = answer.outcome.value, judged.intent
        drops += [*answer.drops, *judged.drops]
        mends += [*answer.mends, *judged.mends]
    return Judged(outcomes, intents, tuple(drops), tuple(mends))


def question_of(world: AnyWorld, state: Any, intents: Mapping[str, Any]) -> JsonObject | None:  # noqa: ANN401
    """Return what the observer of a world is asked this turn, as its view; None if nobody asks anything."""
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
    """Put the observer's ruling into the intents; nothing changes if a player was to rule and did not."""
    if world.observer is None or question_of(world, state, judged.intents) is None:
        return judged
    if ruling is None and world.observer.asks(state):
        return judged
    ruled = world.observer.rule(state, judged.intents, ruling.said if ruling else None)
    # How the observer's call ended is not part of the record: who observes changes no digest.
    return Judged(
        judged.outcomes,
        ruled.intents,
        (*judged.drops, *(ruling.drops if ruling else ()), *ruled.drops),
        (*judged.mends, *(ruling.mends if ruling else ()), *ruled.mends),
    )


def remember(memories: Mapping[str, Memory], intents: Mapping[str, Intent]) -> dict[str, Memory]:
    """Return everybody's memory after a turn."""
    after = dict(memories)
    for agent, intent in intents.items():
        after[agent] = after.get(agent, EMPTY_MEMORY).after(intent.reflection)
    return after


def resolve(
    world: AnyWorld,
    state: Any,  # noqa: ANN401  a world's own state
    memories: Mapping[str, Memory],
    judged: Judged[Any],
) -> Turn[Any, Any]:
    """Resolve the intents of a turn; what agents said beside their moves becomes their memory."""
    resolved = world.resolve(state, judged.intents)
    return Turn(world, state, judged, resolved, remember(memories, judged.intents))


def play(
    world: AnyWorld,
    state: Any,  # noqa: ANN401  a world's own state
    memories: Mapping[str, Memory],
    answers: Mapping[str, ParsedAnswer],
    ruling: ParsedAnswer | None = None,
) -> Turn[Any, Any]:
    """Play one turn: validate, let the observer rule, resolve, remember."""
    return resolve(world, state, memories, rule(world, state, judge(world, state, answers), ruling))
