"""The config with every treatment, and the state of the board.

Source: docs/rules/nations.md#constants, docs/rules/nations.md#starting-territories.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from hobbes.engine.nations.accounts import Account
from hobbes.engine.nations.actions import EVERYBODY, RESOURCES
from hobbes.engine.nations.land import GENERATED_MAPS, Edge, Land, by_number, sort_edges
from hobbes.engine.record import JsonObject
from hobbes.engine.world import Config, RunSetting, Setting, StateCodec

Count = Annotated[int, Field(ge=0)]
Price = Annotated[int, Field(ge=1, le=1_000_000)]
Sum = Annotated[int, Field(ge=0, le=1_000_000)]

Persona: TypeAlias = Literal["none", "diplomacy", "opportunist", "austerity", "aggressive"]

Pairs: TypeAlias = Mapping[str, Mapping[str, int]]
"""A number for an agent and another agent, where there is one."""

Goods: TypeAlias = Mapping[str, Mapping[str, Mapping[str, int]]]
"""The amount of each resource that a giver handed over to a receiver. Amounts of 0 are left out."""


class Constants(BaseModel):
    """The numbers of the rules, under the seed's names.

    Source: docs/rules/nations.md#constants.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    c_money_per_territory: Sum = Field(10, description="income of a territory a turn")
    c_mil_purchase_price: Price = Field(20, description="price of a mil")
    c_mil_upkeep_price: Sum = Field(2, description="cost of a mil a turn")
    c_defense_destroy_factor: Price = Field(4, description="defending mils that destroy one attacking mil")
    c_trade_factor: float = Field(
        2.0, ge=0, le=1000, allow_inf_nan=False, description="welfare of a unit of money received"
    )
    c_damage_per_attack_mil: Sum = Field(5, description="income that an attacking mil destroys")
    c_violence_penalty: Sum = Field(
        0, description="income that each territory loses in a turn in which anybody attacks"
    )


def _naming_each(given: object, check: ValidatorFunctionWrapHandler) -> object:
    """Raise an error that names the wrong constant and lists the known ones."""
    try:
        return check(given)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ValueError(f"{wrong}; the constants are: {' '.join(Constants.model_fields)}") from error


class BadActor(BaseModel):
    """An agent whose score is not welfare, but the territories it holds or the damage it did to a target.

    Source: docs/rules/nations.md#bad-actors, docs/rules/nations.md#refused-settings.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    goal: Literal["territories", "damage"]
    target: str | None = None

    @model_validator(mode="after")
    def _damage_has_a_target(self) -> "BadActor":
        if (self.goal == "damage") != (self.target is not None):
            raise ValueError("the goal damage needs a target; no other goal has one")
        return self


class NationsConfig(Config):
    """Every treatment of the nations world."""

    rounds: int = Field(50, ge=1, le=100_000, description="turns to play")
    constants: Annotated[Constants, WrapValidator(_naming_each)] = Field(
        Constants(), description="the numbers of the rules, by their c_ names"
    )
    territories_per_agent: int = Field(5, ge=0, le=1000, description="territories dealt to each agent")
    territories: dict[str, tuple[str, ...]] | None = Field(
        None, description="agent: its territories at the start, the capital first; instead of dealing evenly"
    )
    army: Sum | dict[str, Sum] = Field(10, description="mils at the start: for each, or agent: mils")
    observability: Literal["full", "partial", "own"] = Field(
        "full", description="seen of others: results, only territories and armies, or nothing"
    )
    messages: bool = Field(default=True, description="agents may write to each other")
    message_limit: int = Field(1000, ge=1, le=10_000, description="characters of a message")
    reports: Literal["private", "published"] = Field(
        "private", description="reports stay with their authors, or their averages are published"
    )
    hide_horizon: bool = Field(default=False, description="agents are not told how many turns are left")
    personas: dict[str, Persona] = Field(default_factory=dict, description="agent: its persona")
    bad_actors: dict[str, BadActor] = Field(
        default_factory=dict, description="agent: {goal, target}: its score instead of welfare"
    )
    map: Literal["none", "ring", "grid", "file"] = Field(
        "none", description="what touches what; with a map, only what touches may be ceded, and no capital"
    )
    map_edges: Annotated[tuple[Edge, ...], AfterValidator(sort_edges)] = Field(
        (), description="with map file: the pairs of territories that touch, as read from the file"
    )
    resources: bool = Field(default=False, description="income needs energy, food and minerals")
    resource_need: Price = Field(10, description="what a territory needs of each resource for full income")
    resource_rich: Sum = Field(20, description="what a territory gives of the resource it is rich in")
    resource_poor: Sum = Field(5, description="what a territory gives of each of the others")

    @model_validator(mode="after")
    def _edges_come_with_a_file(self) -> "NationsConfig":
        if (self.map == "file") != bool(self.map_edges):
            raise ValueError("map_edges: required with map=file, and not allowed with any other map")
        return self

    @model_validator(mode="after")
    def _nobody_is_its_own_target(self) -> "NationsConfig":
        for agent, bad in self.bad_actors.items():
            if bad.target == agent:
                raise ValueError(f"bad_actors: the target of {agent} is {agent} itself; name another agent")
        return self


@dataclass(frozen=True, eq=False)
class State:
    """The board at the start of turn `turn`, counted from 0.

    It is compared by identity, so that it can be the key of a cache.
    """

    # Not part of the stored state: whoever reads a state back supplies the setting of its run.
    setting: RunSetting[NationsConfig]
    turn: Count
    territories: Mapping[str, tuple[str, ...]]
    """Each agent's territories, sorted by number: T6 comes before T10."""
    army: Mapping[str, Count]
    welfare: Mapping[str, Count]
    """The welfare that each agent has gathered so far."""
    accounts: Mapping[str, Account] = field(default_factory=dict)
    """Each agent's account of the last turn."""
    messages: tuple[tuple[str, str, str], ...] = ()
    """(author, addressee, text) of the last turn."""
    keeps_word: Pairs = field(default_factory=dict)
    """Each rater's last report on who keeps its word: a rating from 1 to 10 for each agent it rates."""
    aggressor: Pairs = field(default_factory=dict)
    """Each rater's last report on who is aggressive: a rating from 1 to 10 for each agent it rates."""
    attacked: Pairs = field(default_factory=dict)
    """Mils that each agent has sent against each other agent so far."""
    granted: Pairs = field(default_factory=dict)
    """Money that each agent has paid to each other agent so far."""
    ceded: Pairs = field(default_factory=dict)
    """Territories that each agent has ceded to each other agent so far."""
    handed_over: Goods = field(default_factory=dict)
    """Resources that each agent handed over to each other agent last turn."""

    @property
    def config(self) -> NationsConfig:
        """The treatments of this run."""
        return self.setting.config

    @property
    def constants(self) -> Constants:
        """The numbers of this run's rules."""
        return self.setting.config.constants

    @cached_property
    def land(self) -> Land:
        """The territory graph and the capitals; without a map there are neither edges nor capitals."""
        if self.config.map == "none":
            return Land((), {})
        start = starting_territories(self.setting)
        generate = GENERATED_MAPS.get(self.config.map)
        edges = (
            self.config.map_edges
            if generate is None
            else sort_edges(generate([t for held in start.values() for t in held]))
        )
        return Land(edges, {agent: held[0] for agent, held in start.items() if held})

    @cached_property
    def may_cede(self) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """Which territories each agent may cede to each other agent under the map; empty without one."""
        return self.land.may_cede(self.territories)

    def supply(self, agent: str) -> dict[str, int]:
        """Return what an agent's territories yield of each resource this turn.

        A territory is rich in one resource and poor in the others. By name, the agents start on land rich in
        energy, food, minerals, energy, and so on. Land keeps its rich resource when it changes hands.

        Source: docs/rules/nations.md#resources.
        """
        rich, poor = self.config.resource_rich, self.config.resource_poor
        return {
            resource: sum(rich if self._riches.get(t) == resource else poor for t in self.territories[agent])
            for resource in RESOURCES
        }

    @cached_property
    def _riches(self) -> Mapping[str, str]:
        return {
            territory: RESOURCES[k % len(RESOURCES)]
            for k, held in enumerate(starting_territories(self.setting).values())
            for territory in held
        }


def list_transfers(handed_over: Goods) -> list[tuple[str, str, str, int]]:
    """Return (giver, receiver, resource, amount), sorted."""
    return [
        (giver, receiver, resource, amount)
        for giver, given in sorted(handed_over.items())
        for receiver, goods in sorted(given.items())
        for resource, amount in sorted(goods.items())
    ]


@lru_cache(maxsize=8)
def exact_fraction(factor: float) -> Fraction:
    """Return the number as people write it: 0.29 is 29/100, so that 100 x 0.29 is 29.

    Source: docs/rules/nations.md#whole-numbers.
    """
    # `Fraction(factor)` would be the binary value, a little below 29/100.
    return Fraction(str(factor))


def starting_territories(setting: Setting[NationsConfig]) -> Mapping[str, tuple[str, ...]]:
    """Return each agent's first territories: T1, T2, ... in equal blocks by name, or as the config says.

    Source: docs/rules/nations.md#starting-territories.
    """
    if setting.config.territories is not None:
        return {agent: setting.config.territories.get(agent, ()) for agent in setting.agents}
    size = setting.config.territories_per_agent
    return {
        agent: tuple(f"T{k}" for k in range(i * size + 1, (i + 1) * size + 1))
        for i, agent in enumerate(setting.agents)
    }


def setup(config: NationsConfig, agents: tuple[str, ...], seed: int) -> State:
    """Return the first state: the starting territories and armies, and no welfare.

    Source: docs/rules/nations.md#starting-territories, docs/rules/nations.md#starting-armies.
    """
    setting = Setting(config, agents, seed)
    _check_names(setting)
    army = config.army
    return State(
        setting,
        turn=0,
        territories={
            agent: tuple(sorted(held, key=by_number)) for agent, held in starting_territories(setting).items()
        },
        army={agent: army if isinstance(army, int) else army.get(agent, 0) for agent in agents},
        welfare=dict.fromkeys(agents, 0),
    )


def _check_names(setting: Setting[NationsConfig]) -> None:
    """Raise ValueError if the config names agents or territories that do not exist.

    Source: docs/rules/nations.md#refused-settings, docs/rules/nations.md#agents.
    """
    config, agents = setting.config, set(setting.agents)
    if EVERYBODY in agents:
        raise ValueError(f"agents: {EVERYBODY!r} is the addressee of messages to all, not a name")
    named: dict[str, set[str]] = {
        "territories": set(config.territories or ()),
        "army": set() if isinstance(config.army, int) else set(config.army),
        "personas": set(config.personas),
        "bad_actors": set(config.bad_actors) | {b.target for b in config.bad_actors.values() if b.target},
    }
    for name, known in named.items():
        if known - agents:
            raise ValueError(f"{name}: there is no agent {', '.join(sorted(known - agents))}")
    dealt = [t for held in starting_territories(setting).values() for t in held]
    _check_owned_once(dealt)
    strangers = {territory for edge in config.map_edges for territory in edge} - set(dealt)
    if strangers:
        raise ValueError(f"map_edges: there is no territory {', '.join(sorted(strangers))}")


def _check_owned_once(territories: Iterable[str]) -> None:
    """Raise ValueError if a territory has two owners."""
    twice = sorted(t for t, owners in Counter(territories).items() if owners > 1)
    if twice:
        raise ValueError(f"territories: {', '.join(twice)} named twice; each has one owner")


def load(setting: Setting[NationsConfig], data: JsonObject) -> State:
    """Return a state from its JSON; missing optional fields get their defaults.

    Raise ValueError if the JSON does not describe a state of this run.

    Source: docs/rules/nations.md#loaded-states.
    """
    _check_names(setting)
    state = CODEC.from_json(data, setting=setting)
    known = set(setting.agents)
    for name in ("territories", "army", "welfare"):
        if set(getattr(state, name)) != known:
            raise ValueError(f"{name}: give an entry for each agent of the run, and for nobody else")
    _check_owned_once([t for held in state.territories.values() for t in held])
    return replace(
        state,
        territories={
            agent: tuple(sorted(state.territories[agent], key=by_number)) for agent in setting.agents
        },
    )


CODEC = StateCodec(State, load)
