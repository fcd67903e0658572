"""mining: the config with every treatment, and the state of the grid.

Source: docs/rules/mining.md#the-board.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hobbes.engine.chance import chance
from hobbes.engine.record import Json, JsonObject
from hobbes.engine.telling import counted
from hobbes.engine.world import Config, Percent, RunSetting, Setting, StateCodec

Cell: TypeAlias = tuple[int, int]
"""A plot as (row, column). Both count from 0."""

Owners: TypeAlias = tuple[tuple[str | None, ...], ...]
Numbers: TypeAlias = tuple[tuple[int, ...], ...]
Turns: TypeAlias = tuple[tuple[int | None, ...], ...]

Productivity = Annotated[int, Field(ge=0, le=1000)]
Stamina = Annotated[int, Field(ge=0, le=1000)]


class GoldMines(BaseModel):
    """Uneven land: `plots` gold mines give `multiplier` gold per stamina, and all other plots give 1."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    plots: int = Field(ge=0)
    multiplier: Productivity


class MiningConfig(Config):
    """Every treatment of the mining world. The defaults are the baseline.

    Source: docs/rules/mining.md#treatments.
    """

    rounds: int = Field(200, ge=1, le=100_000, description="rounds to play (R)")
    hide_horizon: bool = Field(default=True, description="agents are not told how many rounds are left")
    rows: int = Field(10, ge=1, le=50, description="rows of the grid")
    cols: int = Field(10, ge=1, le=50, description="columns of the grid")
    stamina: Stamina | tuple[Stamina, ...] = Field(
        10, description="stamina a round (S), or a list, one an agent"
    )
    stamina_rise: int = Field(0, ge=0, le=1000, description="stamina that each round has more than the last")
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
    own_history: bool = Field(
        default=False, description="agents also see each of their own actions, plot by plot"
    )
    fault_policy: Literal["prune", "rationalize"] = Field(
        "prune", description="remove what is not allowed, or replace it by a random legal action"
    )
    guidance: bool = Field(default=True, description="the prompt's heuristics (the variant guided) or none")
    communication: bool = Field(default=False, description="a short message to all, read next round")
    private_messages: bool = Field(
        default=False, description="short messages to single miners, read next round"
    )
    message_limit: int = Field(200, ge=1, le=2000, description="characters of a message")
    authority: Literal["none", "raid_tax", "punishment", "adjudication"] = Field(
        "none", description="what an authority does about raids"
    )
    raid_tax: int = Field(1, ge=0, le=1000, description="gold taken for each raid")
    raid_tax_to: Literal["victim", "nobody"] = Field("victim", description="who gets the tax")
    punishment: int = Field(2, ge=0, le=1000, description="stamina that a raider lacks next round")
    adjudication_percent: Percent = Field(
        50, description="how likely a captured plot goes back at the end of the round, in percent"
    )

    @property
    def talk(self) -> bool:
        """Whether agents can write to each other."""
        return self.communication or self.private_messages

    @model_validator(mode="after")
    def _alpha_fits_the_grid(self) -> "MiningConfig":
        if isinstance(self.alpha, tuple) and [len(row) for row in self.alpha] != [self.cols] * self.rows:
            raise ValueError(f"alpha: give {counted(self.rows, 'row')} of {counted(self.cols, 'number')}")
        if isinstance(self.alpha, GoldMines) and self.alpha.plots > self.rows * self.cols:
            grid = counted(self.rows * self.cols, "plot")
            raise ValueError(f"alpha: a grid of {grid} cannot hold {counted(self.alpha.plots, 'gold mine')}")
        return self


@dataclass(frozen=True, slots=True)
class RaidNews:
    """One raided plot: its owner, its raiders, the one that took it, if one did, and whether it went back."""

    cell: Cell
    owner: str
    raiders: tuple[str, ...]
    defended: bool
    taken_by: str | None
    returned: bool = False


@dataclass(frozen=True, slots=True)
class ClaimNews:
    """One claimed plot: its claimants and the one that got it."""

    cell: Cell
    claimants: tuple[str, ...]
    winner: str


@dataclass(frozen=True, slots=True)
class News:
    """What all agents may know about one round, plot by plot."""

    claims: tuple[ClaimNews, ...] = ()
    raids: tuple[RaidNews, ...] = ()
    defended: tuple[Cell, ...] = ()


NO_NEWS = News()


@dataclass(frozen=True, slots=True)
class Deeds:
    """What one agent did in a round: its stamina by kind of action, the gold that it mined, and its taxes."""

    claim: int = 0
    raid: int = 0
    defend: int = 0
    mine: int = 0
    gold: int = 0
    tax_paid: int = 0
    tax_received: int = 0
    actions: tuple[tuple[str, int, int, int], ...] = ()
    """Each action as (kind, row, column, stamina); empty unless agents are shown them (`own_history`)."""


class Message(NamedTuple):
    """A message of the last round; without `to` it went to all agents."""

    author: str
    text: str
    to: str | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """One round of the rolling summary: each figure counts plots."""

    claimed: int
    contested: int
    defended: int
    raided: int
    taken: int
    returned: int


@dataclass(frozen=True, slots=True)
class Past:
    """The log of one round: what all may know about it, and what each agent did.

    `news` is empty for a round of which agents may only know the figures, so that states stay small.
    """

    turn: int
    tally: Tally
    deeds: Mapping[str, Deeds]
    news: News = NO_NEWS


@dataclass(frozen=True, eq=False)
class State:
    """The grid at the start of round `turn`, which counts from 0.

    States are compared by identity, so that a state can be the key of a cache.
    """

    setting: RunSetting[MiningConfig]
    turn: int
    owners: Owners
    first_owner: Owners
    since: Turns
    """The round in which the current owner got each plot."""
    claimed: Turns
    """The round in which each plot was claimed."""
    gold: Mapping[str, int]
    alpha: Numbers
    """The gold per stamina of each plot."""
    fined: Mapping[str, int] = field(default_factory=dict)
    """The stamina that punished raiders lack this round."""
    past: tuple[Past, ...] = ()
    """The rounds that agents may look back on, the last one at the end."""
    messages: tuple[Message, ...] = ()
    """The messages of the last round."""

    @property
    def config(self) -> MiningConfig:
        """The rules of this run."""
        return self.setting.config

    @property
    def news(self) -> News:
        """What all agents may know about the last round."""
        return self.past[-1].news if self.past else NO_NEWS

    @property
    def deeds(self) -> Mapping[str, Deeds]:
        """What each agent did in the last round; empty if there was none."""
        return self.past[-1].deeds if self.past else {}

    @cached_property
    def owner(self) -> Mapping[Cell, str | None]:
        """The owner of each plot at the start of this round, row by row."""
        return {(r, c): owner for r, row in enumerate(self.owners) for c, owner in enumerate(row)}

    @cached_property
    def holdings(self) -> Mapping[str, tuple[Cell, ...]]:
        """Each agent's plots, row by row."""
        held: dict[str, list[Cell]] = {agent: [] for agent in self.setting.agents}
        for cell, owner in self.owner.items():
            if owner is not None:
                held[owner].append(cell)
        return {agent: tuple(cells) for agent, cells in held.items()}

    @cached_property
    def protected(self) -> Mapping[Cell, int]:
        """The plots that cannot be raided yet, row by row, each with the first round in which it can be.

        Source: docs/rules/mining.md#immunity.
        """
        immunity, now = self.config.immunity, self.turn
        return {
            (r, c): turn + immunity
            for r, row in enumerate(self.claimed)
            for c, turn in enumerate(row)
            if turn is not None and turn + immunity > now
        }

    @cached_property
    def held(self) -> Mapping[Cell, int]:
        """For how many rounds its current owner has held each plot; 0 if nobody owns it."""
        return {
            (r, c): 0 if turn is None else self.turn - turn
            for r, row in enumerate(self.since)
            for c, turn in enumerate(row)
        }

    @cached_property
    def exposed(self) -> Counter[int]:
        """How many plots can be raided this round, by the rounds for which their owners have held them.

        Source: docs/rules/mining.md#raids-by-holding-time.
        """
        owned = [cell for cells in self.holdings.values() for cell in cells]
        return Counter([self.held[cell] for cell in owned if cell not in self.protected])

    def stamina(self, agent: str) -> int:
        """Return what an agent may spend this round: its stamina, with its rise and less a punishment.

        Source: docs/rules/mining.md#stamina-budget.
        """
        given = self.config.stamina
        full = given if isinstance(given, int) else given[self.setting.agents.index(agent)]
        return max(0, full + self.config.stamina_rise * self.turn - self.fined.get(agent, 0))


def cells(config: MiningConfig) -> Iterator[Cell]:
    """Yield all plots, row by row.

    Source: docs/rules/mining.md#grid.
    """
    return ((r, c) for r in range(config.rows) for c in range(config.cols))


def setup(config: MiningConfig, agents: tuple[str, ...], seed: int) -> State:
    """Return the first state: all plots are unowned. Raise ValueError if `stamina` does not fit the agents.

    Source: docs/rules/mining.md#start, docs/rules/mining.md#stamina-budget.
    """
    if isinstance(config.stamina, tuple) and len(config.stamina) != len(agents):
        raise ValueError(f"stamina: give one number, or a list of {len(agents)}, one per agent")
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
    """Return a state from its JSON, with defaults for missing fields. Raise ValueError if it does not fit.

    Source: docs/rules/mining.md#states-from-outside.
    """
    fresh = setup(setting.config, setting.agents, setting.seed)
    defaults: dict[str, Json] = {"claimed": data.get("since", fresh.claimed), "alpha": fresh.alpha}
    state = CODEC.from_json({**defaults, **data}, setting=setting)
    _check_shape(state)
    return state


CODEC = StateCodec(State, load)


def _check_shape(state: State) -> None:
    """Raise ValueError if a state from outside does not fit its setting."""
    shape = (state.config.cols,) * state.config.rows
    for name in ("owners", "first_owner", "since", "claimed", "alpha"):
        if tuple(len(row) for row in getattr(state, name)) != shape:
            raise ValueError(
                f"{name}: give {counted(state.config.rows, 'row')} of {counted(state.config.cols, 'plot')}"
            )
    known = set(state.setting.agents)
    strangers = {owner for row in state.owners for owner in row if owner is not None} - known
    if strangers or set(state.gold) != known:
        raise ValueError("owners and gold: name agents of this run only, and all of them in gold")
    if any(set(log.deeds) != known for log in state.past):
        raise ValueError("past: name all agents of this run, and no others, in deeds")


def _productivity(config: MiningConfig, seed: int) -> Numbers:
    """Return the gold per stamina of each plot. Random draws, keyed by seed and plot, place the gold mines.

    Source: docs/rules/mining.md#uneven-land.
    """
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
