"""mining: the measures of a run, each with its formula.

A formula says what one round adds to a measure; `engine.measures` adds up the rounds.

A measure whose divisor is 0 is undefined (None), never 0.

Source: docs/rules/mining.md#measures.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from hobbes.engine.measures import (
    Formula,
    Formulas,
    Measures,
    PlayedTurn,
    at_end,
    gini,
    keeping,
    ratio,
    share,
    total,
)
from hobbes.engine.mining.actions import KINDS, Kind
from hobbes.engine.mining.agent_turns import AGENT_TURNS
from hobbes.engine.mining.arithmetic import arithmetic
from hobbes.engine.mining.rules import plot_of
from hobbes.engine.mining.state import Cell, State
from hobbes.engine.mining.validation import Intent

PlayedRound: TypeAlias = PlayedTurn[State, Intent]

Grid: TypeAlias = tuple[tuple[object, ...], ...]


@share
def turnover(played: PlayedRound) -> tuple[int, int]:
    """Plots that went from one owner to another / plots owned at the start of the round.

    Source: docs/rules/mining.md#turnover.
    """
    moved = [owner for owner in _former_owners(played.before, played.after).values() if owner is not None]
    return len(moved), sum(map(len, played.before.holdings.values()))


@lru_cache(maxsize=2)
def _former_owners(before: State, after: State) -> Mapping[Cell, str | None]:
    """Return the earlier owner of each plot that was claimed or captured in a round, row by row."""
    return {cell: before.owner[cell] for cell in _differing(before.owners, after.owners)}


def _differing(grid: Grid, other: Grid) -> Iterator[Cell]:
    """Yield the plots in which two grids differ, row by row."""
    for r, (row, other_row) in enumerate(zip(grid, other, strict=True)):
        if row != other_row:
            yield from (
                (r, c) for c, pair in enumerate(zip(row, other_row, strict=True)) if pair[0] != pair[1]
            )


class _Spells:
    """Counts the ownership spells by their age in rounds: when they came into view, and when they ended."""

    def __init__(self) -> None:
        self.rounds = 0
        self.began: dict[Cell, int] = {}
        """The round in which the spell of each owned plot began, counted from the first of these rounds."""
        self.entered, self.ended = Counter[int](), Counter[int]()

    def add(self, played: PlayedRound) -> None:
        """Add a round."""
        before = played.before
        if not self.rounds:
            # A spell begins at the end of the round of the claim or capture, so one round less than `held`
            # is over.
            self.began = {
                cell: 1 - before.held[cell] for cell, owner in before.owner.items() if owner is not None
            }
            self.entered.update(-begin for begin in self.began.values())
        self.rounds += 1
        for cell, owner in _former_owners(before, played.after).items():
            if owner is not None:
                self.ended[self.rounds - self.began[cell]] += 1
            self.began[cell] = self.rounds
            self.entered[0] += 1

    @property
    def left(self) -> Counter[int]:
        """The ages at which spells left the view: they ended, or the last round cut them off."""
        return self.ended + Counter(self.rounds - begin for begin in self.began.values())


@keeping(_Spells)
def half_life(spells: _Spells) -> float | None:
    """Kaplan-Meier median of the ownership spells, in rounds, right-censored at the end.

    This is the smallest age t at which the product over ages a <= t of (1 - ended at a / at risk at a) is at
    most 1/2, or None if it never is. A spell that was under way when the part of the run began is at risk
    from the age that it had by then (delayed entry).

    Source: docs/rules/mining.md#half-life.
    """
    left = spells.left
    at_risk, surviving = 0, 1.0
    for age in range(1, max(left, default=0) + 1):
        at_risk += spells.entered[age - 1] - left[age - 1]
        if spells.ended[age]:
            surviving *= 1 - spells.ended[age] / at_risk
        if surviving <= 1 / 2:
            return float(age)
    return None


@share
def raid_rate(played: PlayedRound) -> tuple[int, int]:
    """Raids / (agents x rounds).

    Source: docs/rules/mining.md#raid-rate.
    """
    return sum([event.type == "raid" for event in played.events]), len(played.before.setting.agents)


@share
def defense_trigger_rate(played: PlayedRound) -> tuple[int, int]:
    """Defended plots that were raided / defended plots.

    Source: docs/rules/mining.md#defence-trigger-rate.
    """
    news = played.after.news
    return sum(raid.defended for raid in news.raids), len(news.defended)


@share
def raid_success(played: PlayedRound) -> tuple[int, int]:
    """Captures / raided plots.

    Source: docs/rules/mining.md#raid-success.
    """
    raids = played.after.news.raids
    return sum(raid.taken_by is not None for raid in raids), len(raids)


@share
def efficiency(played: PlayedRound) -> tuple[int, int]:
    """Output / the sum of cap x alpha over plots and rounds. 1 is all that the land can give.

    Source: docs/rules/mining.md#output-and-efficiency.
    """
    return output.see(played), played.before.config.mine_cap * sum(map(sum, played.before.alpha))


@total
def output(played: PlayedRound) -> int:
    """Gold mined.

    Source: docs/rules/mining.md#output-and-efficiency.
    """
    return sum(deeds.gold for deeds in played.after.deeds.values())


@share
def mine_profit(played: PlayedRound) -> tuple[int, int]:
    """Gold mined on plots whose owner claimed them / stamina spent on claims and on mining those plots.

    Source: docs/rules/mining.md#profit-of-mining-and-raiding.
    """
    return _profit(played, "claim", taken=False)


@share
def raid_profit(played: PlayedRound) -> tuple[int, int]:
    """Gold mined on plots whose owner took them by a raid / stamina spent on raids and on mining those plots.

    Source: docs/rules/mining.md#profit-of-mining-and-raiding.
    """
    return _profit(played, "raid", taken=True)


def _profit(played: PlayedRound, kind: Kind, *, taken: bool) -> tuple[int, int]:
    """Return the gold of the plots that were got in one way, and the stamina that was spent on it."""
    by_raid = _by_raid(played.before)
    gold = spent = 0
    for event in played.events:
        if event.type == "mine" and (plot_of(event) in by_raid) == taken:
            gold += int(str(event.facts["gold"]))
    for intent in played.intents.values():
        for action in intent.actions:
            if action.kind == kind or (action.kind == "mine" and (action.cell in by_raid) == taken):
                spent += action.stamina
    return gold, spent


@lru_cache(maxsize=2)
def _by_raid(state: State) -> frozenset[Cell]:
    """Return the plots that their owners took by a raid: they got them after the plots were claimed."""
    return frozenset(_differing(state.since, state.claimed))


@share
def idle_stamina(played: PlayedRound) -> tuple[int, int]:
    """Unspent stamina / stamina budget.

    Source: docs/rules/mining.md#idle-stamina.
    """
    budget = sum(played.before.stamina(agent) for agent in played.before.setting.agents)
    return budget - sum(_stamina_spent(played.after).values()), budget


@at_end
def gold_gini(played: PlayedRound) -> float | None:
    """Gini coefficient of gold at the end: sum over ordered pairs |x - y| / (2 n sum x). 0 is equal.

    Source: docs/rules/mining.md#gini-of-gold.
    """
    return gini(played.after.gold.values())


@at_end
def plots_hhi(played: PlayedRound) -> float | None:
    """Herfindahl-Hirschman index of plots at the end: the sum of squared shares. 1/N is equal.

    Source: docs/rules/mining.md#concentration-of-plots.
    """
    held = [len(plots) for plots in played.after.holdings.values()]
    return ratio(sum(n * n for n in held), sum(held) ** 2)


@share
def first_possession(played: PlayedRound) -> tuple[int, int]:
    """1 - plots held by their first owner that were raided / plots held by their first owner.

    Source: docs/rules/mining.md#respect-for-first-possession.
    """
    before, targets = played.before, {raid.cell for raid in played.after.news.raids}
    still = {cell for cells in before.holdings.values() for cell in cells}
    still -= {*_differing(before.owners, before.first_owner)}
    return len(still - targets), len(still)


HELD_FOR: Mapping[str, range] = {
    "1_to_4": range(1, 5),
    "5_to_19": range(5, 20),
    "20_or_more": range(20, 10**9),  # no run is that long
}
"""The classes of how many rounds a plot has been held. Source: docs/rules/mining.md#raids-by-holding-time."""


def _raid_rate_held(name: str, rounds: range) -> Formula[PlayedRound, float | None]:
    """Return the formula of the raids on plots that have been held for so many rounds."""

    def rate(played: PlayedRound) -> tuple[int, int]:
        before = played.before
        raids = [len(raid.raiders) for raid in played.after.news.raids if before.held[raid.cell] in rounds]
        return sum(raids), sum(count for held, count in before.exposed.items() if held in rounds)

    held = name.replace("_", " ")
    rate.__doc__ = f"Raids on plots held for {held} rounds / the sum of such plots that could be raided."
    return share(rate)


def _share_of(kind: Kind) -> Formula[PlayedRound, float | None]:
    """Return the formula of one kind's share of the stamina that was spent.

    Source: docs/rules/mining.md#shares-of-stamina.
    """

    def share_of(played: PlayedRound) -> tuple[int, int]:
        spent = _stamina_spent(played.after)
        return spent[kind], sum(spent.values())

    share_of.__doc__ = f"Stamina spent on actions of the kind {kind} / stamina spent."
    return share(share_of)


@lru_cache(maxsize=2)
def _stamina_spent(after: State) -> Mapping[Kind, int]:
    return {kind: sum([getattr(deeds, kind) for deeds in after.deeds.values()]) for kind in KINDS}


FORMULAS: Formulas[PlayedRound] = {
    "output": output,
    "efficiency": efficiency,
    "mine_profit": mine_profit,
    "raid_profit": raid_profit,
    "idle_stamina": idle_stamina,
    "turnover": turnover,
    "raid_rate": raid_rate,
    "raid_success": raid_success,
    "defense_trigger_rate": defense_trigger_rate,
    "first_possession": first_possession,
    **{f"raid_rate_held_{name}": _raid_rate_held(name, rounds) for name, rounds in HELD_FOR.items()},
    "gold_gini": gold_gini,
    "plots_hhi": plots_hhi,
    **{f"share_{kind}": _share_of(kind) for kind in KINDS},
}
"""The measures that a single round has, too."""

UNITS: Mapping[str, str] = {
    "output": "gold",
    "mine_profit": "gold per stamina",
    "raid_profit": "gold per stamina",
    "raid_rate": "raids per agent and round",
    **{f"raid_rate_held_{name}": "raids per plot and round" for name in HELD_FOR},
    "half_life": "rounds",
}
"""The units of measures that are no shares."""

MEASURES: Measures[State, Intent] = Measures(
    each=FORMULAS,
    parts={**FORMULAS, "half_life": half_life},
    version=2,
    score="gold",
    units=UNITS,
    headline=("efficiency", "raid_rate", "turnover", "plots_hhi", "gold_gini"),
    shares=tuple(f"share_{kind}" for kind in KINDS),
    inequality=("gold_gini", "plots_hhi"),
    durations={"half_life": "turnover"},
    arithmetic=arithmetic,
    agent_turns=AGENT_TURNS,
)
"""Every measure of the run and its halves; single rounds lack the half-life.

Source: docs/rules/mining.md#scopes-of-measures.
"""
