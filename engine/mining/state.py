"""mining: the config with every treatment, and the state of the grid.

Source: seed `mining.json` (details, treatments_and_ablation_parameters) and its decisions page.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, model_validator

from engine.chance import chance
from engine.record import Json, JsonObject
from engine.world import Codec, Config, Setting

Cell: TypeAlias = tuple[int, int]
"""A plot: (row, column), from (0, 0)."""

Owners: TypeAlias = tuple[tuple[str | None, ...], ...]
Numbers: TypeAlias = tuple[tuple[int, ...], ...]
Turns: TypeAlias = tuple[tuple[int | None, ...], ...]

Productivity = Annotated[int, Field(ge=0, le=1000)]
Stamina = Annotated[int, Field(ge=0, le=1000)]


class GoldMines(BaseModel):
    """Uneven land: `plots` gold mines, placed by a draw, give `multiplier` gold per stamina, the rest 1."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    plots: int = Field(ge=0)
    multiplier: Productivity


class MiningConfig(Config):
    """Every treatment of the mining world; the defaults are the seed's baseline."""

    rounds: int = Field(200, ge=1, le=100_000, description="rounds to play (R)")
    rows: int = Field(10, ge=1, le=50, description="rows of the grid")
    cols: int = Field(10, ge=1, le=50, description="columns of the grid")
    stamina: Stamina | tuple[Stamina, ...] = Field(
        10, description="stamina a round (S), or a list, one an agent"
    )
    mine_cap: int = Field(3, ge=1, le=1000, description="stamina that one plot takes a round (M_CAP)")
    alpha: Productivity | tuple[tuple[Productivity, ...], ...] | GoldMines = Field(
        1, description="gold per stamina: a number, rows of numbers, or {plots, multiplier}"
    )
    immunity: int = Field(1, ge=0, le=100_000, description="rounds a claimed plot cannot be raided (W)")
    defense: Literal["block_all", "per_point"] = Field(
        "block_all", description="one point stops every raid, or each point one raid"
    )
    visibility: Literal["last", "window", "full"] = Field("window", description="how much history agents see")
    window: int = Field(5, ge=1, le=1000, description="rounds of the rolling summary (K)")
    fault_policy: Literal["prune", "rationalize"] = Field(
        "prune", description="remove what is not allowed, or replace it by a random legal action"
    )
    guidance: bool = Field(default=True, description="the prompt's heuristics (the variant guided) or none")
    communication: bool = Field(default=False, description="a short message to all, read next round")
    message_limit: int = Field(200, ge=1, le=2000, description="characters of a message")
    authority: Literal["none", "raid_tax", "punishment", "adjudication"] = Field(
        "none", description="what an authority does about raids"
    )
    raid_tax: int = Field(1, ge=0, le=1000, description="gold taken for each raid")
    raid_tax_to: Literal["victim", "nobody"] = Field("victim", description="who gets the tax")
    punishment: int = Field(2, ge=0, le=1000, description="stamina that a raider lacks next round")
    adjudication_percent: int = Field(
        50,
        ge=0,
        le=100,
        description="how likely a captured plot goes back at the end of the round, in percent",
    )

    @model_validator(mode="after")
    def _alpha_fits_the_grid(self) -> "MiningConfig":
        if isinstance(self.alpha, tuple) and [len(row) for row in self.alpha] != [self.cols] * self.rows:
            raise ValueError(f"alpha: give {self.rows} rows of {self.cols} numbers")
        if isinstance(self.alpha, GoldMines) and self.alpha.plots > self.rows * self.cols:
            raise ValueError(
                f"alpha: {self.rows * self.cols} plots cannot hold {self.alpha.plots} gold mines"
            )
        return self


@dataclass(frozen=True, slots=True)
class RaidNews:
    """One raided plot: who held it, who raided it, and who took it, if anybody."""

    cell: Cell
    owner: str
    raiders: tuple[str, ...]
    defended: bool
    taken_by: str | None


@dataclass(frozen=True, slots=True)
class ClaimNews:
    """One claimed plot: who wanted it and who got it."""

    cell: Cell
    claimants: tuple[str, ...]
    winner: str


@dataclass(frozen=True, slots=True)
class News:
    """What everybody may know of one round, plot by plot."""

    claims: tuple[ClaimNews, ...] = ()
    raids: tuple[RaidNews, ...] = ()
    defended: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class Tally:
    """One round of the rolling summary, in plots."""

    turn: int
    claimed: int
    contested: int
    defended: int
    raided: int
    taken: int


@dataclass(frozen=True, slots=True)
class Deeds:
    """What one agent did in the last round: stamina by kind of action, and gold mined."""

    claim: int = 0
    raid: int = 0
    defend: int = 0
    mine: int = 0
    gold: int = 0


@dataclass(frozen=True, eq=False)
class State:
    """The grid at the start of round `turn`, from 0; compared by identity, so that it can be a key."""

    setting: Annotated[Setting[MiningConfig], SkipValidation, Field(exclude=True)]
    turn: int
    owners: Owners
    first_owner: Owners
    since: Turns
    """The round in which the present owner got the plot."""
    claimed: Turns
    """The round in which the plot was claimed."""
    gold: Mapping[str, int]
    alpha: Numbers
    """Gold per stamina of each plot."""
    fined: Mapping[str, int] = field(default_factory=dict)
    """Stamina that raiders lack this round."""
    news: News = News()
    tallies: tuple[Tally, ...] = ()
    deeds: Mapping[str, Deeds] = field(default_factory=dict)
    messages: tuple[tuple[str, str], ...] = ()
    """(author, text) of the last round."""

    @property
    def config(self) -> MiningConfig:
        """The rules of this run."""
        return self.setting.config

    @cached_property
    def owner(self) -> Mapping[Cell, str | None]:
        """Who owns each plot of the grid at the start of this round, row-major."""
        return {(r, c): owner for r, row in enumerate(self.owners) for c, owner in enumerate(row)}

    @cached_property
    def holdings(self) -> Mapping[str, tuple[Cell, ...]]:
        """Each agent's plots, row-major."""
        held: dict[str, list[Cell]] = {agent: [] for agent in self.setting.agents}
        for cell, owner in self.owner.items():
            if owner is not None:
                held[owner].append(cell)
        return {agent: tuple(cells) for agent, cells in held.items()}

    def stamina(self, agent: str) -> int:
        """Tell what an agent may spend this round: its S, less a punishment."""
        given = self.config.stamina
        full = given if isinstance(given, int) else given[self.setting.agents.index(agent)]
        return max(0, full - self.fined.get(agent, 0))

    def immune(self, cell: Cell) -> bool:
        """Tell whether a plot is in its immunity window: rounds r to r + W - 1 of its claim in round r."""
        claimed = self.claimed[cell[0]][cell[1]]
        return claimed is not None and self.turn < claimed + self.config.immunity


CODEC = Codec(State)


def cells(config: MiningConfig) -> Iterator[Cell]:
    """Scan the grid row-major, from (0, 0) (seed: map_and_identifier_conventions)."""
    return ((r, c) for r in range(config.rows) for c in range(config.cols))


def setup(config: MiningConfig, agents: tuple[str, ...], seed: int) -> State:
    """Begin with all plots unowned (seed: initial_property_state)."""
    if isinstance(config.stamina, tuple) and len(config.stamina) != len(agents):
        raise ValueError(f"stamina: give one number, or {len(agents)}, one an agent")
    nobody: tuple[None, ...] = (None,) * config.cols
    empty = (nobody,) * config.rows
    return State(
        Setting(config, agents, seed),
        turn=0,
        owners=empty,
        first_owner=empty,
        since=empty,
        claimed=empty,
        gold=dict.fromkeys(agents, 0),
        alpha=_productivity(config, seed),
    )


def load(setting: Setting[MiningConfig], data: JsonObject) -> State:
    """Give a state from its JSON; fields that are not there have their defaults."""
    fresh = setup(setting.config, setting.agents, setting.seed)
    defaults: dict[str, Json] = {"claimed": data.get("since", fresh.claimed), "alpha": fresh.alpha}
    state = CODEC.from_json({**defaults, **data}, setting=setting)
    _check_shape(state)
    return state


def _check_shape(state: State) -> None:
    """Refuse a state from outside that does not fit its setting."""
    shape = (state.config.cols,) * state.config.rows
    for name, grid in (
        ("owners", state.owners),
        ("first_owner", state.first_owner),
        ("since", state.since),
        ("claimed", state.claimed),
        ("alpha", state.alpha),
    ):
        if tuple(len(row) for row in grid) != shape:
            raise ValueError(f"{name}: give {state.config.rows} rows of {state.config.cols}")
    known = set(state.setting.agents)
    strangers = {owner for row in state.owners for owner in row if owner is not None} - known
    if strangers or set(state.gold) != known:
        raise ValueError("owners and gold: name the run's agents, all of them in gold, nobody else")


def _productivity(config: MiningConfig, seed: int) -> Numbers:
    """Give each plot's gold per stamina; gold mines are placed by a draw of their own."""
    if isinstance(config.alpha, int):
        return ((config.alpha,) * config.cols,) * config.rows
    if isinstance(config.alpha, tuple):
        return config.alpha
    order = sorted(cells(config), key=lambda cell: chance(seed, 0, list(cell), "gold-mine"))
    rich = set(order[: config.alpha.plots])
    multiplier = config.alpha.multiplier
    return tuple(
        tuple(multiplier if (r, c) in rich else 1 for c in range(config.cols)) for r in range(config.rows)
    )
