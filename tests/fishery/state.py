"""fishery: the config, and the state at the start of a round. Fish are counted in tonnes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field, field_validator

from hobbes.engine.record import JsonObject
from hobbes.engine.world import (
    ALL_PLAYED,
    NOT_HASHED,
    OBSERVER,
    Config,
    Percent,
    RunSetting,
    Setting,
    StateCodec,
)

MAX_TONNES = 1_000_000
"""The most tonnes that anything can be."""

Tonnes = Annotated[int, Field(ge=0, le=MAX_TONNES)]

REGULATORS = re.compile(r"keep|average|human|openai:\S+")
"""The regulators that a config may name; the first two are rules."""


class FisheryConfig(Config):
    """Every number of the rules."""

    rounds: int = Field(10, ge=1, le=100_000, description="rounds to play")
    capacity: int = Field(1000, ge=1, le=MAX_TONNES, description="tonnes of fish that the sea can feed")
    stock: int = Field(600, ge=1, le=MAX_TONNES, description="tonnes of fish at the start")
    growth: int = Field(40, ge=0, le=100, description="how fast the stock regrows, in percent a round")
    quota: Tonnes = Field(30, description="tonnes that each boat may land in a round, at the start")
    storm: Percent = Field(20, description="how often a storm halves all catches, in percent")
    talk: bool = Field(default=True, description="whether boats may send a message to all others")
    observer: Annotated[str, NOT_HASHED] = Field(
        "average", description="who rules on requests for another quota: keep, average, human, openai:NAME"
    )

    @field_validator("observer")
    @classmethod
    def _a_regulator(cls, said: str) -> str:
        if REGULATORS.fullmatch(said) is None:
            raise ValueError("give keep, average, human or openai:NAME")
        return said


@dataclass(frozen=True, slots=True)
class Ruling:
    """The regulator's answer to all requests of a round: the quota of every boat from then on, and why."""

    quota: Tonnes
    why: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """The fishery at the start of round `turn`, counted from 0."""

    setting: RunSetting[FisheryConfig]
    turn: Annotated[int, Field(ge=0)]
    stock: Tonnes
    quota: Tonnes
    landed: Mapping[str, Annotated[int, Field(ge=0)]]
    """The tonnes that each boat has landed up to now; only the boat itself knows them."""
    messages: Mapping[str, str] = field(default_factory=dict)
    """What boats wrote last round, by author."""
    ruling: Ruling | None = None
    """The regulator's answer of the last round."""

    @property
    def config(self) -> FisheryConfig:
        """The rules of this run."""
        return self.setting.config


def setup(config: FisheryConfig, agents: tuple[str, ...], seed: int) -> State:
    """Return the first state: boats that have landed nothing. ValueError: a boat has the observer's name."""
    if OBSERVER in agents:
        raise ValueError(f"agents: {OBSERVER!r} is the observer's name; choose another")
    return State(Setting(config, agents, seed), 0, config.stock, config.quota, dict.fromkeys(agents, 0))


def load(setting: Setting[FisheryConfig], data: JsonObject) -> State:
    """Return a state from its JSON; ValueError, in one line, for a state that cannot be."""
    state = CODEC.from_json(data, setting=setting)
    if set(state.landed) != set(setting.agents) or not set(state.messages) <= set(setting.agents):
        raise ValueError("landed, messages: must name the run's agents")
    return state


CODEC = StateCodec(State, load)


def over(state: State) -> bool:
    """Return whether the rounds have been played or no fish is left."""
    return state.turn >= state.config.rounds or state.stock == 0


def ending(state: State) -> str:
    """Return how a game that is over ended."""
    return ALL_PLAYED if state.stock else "no fish is left"
