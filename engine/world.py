"""The contract that every world keeps.

A world is a value of plain functions over frozen dataclasses; there is no base class to inherit. Everything
outside `engine` speaks of worlds through this value only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from engine.policy import Policies
from engine.record import Draw, Drop, Event, Json, JsonObject, Mend, canonical
from engine.reflection import Reflection

NOT_HASHED = "not hashed"
"""Marks a setting that says how a run is carried out or who answers, and not what is played."""


class Config(BaseModel):
    """What every world's config has; a world adds its own rules. Unknown names are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    rounds: int = Field(ge=1, le=100_000, description="turns to play")
    on_failure: Annotated[Literal["default", "halt"], NOT_HASHED] = Field(
        "default", description="a failed call: take the default action, or stop the run"
    )
    reask: Annotated[int, NOT_HASHED] = Field(
        0, ge=0, le=1, description="1: an agent is shown once what was refused of its answer, and asked again"
    )
    taint_share: Annotated[float, NOT_HASHED] = Field(
        0.05, ge=0, le=1, description="share of failed calls past which a run is tainted"
    )


def hashed_settings(config: Config) -> dict[str, Json]:
    """Return the rule settings of a run that differ from their defaults, as plain JSON.

    They are part of the first link of a run's chain. A setting that is added with a default therefore changes
    no digest; a default that changes is a change of the rules, and of `World.rules_version`.
    """
    told = config.model_dump(mode="json")
    declared = type(config).model_fields
    return {
        name: told[name]
        for name, setting in declared.items()
        if NOT_HASHED not in setting.metadata
        and getattr(config, name) != setting.get_default(call_default_factory=True)
    }


VIEW_KEYS = ("world", "turn")
"""What every view has beside the name of its agent, which stands under `World.viewer_key`."""


class WorldState(Protocol):
    """What every world's state has beside its own fields."""

    @property
    def turn(self) -> int:
        """The number of the turn that is about to be played, from 0."""


class Intent(Protocol):
    """What an answer came to: the world's own moves, and the agent's reflection.

    In its JSON the reflection is an object under `reflection`, with the fields of `engine.reflection`.
    """

    @property
    def reflection(self) -> Reflection:
        """What the agent says beside its moves."""


C = TypeVar("C", bound=Config)
S = TypeVar("S", bound=WorldState)
T = TypeVar("T")
I = TypeVar("I", bound=Intent)  # noqa: E741  an intent, beside a config C and a state S


@dataclass(frozen=True, slots=True)
class Setting(Generic[C]):
    """What never changes in a run: the config, the agents sorted by name, the seed."""

    config: C
    agents: tuple[str, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Validated(Generic[I]):
    """What became of an answer: what the agent intends, what was refused, what was changed."""

    intent: I
    drops: tuple[Drop, ...] = ()
    mends: tuple[Mend, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolved(Generic[S]):
    """What a turn led to.

    `ledgers` are the phases' own books, for worlds that keep them; `mends` what only the turn itself could
    show to be too much: an intent that was valid, and was carried out in part.
    """

    state: S
    events: tuple[Event, ...] = ()
    draws: tuple[Draw, ...] = ()
    ledgers: JsonObject = field(default_factory=dict)
    mends: tuple[Mend, ...] = ()


@dataclass(frozen=True, slots=True)
class Played(Generic[S, I]):
    """One turn of a history, as measures read it."""

    before: S
    intents: Mapping[str, I]
    after: S
    events: tuple[Event, ...]
    draws: tuple[Draw, ...]


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure about a run. `scope` is `run`, `first-half`, `second-half` or `turn/N`; None = undefined."""

    name: str
    scope: str
    value: float | None


class Codec(Generic[T]):
    """A frozen dataclass as plain JSON and back."""

    def __init__(self, kind: type[T]) -> None:
        self._adapter = TypeAdapter(kind)

    def to_json(self, value: T) -> dict[str, Any]:
        """Give plain JSON: objects, lists, strings, integers."""
        dumped: dict[str, Any] = self._adapter.dump_python(value, mode="json")
        return dumped

    def from_json(self, data: JsonObject, **known: object) -> T:
        """Give the value again, with `known` fields that are not in the JSON.

        Raise ValueError, in one line, for data of another shape.
        """
        try:
            return self._adapter.validate_python({**data, **known})
        except ValidationError as error:
            raise ValueError(in_one_line(error)) from error


OBSERVER = "observer"
"""The name under which an observer's calls are addressed; no agent has it where there is one."""


@dataclass(frozen=True, slots=True)
class Ruled(Generic[I]):
    """The intents with the observer's rulings in them, and what of a ruling was refused or changed."""

    intents: Mapping[str, I]
    drops: tuple[Drop, ...] = ()
    mends: tuple[Mend, ...] = ()


@dataclass(frozen=True, slots=True)
class Observer(Generic[S, I]):
    """Somebody outside the game of whom agents may ask something, all at once, once a turn.

    asks(state)                    the spec of the player who rules (`human`, `openai:NAME`); empty: a rule
    requests(state, intents)       what is asked this turn, as plain JSON; empty: nothing
    ruling(requests)               the pydantic model of an answer to these requests. It makes the schema that
                                   a model is told (for no requests: that of any answer), the form of the
                                   page, the options of `hobbes answer` and the questions in the terminal
    rule(state, intents, answer)   the intents with the rulings in them; never raises on what was answered
    ruled(intents)                 the rulings that are in intents, as plain JSON
    stand_ins                      who answers in a model's place, behind the stand-in server
    """

    asks: Callable[[S], str]
    requests: Callable[[S, Mapping[str, I]], Sequence[JsonObject]]
    ruling: Callable[[Sequence[JsonObject]], type[BaseModel]]
    rule: Callable[[S, Mapping[str, I], JsonObject | None], Ruled[I]]
    ruled: Callable[[Mapping[str, I]], JsonObject]
    stand_ins: Policies


@dataclass(frozen=True, slots=True)
class World(Generic[C, S, I]):
    """One world.

    rules_version                    a number that changes whenever the same answers could lead elsewhere
    action(config)                   the model of an answer, from which agents are given its schema
    setup(config, agents, seed)      the first state
    actors(state)                    who is asked this turn
    owner(state, actor)              the agent of the run whose player answers for an actor
    observe(state, agent)            that agent's view: plain JSON of what it may know, no prose. It has
                                     `world` and `turn`, and the agent's name under `viewer_key`
    private(config)                  what one agent alone may know of the state's JSON, as paths (below)
    validate(state, agent, answer)   intent, drops, mends; never raises on what an agent said (None: nothing)
    resolve(state, intents)          next state, events, draws; pure; an actor without intent does nothing
    over, scores, measures           the end, the score of each agent, the figures of a whole run
    arithmetic(played)               each agent's figures after a turn, each as a sum that a hand can check
    load(setting, data)              a state from its JSON; ValueError if it is no such state
    names(n)                         the default names of n agents
    picture(state)                   the state for people: rows of short words
    prompts(config)                  the prompt variant that the config asks for: its name, or a folder's path
    events                           what each type of event says: its own fields, a colon, what happened.
                                     A message is an event of the type `message`, with `text` and, where it
                                     is not to all, `to`
    codes                            what each code of a rejection or correction means; the rules, and an
                                     observer's, give no other. Those of reading are in `nodes.reading`
    viewer_key                       the key under which a view names its agent

    A path of `private` leads to a value in the JSON of the state: `a.b` is a key of an object (or an index of
    a list), `[*]` is each element of a list, `[agent]` is the entry of an object that has the agent's name,
    and `[key=agent]` is each element of a list whose `key` is the agent's name:
    `history[*].deeds[unit=agent].meant`. Nobody else's view depends on such a value.
    """

    name: str
    rules_version: int
    config: type[C]
    action: Callable[[C], type[BaseModel]]
    setup: Callable[[C, tuple[str, ...], int], S]
    actors: Callable[[S], tuple[str, ...]]
    owner: Callable[[S, str], str]
    observe: Callable[[S, str], JsonObject]
    private: Callable[[C], tuple[str, ...]]
    validate: Callable[[S, str, JsonObject | None], Validated[I]]
    resolve: Callable[[S, Mapping[str, I]], Resolved[S]]
    over: Callable[[S], bool]
    scores: Callable[[S], Mapping[str, int]]
    measures: Callable[[Sequence[Played[S, I]]], tuple[Measure, ...]]
    arithmetic: Callable[[Played[S, I]], Mapping[str, Mapping[str, str]]]
    load: Callable[[Setting[C], JsonObject], S]
    state: Codec[S]
    intent: Codec[I]
    policies: Policies
    names: Callable[[int], tuple[str, ...]]
    default_agents: int
    picture: Callable[[S], Sequence[Sequence[str]]]
    prompts: Callable[[C], str]
    events: Mapping[str, str]
    codes: Mapping[str, str]
    viewer_key: str = "you"
    observer: Observer[S, I] | None = None


AnyWorld: TypeAlias = World[Any, Any, Any]


def in_letters(k: int, alphabet: str) -> str:
    """Count in letters from 0: A to Z, then AA, AB and so on."""
    more, last = divmod(k, len(alphabet))
    return (in_letters(more - 1, alphabet) if more else "") + alphabet[last]


def in_one_line(error: ValidationError) -> str:
    """Say in one line for people what pydantic found: each field, and what it should be, or else."""
    problems: dict[str, dict[str, None]] = {}
    for problem in error.errors():
        field = f"{problem['loc'][0]}: " if problem["loc"] else ""
        problems.setdefault(field, {})[problem["msg"].removeprefix("Value error, ")] = None
    return "; ".join(f"{field}{', or: '.join(messages)}" for field, messages in problems.items())


def settle(world: AnyWorld, agents: Sequence[str], seed: int, values: Mapping[str, Json]) -> Setting[Any]:
    """Make a run's setting; ValueError, in one line, names the unknown names or values out of range.

    Agents are sorted by name, since every rule that needs an order takes that one.
    """
    unknown = sorted(set(values) - set(world.config.model_fields))
    if unknown:
        names = " ".join(world.config.model_fields)
        raise ValueError(f"{world.name} has no config named {', '.join(unknown)}; it has: {names}")
    if not agents or len(set(agents)) != len(agents) or not all(agents):
        raise ValueError("agents: give at least one name, no name twice, none empty")
    try:
        # As JSON: there a list may be a tuple, but no text a number, and no truth a 1.
        config = world.config.model_validate_json(canonical(values), strict=True)
    except ValidationError as error:
        raise ValueError(f"{world.name} config: {in_one_line(error)}") from error
    return Setting(config, tuple(sorted(agents)), seed)
