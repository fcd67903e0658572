"""The contract that every world keeps.

A world is one value that holds plain functions over frozen dataclasses; there is no base class to inherit.
All code outside `engine` uses a world through this value only.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SkipValidation,
    TypeAdapter,
    ValidationError,
)

from hobbes.engine.measures import Measures, by_scores
from hobbes.engine.names import did_you_mean
from hobbes.engine.picture import Picture
from hobbes.engine.policy import Policies
from hobbes.engine.record import Draw, Drop, Event, Json, JsonObject, Mend
from hobbes.engine.reflection import Reflection, bounded_reflection
from hobbes.engine.schemas import object_of, values_of
from hobbes.engine.telling import Telling

NOT_HASHED = "not hashed"
"""Marks a setting that says how a run is carried out, not what is played; it changes no digest."""


def _no_fraction(given: object) -> object:
    """Refuse a chance that is written as a fraction: JSON of other languages cannot tell 1.0 from 1."""
    if isinstance(given, float):
        raise ValueError("write a percentage as a whole number from 0 to 100 (15), not a fraction (0.15)")  # noqa: TRY004  pydantic reports no TypeError
    return given


Percent: TypeAlias = Annotated[int, BeforeValidator(_no_fraction), Field(ge=0, le=100)]
"""A chance, in every world: a percentage, as a whole number."""


class Config(BaseModel):
    """The settings that every world has; each world adds its own. Unknown names are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    rounds: int = Field(ge=1, le=100_000, description="turns to play")
    feedback: bool = Field(
        default=True,
        description="whether an agent is told what was rejected and corrected in its last answer",
    )
    on_failure: Annotated[Literal["default", "halt"], NOT_HASHED] = Field(
        "default", description="what to do after a failed call: take the default action, or halt the run"
    )
    reask: Annotated[int, NOT_HASHED] = Field(
        0, ge=0, le=1, description="1: after a rejection, ask the agent one follow-up question per turn"
    )
    seconds_per_turn: Annotated[int, NOT_HASHED] = Field(
        0, ge=0, le=10_000_000, description="how long a person may take for an answer; 0: as long as it takes"
    )
    taint_share: Annotated[float, NOT_HASHED] = Field(
        0.05, ge=0, le=1, description="a run is tainted if more than this share of its calls failed"
    )


def hashed_settings(config: Config) -> dict[str, Json]:
    """Return the settings that are hashed: those of the rules that differ from their defaults, as plain JSON.

    They are part of the first link of a run's chain. So a new setting with a default changes no digest. To
    change a default is to change the rules, which needs a new `World.rules_version`.
    """
    values = config.model_dump(mode="json")
    declared = type(config).model_fields
    return {
        name: values[name]
        for name, setting in declared.items()
        if NOT_HASHED not in setting.metadata
        and getattr(config, name) != setting.get_default(call_default_factory=True)
    }


MAX_SEED = 2**63 - 1
"""Seeds are whole numbers from its negative to it, which any database and any language can hold."""

MAX_NAME = 200
"""The most characters of a name that people give: to a run, experiment, arm, agent, model or test."""

MAX_AGENTS = 1_000
"""The most agents of a run."""

VIEW_KEYS = ("world", "turn")
"""What every view has beside the name of its agent, which stands under `World.viewer_key`."""


class WorldState(Protocol):
    """What the state of every world has, besides the world's own fields."""

    @property
    def setting(self) -> "Setting[Any]":
        """The setting of its run: config, agents and seed."""

    @property
    def config(self) -> Config:
        """The config of its setting."""

    @property
    def turn(self) -> int:
        """The number of the next turn to be played, from 0."""


class Intent(Protocol):
    """What an answer came to: the world's own moves, and the agent's reflection.

    In its JSON the reflection is an object under `reflection`, with the fields of `engine.reflection`.
    """

    @property
    def reflection(self) -> Reflection:
        """What the agent says besides its moves."""


C = TypeVar("C", bound=Config)
S = TypeVar("S", bound=WorldState)
T = TypeVar("T")
I = TypeVar("I", bound=Intent)  # noqa: E741  an intent, next to a config C and a state S


@dataclass(frozen=True, slots=True)
class Setting(Generic[C]):
    """What stays the same during a run: the config, the agents sorted by name, and the seed."""

    config: C
    agents: tuple[str, ...]
    seed: int


RunSetting: TypeAlias = Annotated[Setting[C], SkipValidation, Field(exclude=True)]
"""The type of `setting` in a state, whose JSON leaves it out: whoever reads a state knows its run."""


class Validated(NamedTuple, Generic[I]):
    """A validated answer: the agent's intent, the rejections and the corrections."""

    intent: I
    drops: tuple[Drop, ...] = ()
    mends: tuple[Mend, ...] = ()


NO_LEDGERS: JsonObject = {}
"""The ledgers of a world that keeps none."""


class Resolved(NamedTuple, Generic[S]):
    """What the intents of a turn led to.

    `ledgers` are the accounts of the phases, in worlds that keep them. `mends` are corrections that only
    resolving can make: an intent was valid, but could be carried out only in part.
    """

    state: S
    events: tuple[Event, ...] = ()
    draws: tuple[Draw, ...] = ()
    ledgers: JsonObject = NO_LEDGERS
    mends: tuple[Mend, ...] = ()


class Codec(Generic[T]):
    """Converts a frozen dataclass to plain JSON and back."""

    def __init__(self, kind: type[T]) -> None:
        self._adapter = TypeAdapter(kind)

    def to_json(self, value: T) -> dict[str, Any]:
        """Return the value as plain JSON."""
        dumped: dict[str, Any] = self._adapter.dump_python(value, mode="json")
        return dumped

    def from_json(self, data: JsonObject, **known: object) -> T:
        """Return the value of its JSON. `known` are further fields, which the JSON does not have.

        Raise ValueError, with a message of one line, for data of another shape.
        """
        try:
            return self._adapter.validate_python({**data, **known})
        except ValidationError as error:
            raise ValueError(in_one_line(error)) from error


class StateCodec(Codec[S], Generic[C, S]):
    """Converts states to plain JSON and back.

    `load` is the world's own way back, where a state from outside may lack fields or might not fit its run.
    """

    def __init__(self, kind: type[S], load: Callable[[Setting[C], JsonObject], S] | None = None) -> None:
        super().__init__(kind)
        self._load = load

    def load(self, setting: Setting[C], data: JsonObject) -> S:
        """Return the state of its JSON. Raise ValueError, in one line, for data of another shape."""
        return self._load(setting, data) if self._load else self.from_json(data, setting=setting)


OBSERVER = "observer"
"""The observer's name in addresses. In a world with an observer, no agent may have this name."""


class Ruled(NamedTuple, Generic[I]):
    """The intents with the observer's rulings in them, and the rejections and corrections of a ruling."""

    intents: Mapping[str, I]
    drops: tuple[Drop, ...] = ()
    mends: tuple[Mend, ...] = ()


@dataclass(frozen=True, slots=True)
class Observer(Generic[S, I]):
    """An observer outside the game, which rules once per turn on all requests that agents made in it.

    asks(state)                    the spec of the player that rules (`human`, `openai:NAME`); empty if the
                                   world's own rule does
    requests(state, intents)       the requests of this turn, as plain JSON; empty if there are none
    ruling(requests)               the pydantic model of an answer to these requests (to any requests, if none
                                   are given). From it follows the schema that a model is shown; it checks the
                                   answer of a person
    rule(state, intents, answer)   the intents with the rulings in them; never raises because of an answer
    ruled(intents)                 the rulings that intents contain, as plain JSON
    stand_ins                      scripted policies that rule in a model's place, for the stand-in server
    reasons                        the sentences with which the world's own rule gives reasons, by code. A
                                   view that shows one, under `observer`, has its code and detail beside it
    """

    asks: Callable[[S], str]
    requests: Callable[[S, Mapping[str, I]], Sequence[JsonObject]]
    ruling: Callable[[Sequence[JsonObject]], type[BaseModel]]
    rule: Callable[[S, Mapping[str, I], JsonObject | None], Ruled[I]]
    ruled: Callable[[Mapping[str, I]], JsonObject]
    stand_ins: Policies
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class World(Generic[C, S, I]):
    """One world, which is compared by identity.

    Its rules are functions over two frozen dataclasses of ints, strings and tuples. A state has what
    `WorldState` says: the `setting` of its run (a field of the type `RunSetting`), its `config`, and its
    `turn`. An intent has what `Intent` says: the agent's `reflection`. What has a default may be left out.

    name                             as in `hobbes run NAME`
    rules_version                    a number that grows whenever the same answers could give another record
    config                           the pydantic model of the settings; each has a default
    action(setting)                  the pydantic model of an answer, as people may give it. It has
                                     `reasoning`, and may have the other fields of `ReflectionFields`
    setup(config, agents, seed)      the first state
    observe(state, agent)            the agent's view: plain JSON of what it may know, no prose. It has
                                     `world`, `turn`, and the agent's name under `viewer_key`
    validate(state, agent, answer)   intent, drops and mends; never raises because of an answer (None if there
                                     is no answer)
    resolve(state, intents)          next state, events and draws; an actor without an intent does nothing
    scores(state)                    the score of each agent
    state, intent                    convert states and intents to JSON and back: `StateCodec(State)`,
                                     `Codec(Intent)`
    policies                         the scripted policies of the world

    actors(state)                    the agents that are asked this turn, by default all
    owner(state, actor)              the agent of the run whose player answers for an actor, or answered for
                                     one that no longer acts; by default itself
    over(state)                      whether the game has ended, by default once all rounds are played
    ending(state)                    how a game that is over ended, in a few words; None if it is never over
                                     before all its rounds are played
    private(config)                  what one agent alone may know of the state's JSON, as paths (below)
    bounds(setting)                  the JSON schema of an answer with the bounds of the rules, which only
                                     language models are sent, in this order: acts, then words to others. By
                                     default only the fields of the reflection have bounds
    viewer_key                       the key under which a view names its agent
    remembering(view, memory)        the view with what it shows of the agent's memory, by default all of it
                                     under `memory`
    names(n)                         the default names of n agents
    default_agents                   the default number of agents
    prompts(config)                  the prompt variant that the config asks for: its name, or the path of its
                                     folder, which a world in a package of its own has beside its code
    observer                         who rules, outside the game, on requests of agents
    measures, telling, picture       the facets: figures about a run (`engine.measures`), words for events,
                                     views and intents (`engine.telling`), the state as people see it
                                     (`engine.picture`)

    A path of `private` leads to a value in the JSON of the state: `a.b` is a key of an object (or an index of
    a list), `[*]` is each element of a list, `[agent]` is the entry of an object that has the agent's name,
    and `[key=agent]` is each element of a list whose `key` is the agent's name:
    `history[*].deeds[unit=agent].meant`. Nobody else's view depends on such a value.
    """

    name: str
    rules_version: int
    config: type[C]
    action: Callable[[Setting[C]], type[BaseModel]]
    setup: Callable[[C, tuple[str, ...], int], S]
    observe: Callable[[S, str], JsonObject]
    validate: Callable[[S, str, JsonObject | None], Validated[I]]
    resolve: Callable[[S, Mapping[str, I]], Resolved[S]]
    scores: Callable[[S], Mapping[str, int]]
    state: StateCodec[C, S]
    intent: Codec[I]
    policies: Policies
    actors: Callable[[S], tuple[str, ...]] = lambda state: state.setting.agents
    owner: Callable[[S, str], str] = lambda _, agent: agent
    over: Callable[[S], bool] = lambda state: state.turn >= state.config.rounds
    ending: Callable[[S], str] | None = None
    private: Callable[[C], tuple[str, ...]] = lambda _: ()
    bounds: Callable[[Setting[C]], JsonObject] = lambda setting: object_of(bounded_reflection(setting.agents))
    viewer_key: str = "you"
    remembering: Callable[[JsonObject, JsonObject], JsonObject] = lambda view, memory: {
        **view,
        "memory": memory,
    }
    names: Callable[[int], tuple[str, ...]] = lambda n: tuple(f"agent-{k:02}" for k in range(1, n + 1))
    default_agents: int = 4
    prompts: Callable[[C], str] = lambda _: "plain"
    observer: Observer[S, I] | None = None
    measures: Measures[S, I] = field(default_factory=Measures)
    telling: Telling[I] = field(default_factory=Telling)
    picture: Picture[S, I] = field(default_factory=Picture)

    def __post_init__(self) -> None:
        """Let a world that has no measures be measured by its scores."""
        if not self.measures.formulas:
            formulas = by_scores(self.scores)
            by_default = replace(self.measures, each=formulas, parts=formulas, headline=("score",))
            object.__setattr__(self, "measures", by_default)


AnyWorld: TypeAlias = World[Any, Any, Any]

ALL_PLAYED = "all rounds were played"
"""How a game ended that did not end early."""


def won(world: AnyWorld, state: Any) -> dict[str, bool]:  # noqa: ANN401  a world's own state
    """Return for each agent whether it has won a game that is over.

    Where no rule names a winner, it is the agent with the highest score, unless several have it.
    """
    scores = world.scores(state)
    if world.measures.winners is not None:
        winners = world.measures.winners(state)
    else:
        best = [agent for agent, score in scores.items() if score == max(scores.values())]
        winners = best if len(best) == 1 else ()
    return {agent: agent in winners for agent in scores}


def ending_of(world: AnyWorld, state: Any) -> str:  # noqa: ANN401  a world's own state
    """Return how a game that is over ended, in a few words."""
    return world.ending(state) if world.ending else ALL_PLAYED


def in_letters(k: int, alphabet: str) -> str:
    """Return a number in letters: with the alphabet A to Z, 0 is A, 25 is Z, 26 is AA, 27 is AB."""
    more, last = divmod(k, len(alphabet))
    return (in_letters(more - 1, alphabet) if more else "") + alphabet[last]


def in_one_line(error: ValidationError, depth: int = 1, model: type[BaseModel] | None = None) -> str:
    """Return pydantic's error as one line for people: each field with all its messages.

    A field is named by its path, up to this depth; deeper down pydantic names the members of unions, too.
    With the model, it says of a field whose value has another type or other keys what its values are.
    """
    schema: dict[str, Any] = model.model_json_schema() if model else {"properties": {}}
    # A field with several allowed types has one message per type; equal messages are said once.
    problems: dict[str, dict[str, None]] = {}
    for problem in error.errors():
        path = ".".join(str(name) for name in problem["loc"][:depth])
        field = f"{path}: " if path else ""
        message = problem["msg"].removeprefix("Value error, ")
        if path in schema["properties"] and problem["type"].endswith(("_type", "missing", "_forbidden")):
            message = f"its values are: {values_of(schema['properties'][path], schema.get('$defs', {}))}"
        problems.setdefault(field, {})[message] = None
    return "; ".join(f"{field}{', or: '.join(messages)}" for field, messages in problems.items())


def make_setting(
    world: AnyWorld, agents: Sequence[str], seed: int, values: Mapping[str, Json]
) -> Setting[Any]:
    """Return the setting of a run from settings by name.

    Agents are sorted by name, because every rule that needs an order uses that one. Raise ValueError, with a
    message of one line, for unknown settings, values out of range, or names that are empty or not unique.
    """
    unknown = sorted(set(values) - set(world.config.model_fields))
    if unknown:
        names = world.config.model_fields
        there = did_you_mean(unknown[0], names, f"settings: {' '.join(names)}")
        raise ValueError(f"{world.name} has no setting named {', '.join(unknown)}{there}")
    if any(len(agent) > MAX_NAME for agent in agents):
        raise ValueError(f"agents: a name has at most {MAX_NAME} characters")
    if not agents or len(set(agents)) != len(agents) or not all(agents):
        raise ValueError("agents: give at least one name; names must be unique and not empty")
    if len(agents) > MAX_AGENTS:
        raise ValueError(f"agents: a run has at most {MAX_AGENTS}")
    if abs(seed) > MAX_SEED:
        raise ValueError(f"seed: give a whole number from {-MAX_SEED} to {MAX_SEED}")
    try:
        # Validated as JSON text, where strict mode accepts a list for a tuple but no text for a number.
        config = world.config.model_validate_json(json.dumps(values), strict=True)
    except ValidationError as error:
        raise ValueError(f"{world.name} config: {in_one_line(error, model=world.config)}") from error
    return Setting(config, tuple(sorted(agents)), seed)
