"""trust: the config with every treatment, and the state of the game.

Source: seed, sections 2, 5 and 7; decisions page, "Numbers", "Victory", "Treatments".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SkipValidation, field_validator, model_validator

from engine.record import JsonObject
from engine.trust.actions import Kind
from engine.world import OBSERVER, Codec, Config, Setting

Sats = Annotated[int, Field(ge=0, le=1_000_000)]
Count = Annotated[int, Field(ge=0)]

OBSERVERS = re.compile(
    r"never|always|human|openai:\S+|sparing(\((?P<budget>\d{1,7}),(?P<patience>\d{1,7})\))?"
)
"""Who may answer those who beg."""


def _as_percent(given: object) -> object:
    """Take a share with a decimal point (0.15) as the whole percent that it is (15)."""
    if not isinstance(given, float) or given > 1:
        return given
    percent = round(given * 100)
    if abs(percent - given * 100) > 1e-6:  # noqa: PLR2004  no more than the error of a float
        raise ValueError("write a whole number of percent (15), or the same as a share (0.15)")
    return percent


Percent = Annotated[int, BeforeValidator(_as_percent), Field(ge=0, le=100)]


class TrustConfig(Config):
    """Every number of the rules and every treatment; amounts are sats, without a sign."""

    WHO = frozenset({"observer"})

    rounds: int = Field(30, ge=1, le=100_000, description="rounds to play")
    start: int = Field(50, ge=1, le=1_000_000, description="sats of each unit at the start")
    threshold: int = Field(100, ge=1, le=1_000_000, description="sats that a unit needs to replicate")
    replicate_cost: Sats = Field(50, description="what a replicate costs")
    clone_start: int = Field(25, ge=1, le=1_000_000, description="sats of the unit that a replicate makes")
    high_five: Sats = Field(3, description="what each gains of two high fives at each other")
    left_hanging: Sats = Field(2, description="what a high five that is not returned costs")
    attack: Sats = Field(4, description="what an attack takes from its target and gives the attacker")
    blocked: Sats = Field(3, description="what an attack that is blocked costs the attacker")
    block: Sats = Field(1, description="what a block costs")
    block_reward: Sats = Field(2, description="what the blocker gains for each attack blocked")
    beg: Sats = Field(1, description="what begging costs, whatever the answer")
    idle: Sats = Field(3, description="what an idle turn costs, from the idle_turns-th in a row on")
    idle_turns: int = Field(3, ge=1, le=100_000, description="idle turns in a row until idleness costs")
    miss: Percent = Field(15, description="how often a high five misses and attacks, in percent (or 0.15)")
    fumble: Percent = Field(0, description="how often any action becomes do_nothing, in percent (or 0.05)")
    victory: Literal["race", "team"] = Field(
        "race", description="the first replicate wins, or replicates make teams and the last team wins"
    )
    observer: str = Field(
        "sparing(40,4)",
        description="who answers begging: never, always, sparing(BUDGET,PATIENCE), human, openai:NAME",
    )
    alliances: tuple[tuple[str, ...], ...] = Field(
        (), description="lists of agents who cannot choose to attack one another and may send each other sats"
    )
    shock: Percent = Field(0, description="how often a round gives or takes sats from all, in percent")
    shock_sats: Sats = Field(4, description="sats that a shock gives or takes")
    shock_rounds: int = Field(
        5, ge=1, le=100, description="who high-fived in most of so many last rounds takes half a shock's loss"
    )
    window: int = Field(5, ge=1, le=1000, description="rounds that agents see of the past")

    @field_validator("observer")
    @classmethod
    def _an_observer(cls, said: str) -> str:
        if OBSERVERS.fullmatch(said) is None:
            raise ValueError("give never, always, sparing, sparing(BUDGET,PATIENCE), human or openai:NAME")
        return said

    @model_validator(mode="after")
    def _who_replicates_survives_it(self) -> "TrustConfig":
        if self.replicate_cost >= self.threshold:
            raise ValueError("replicate_cost: less than threshold, or whoever replicates dies of it")
        return self

    @model_validator(mode="after")
    def _alliances_are_of_two_or_more(self) -> "TrustConfig":
        if any(len(set(allied)) < 2 or len(set(allied)) < len(allied) for allied in self.alliances):  # noqa: PLR2004
            raise ValueError("alliances: name two or more agents in each, nobody twice")
        return self


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit; one that is dead keeps the sats that it died with."""

    id: str
    team: str
    """The agent of the run that it descends from."""
    sats: int
    idle: Count = 0
    """Idle turns in a row up to now."""
    alive: bool = True
    begged: Count = 0
    """How often it has begged."""
    granted: Count = 0
    """Sats that the observer has granted it."""
    high_fived: tuple[int, ...] = ()
    """The last rounds in which it carried out a high five, no older than a shock looks back."""


@dataclass(frozen=True, slots=True)
class Deed:
    """What a unit meant to do in a round, what everyone saw it do, and whether it chose so at all."""

    unit: str
    meant: Kind
    did: Kind
    target: str | None = None
    chosen: bool = True

    @property
    def missed(self) -> bool:
        """A high five that came out as an attack."""
        return self.meant == "high_five" and self.did == "attack"

    @property
    def failed(self) -> bool:
        """An action that came out as nothing."""
        return self.meant != self.did and self.did == "do_nothing"


@dataclass(frozen=True, slots=True)
class Effect:
    """One change of one unit's sats, and its cause."""

    unit: str
    cause: str
    sats: int


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the observer answered to one unit that begged."""

    asked: int
    granted: Count
    reason: str


@dataclass(frozen=True, eq=False)
class Round:
    """One round that was played: the whole truth about it."""

    turn: int
    deeds: tuple[Deed, ...]
    effects: tuple[Effect, ...]

    @cached_property
    def deed_of(self) -> Mapping[str, Deed]:
        """Each unit's deed."""
        return {deed.unit: deed for deed in self.deeds}

    @cached_property
    def change(self) -> Mapping[str, int]:
        """Each unit's change of sats."""
        change = {deed.unit: 0 for deed in self.deeds}
        for effect in self.effects:
            change[effect.unit] = change.get(effect.unit, 0) + effect.sats
        return change


@dataclass(frozen=True, eq=False)
class State:
    """The game at the start of round `turn`, from 0; compared by identity, so that it can be a key."""

    setting: Annotated[Setting[TrustConfig], SkipValidation, Field(exclude=True)]
    turn: Count
    units: tuple[Unit, ...]
    """All there have been, by id."""
    winner: str | None = None
    """The agent that has won."""
    drawn: bool = False
    history: tuple[Round, ...] = ()
    """The last rounds, as many as agents may see, the oldest first."""
    rulings: Mapping[str, Ruling] = field(default_factory=dict)
    """What the observer answered last round, by unit."""

    @property
    def config(self) -> TrustConfig:
        """The rules of this run."""
        return self.setting.config

    @cached_property
    def unit(self) -> Mapping[str, Unit]:
        """Every unit by its id."""
        return {unit.id: unit for unit in self.units}

    @cached_property
    def living(self) -> tuple[Unit, ...]:
        """The units that are alive, by id."""
        return tuple([unit for unit in self.units if unit.alive])

    def opponents(self, unit: str) -> tuple[str, ...]:
        """Name the living units of other teams."""
        team = self.unit[unit].team
        return tuple([other.id for other in self.living if other.team != team])

    def allied(self, one: str, other: str) -> bool:
        """Tell whether the agents of two units have declared an alliance."""
        teams = {self.unit[one].team, self.unit[other].team}
        return len(teams) > 1 and any(teams <= set(allied) for allied in self.config.alliances)


CODEC = Codec(State)


def actors(state: State) -> tuple[str, ...]:
    """Every living unit acts."""
    return tuple([unit.id for unit in state.living])


def owner(state: State, unit: str) -> str:
    """Name the agent of the run whose model answers for a unit; its mind is the unit's own."""
    return state.unit[unit].team


def over(state: State) -> bool:
    """The game ends with a winner, a draw, nobody alive, or its last round."""
    ended = state.winner is not None or state.drawn or not state.living
    return ended or state.turn >= state.config.rounds


def scores(state: State) -> Mapping[str, int]:
    """Score each agent by the sats of its living units."""
    held = dict.fromkeys(state.setting.agents, 0)
    for unit in state.living:
        held[unit.team] += unit.sats
    return held


def setup(config: TrustConfig, agents: tuple[str, ...], seed: int) -> State:
    """Begin with one unit for each agent, each with the same sats (seed, section 2)."""
    setting = Setting(config, agents, seed)
    _check_names(setting)
    return State(setting, turn=0, units=tuple(Unit(agent, agent, config.start) for agent in agents))


def _check_names(setting: Setting[TrustConfig]) -> None:
    """Refuse an alliance of agents that there are not, and an agent with the observer's name."""
    if OBSERVER in setting.agents:
        raise ValueError(f"agents: {OBSERVER!r} is who answers begging, not a name")
    named = {agent for allied in setting.config.alliances for agent in allied}
    strangers = sorted(named - set(setting.agents))
    if strangers:
        raise ValueError(f"alliances: there is no agent {', '.join(strangers)}")


def load(setting: Setting[TrustConfig], data: JsonObject) -> State:
    """Give a state from its JSON; fields that are not there have their defaults."""
    _check_names(setting)
    state = CODEC.from_json(data, setting=setting)
    ids = [unit.id for unit in state.units]
    if len(set(ids)) < len(ids) or not set(setting.agents) <= set(ids):
        raise ValueError("units: each of the run's agents is one, no id twice")
    agents = set(setting.agents)
    if not {unit.team for unit in state.units} <= agents or any(
        unit.team != unit.id for unit in state.units if unit.id in agents
    ):
        raise ValueError("units: the team of each is one of the run's agents, of an agent itself")
    if state.winner is not None and state.winner not in agents:
        raise ValueError("winner: one of the run's agents, or null")
    if any(unit.alive and unit.sats < 1 for unit in state.units):
        raise ValueError("units: who is alive has sats")
    return replace(state, units=tuple(sorted(state.units, key=lambda unit: unit.id)))
