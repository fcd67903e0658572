"""trust: the config with every treatment, and the state of the game.

Source: docs/rules/trust.md#numbers-in-the-config, docs/rules/trust.md#units-and-sats.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from hobbes.engine.record import JsonObject
from hobbes.engine.trust.actions import Kind
from hobbes.engine.world import NOT_HASHED, OBSERVER, Config, Percent, RunSetting, Setting, StateCodec

Sats = Annotated[int, Field(ge=0, le=1_000_000)]
Count = Annotated[int, Field(ge=0)]

ALL = "all"
"""The addressee of a message to all units. Source: docs/rules/trust.md#messages."""

OBSERVER_PATTERN = re.compile(
    r"never|always|human|openai:\S+|sparing(\((?P<budget>\d{1,7}),(?P<patience>\d{1,7})\))?"
    r"|reading(\((?P<purse>\d{1,7})\))?"
)
"""The observers that a config may name. Source: docs/rules/trust.md#choice-of-observer."""


class TrustConfig(Config):
    """Every number of the rules and every treatment; amounts are sats, without a sign.

    Source: docs/rules/trust.md#numbers-in-the-config, docs/rules/trust.md#chances.
    """

    rounds: int = Field(30, ge=1, le=100_000, description="rounds to play")
    start: int = Field(50, ge=1, le=1_000_000, description="sats of each unit at the start")
    threshold: int = Field(100, ge=1, le=1_000_000, description="sats that a unit needs to replicate")
    replicate_cost: Sats = Field(50, description="what replicating costs")
    clone_start: int = Field(25, ge=1, le=1_000_000, description="sats of a new unit in team play")
    high_five: Sats = Field(3, description="what each of two units gains when they high-five each other")
    left_hanging: Sats = Field(2, description="what a high five that is not returned costs")
    attack: Sats = Field(4, description="what an attack takes from its target and gives the attacker")
    blocked: Sats = Field(3, description="what an attack that is blocked costs the attacker")
    block: Sats = Field(1, description="what a block costs")
    block_reward: Sats = Field(2, description="what the blocker gains for each attack blocked")
    beg: Sats = Field(1, description="what begging costs, whatever the answer")
    do_nothing: Sats = Field(3, description="what do_nothing costs, once do_nothing_rounds is reached")
    do_nothing_rounds: int = Field(
        3, ge=1, le=100_000, description="from which round of do_nothing in a row on it costs sats"
    )
    miss: Percent = Field(15, description="how often a high five misses and attacks, in percent")
    misread: Percent = Field(
        0, description="how often the target of a high five that did not miss sees an attack, in percent"
    )
    fumble: Percent = Field(0, description="how often any action becomes do_nothing, in percent")
    victory: Literal["race", "team"] = Field(
        "race",
        description="the first unit that replicates wins, or units multiply and the last team wins",
    )
    replication: bool = Field(default=True, description="whether units can replicate")
    observer: Annotated[str, NOT_HASHED] = Field(
        "sparing(40,4)",
        description="who answers begging: never, always, sparing(BUDGET,PATIENCE), reading(BUDGET), human, "
        "openai:NAME",
    )
    observer_budget_known: bool = Field(
        default=True, description="whether views show what is left of the budget of an observer that has one"
    )
    requests_known: bool = Field(
        default=False,
        description="whether other units read, in the next round, what a unit begged for and why",
    )
    gifts: Literal["allies", "all"] = Field("allies", description="to whom a unit may send sats")
    messages: Literal["off", "all", "private"] = Field(
        "off", description="messages to units, read in the next round by all, or only by the unit addressed"
    )
    message_limit: int = Field(300, ge=1, le=2000, description="characters of a message")
    alliances: tuple[tuple[str, ...], ...] | Literal["declared"] = Field(
        (),
        description="lists of agents who cannot choose to attack one another and may send each other sats; "
        "or declared: agents propose, accept and leave alliances",
    )
    alliances_known: bool = Field(default=True, description="whether units see the alliances of others")
    allies_win: bool = Field(default=False, description="whether the allies of the winner win, too")
    alliance_age: int = Field(
        3, ge=0, le=100_000, description="rounds that allies must have been allied to win together"
    )
    shock: Percent = Field(
        0, description="how often a round gives sats to all units or takes them, in percent"
    )
    shock_sats: Sats = Field(4, description="sats that a shock gives or takes")
    shock_rounds: int = Field(
        5,
        ge=1,
        le=100,
        description="units that high-fived in most of this many last rounds lose only half in a shock",
    )
    window: int = Field(5, ge=1, le=1000, description="how many past rounds agents see")
    hide_horizon: bool = Field(default=False, description="agents are not told how many rounds there are")

    @field_validator("observer")
    @classmethod
    def _check_observer(cls, said: str) -> str:
        if OBSERVER_PATTERN.fullmatch(said) is None:
            raise ValueError(
                "give never, always, sparing, sparing(BUDGET,PATIENCE), reading, reading(BUDGET), human or "
                "openai:NAME"
            )
        return said

    @model_validator(mode="after")
    def _check_replicate_cost(self) -> "TrustConfig":
        if self.replicate_cost >= self.threshold:
            raise ValueError("replicate_cost: must be less than threshold, or replicating kills the unit")
        return self

    @model_validator(mode="after")
    def _check_alliances(self) -> "TrustConfig":
        if any(len(set(allied)) < 2 or len(set(allied)) < len(allied) for allied in self.listed_alliances):  # noqa: PLR2004
            raise ValueError("alliances: each must name two or more different agents")
        return self

    @property
    def listed_alliances(self) -> tuple[tuple[str, ...], ...]:
        """The alliances that the config lists; none if agents declare theirs."""
        return () if self.alliances == "declared" else self.alliances


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit. A dead unit keeps the sats with which it died."""

    id: str
    team: str
    """The agent of the run from which it descends."""
    sats: int
    idle: Count = 0
    """The number of rounds in a row up to now in which it did nothing."""
    alive: bool = True
    begged: Count = 0
    """The number of requests that the observer has heard from it."""
    granted: Count = 0
    """The sats that the observer has granted it in all."""
    high_fived: tuple[int, ...] = ()
    """The recent rounds in which it carried out a high five, as far as a shock looks back."""


@dataclass(frozen=True, slots=True)
class Deed:
    """What a unit meant to do in a round, what it carried out, and whether it chose that.

    `chosen` is false for a default action. `failed` is true if it fumbled, even a `do_nothing`.

    Source: docs/rules/trust.md#fumble, docs/rules/trust.md#misreading.
    """

    unit: str
    meant: Kind
    did: Kind
    target: str | None = None
    chosen: bool = True
    failed: bool = False
    misread: bool = False
    """Whether the target saw an attack, though it was a high five. Source: docs/rules/trust.md#misreading."""

    @property
    def missed(self) -> bool:
        """Whether a high five came out as an attack. Source: docs/rules/trust.md#miss."""
        return self.meant == "high_five" and self.did == "attack"


@dataclass(frozen=True, slots=True)
class Effect:
    """One change of one unit's sats and its cause."""

    unit: str
    cause: str
    sats: int


@dataclass(frozen=True, slots=True)
class Ruling:
    """The observer's answer to one unit that begged."""

    asked: int
    granted: Count
    reason: str
    request: str = ""
    """The reason that the unit gave."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a unit said about an alliance with another agent.

    Source: docs/rules/trust.md#declared-alliances.
    """

    step: Literal["propose", "ally", "leave"]
    """What happens to the alliance: the unit proposes it, it begins (`ally`), or the unit leaves it."""
    unit: str
    target: str
    """The other agent."""


@dataclass(frozen=True, slots=True)
class Pact:
    """An alliance of two agents, named in alphabetical order, and the round in which it began."""

    one: str
    other: str
    since: Count


@dataclass(frozen=True, slots=True)
class Message:
    """The words of one unit to one other or, without `to`, to all. Source: docs/rules/trust.md#messages."""

    sender: str
    to: str | None
    text: str


@dataclass(frozen=True, eq=False)
class Round:
    """One round as it truly was; views show each unit only what it may know of it."""

    turn: int
    deeds: tuple[Deed, ...]
    effects: tuple[Effect, ...]

    @cached_property
    def deed_of(self) -> Mapping[str, Deed]:
        """The deed of each unit."""
        return {deed.unit: deed for deed in self.deeds}

    @cached_property
    def change(self) -> Mapping[str, int]:
        """The change of each unit's sats. Source: docs/rules/trust.md#sum-of-effects."""
        change = {deed.unit: 0 for deed in self.deeds}
        for effect in self.effects:
            change[effect.unit] = change.get(effect.unit, 0) + effect.sats
        return change


@dataclass(frozen=True, eq=False)
class State:
    """The game at the start of round `turn`, counted from 0.

    States are compared by identity, so that they can be keys of a cache.
    """

    setting: RunSetting[TrustConfig]
    turn: Count
    units: tuple[Unit, ...]
    """All units that there have been, sorted by id."""
    winner: str | None = None
    """The agent that has won; if several share the win, the first of them by name."""
    co_winners: tuple[str, ...] = ()
    """The agents that have won with it, sorted."""
    drawn: bool = False
    history: tuple[Round, ...] = ()
    """The last rounds, as many as agents may see, with the oldest first."""
    rulings: Mapping[str, Ruling] = field(default_factory=dict)
    """The observer's answers of the last round, by unit."""
    messages: tuple[Message, ...] = ()
    """The messages of the last round, sorted by sender."""
    declared: tuple[Declaration, ...] = ()
    """What was declared about alliances in the last round."""
    pacts: tuple[Pact, ...] = ()
    """The alliances that agents have declared and not left."""

    @property
    def config(self) -> TrustConfig:
        """The rules of this run."""
        return self.setting.config

    @cached_property
    def units_by_id(self) -> Mapping[str, Unit]:
        """Every unit by its id."""
        return {unit.id: unit for unit in self.units}

    @cached_property
    def living(self) -> tuple[Unit, ...]:
        """The living units, sorted by id."""
        return tuple([unit for unit in self.units if unit.alive])

    def opponents(self, unit: str) -> tuple[str, ...]:
        """Return the names of the living units of other teams. Source: docs/rules/trust.md#target."""
        team = self.units_by_id[unit].team
        return tuple([other.id for other in self.living if other.team != team])

    @cached_property
    def alliances(self) -> Mapping[frozenset[str], int]:
        """The pairs of allied agents, each with the round in which its alliance began; 0 for a listed one.

        Source: docs/rules/trust.md#alliances.
        """
        listed = (pair for allied in self.config.listed_alliances for pair in combinations(allied, 2))
        declared = {frozenset((pact.one, pact.other)): pact.since for pact in self.pacts}
        return {frozenset(pair): 0 for pair in listed} | declared

    def allied(self, one: str, other: str) -> bool:
        """Return whether the agents of two units are allied. Source: docs/rules/trust.md#alliances."""
        return frozenset((self.units_by_id[one].team, self.units_by_id[other].team)) in self.alliances


NEAR_HIGH_FIVES = 3
"""A unit is near the threshold if this many mutual high fives, or fewer, would take it there."""


def near_threshold(threshold: int, high_five: int) -> int:
    """Return the fewest sats of a unit that is near the threshold: by default 100 - 3 x 3 = 91.

    Source: docs/rules/trust.md#racer, docs/rules/trust.md#aggression-near-the-threshold.
    """
    return threshold - NEAR_HIGH_FIVES * high_five


def actors(state: State) -> tuple[str, ...]:
    """Return the units that act this round: every living one.

    Source: docs/rules/trust.md#one-action-per-round, docs/rules/trust.md#death.
    """
    return tuple([unit.id for unit in state.living])


def owner(state: State, unit: str) -> str:
    """Return the agent whose player answers for a unit; the unit has a memory of its own.

    Source: docs/rules/trust.md#new-units.
    """
    return state.units_by_id[unit].team


def over(state: State) -> bool:
    """Return whether the game has ended: by a win, a draw, the death of all units or the round limit.

    Source: docs/rules/trust.md#round-limit.
    """
    ended = state.winner is not None or state.drawn or not state.living
    return ended or state.turn >= state.config.rounds


def scores(state: State) -> Mapping[str, int]:
    """Return each agent's score: the sats of its living units. Source: docs/rules/trust.md#scores."""
    held = dict.fromkeys(state.setting.agents, 0)
    for unit in state.living:
        held[unit.team] += unit.sats
    return held


def setup(config: TrustConfig, agents: tuple[str, ...], seed: int) -> State:
    """Return the first state: one unit for each agent, all with the same sats.

    Source: docs/rules/trust.md#units-and-sats.
    """
    setting = Setting(config, agents, seed)
    _check_names(setting)
    return State(setting, turn=0, units=tuple(Unit(agent, agent, config.start) for agent in agents))


def _check_names(setting: Setting[TrustConfig]) -> None:
    """Raise ValueError for an agent with a name that is taken or an alliance with an unknown agent.

    The config alone cannot tell, because it does not know the agents.

    Source: docs/rules/trust.md#choice-of-observer, docs/rules/trust.md#contradictory-settings.
    """
    if OBSERVER in setting.agents:
        raise ValueError(f"agents: {OBSERVER!r} is the observer's name; choose another")
    if setting.config.messages != "off" and ALL in setting.agents:
        raise ValueError(f"agents: {ALL!r} is the addressee of messages to all units; choose another name")
    named = {agent for allied in setting.config.listed_alliances for agent in allied}
    strangers = sorted(named - set(setting.agents))
    if strangers:
        raise ValueError(f"alliances: there is no agent {', '.join(strangers)}")


def load(setting: Setting[TrustConfig], data: JsonObject) -> State:
    """Return a state from its JSON; missing fields have their defaults.

    Raise ValueError, in one line, for a state that cannot be.

    Source: docs/rules/trust.md#states-from-outside.
    """
    _check_names(setting)
    state = CODEC.from_json(data, setting=setting)
    ids = [unit.id for unit in state.units]
    if len(set(ids)) < len(ids) or not set(setting.agents) <= set(ids):
        raise ValueError("units: must include each of the run's agents, and no id twice")
    agents = set(setting.agents)
    if not {unit.team for unit in state.units} <= agents or any(
        unit.team != unit.id for unit in state.units if unit.id in agents
    ):
        raise ValueError(
            "units: the team of each must be one of the run's agents; an agent's own unit is on its own team"
        )
    if state.winner is not None and state.winner not in agents:
        raise ValueError("winner: must be one of the run's agents, or null")
    if not set(state.co_winners) <= agents - {state.winner} or (state.co_winners and state.winner is None):
        raise ValueError("co_winners: must be other agents of the run, and need a winner")
    if any(unit.alive != (unit.sats > 0) for unit in state.units):
        raise ValueError("units: a living unit must have at least 1 sat, and a dead one 0 or fewer")
    return replace(state, units=tuple(sorted(state.units, key=lambda unit: unit.id)))


CODEC = StateCodec(State, load)
