"""mining: the measures of a run, each with its formula.

A measure whose divisor is 0 is undefined (None), never 0.

Source: docs/rules/mining.md#measures.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from engine.measuring import parts, ratio
from engine.mining.actions import KINDS
from engine.mining.state import State
from engine.mining.validation import Intent
from engine.world import Measure, Played

History: TypeAlias = Sequence[Played[State, Intent]]


def measures(history: History) -> tuple[Measure, ...]:
    """Return every measure for the run and its halves, and all but the half-life for each round.

    Source: docs/rules/mining.md#scopes-of-measures.
    """
    if not history:
        return ()
    found = [
        Measure(name, scope, formula(part))
        for scope, part in parts(history)
        for name, formula in {**FORMULAS, "half_life": half_life}.items()
    ]
    for played in history:
        scope = f"turn/{played.before.turn}"
        found += [Measure(name, scope, formula([played])) for name, formula in FORMULAS.items()]
    return tuple(found)


def turnover(history: History) -> float | None:
    """Plots that went from one owner to another / plots owned at the start of the round.

    Source: docs/rules/mining.md#turnover.
    """
    moved = owned = 0
    for played in history:
        for cell, owner in played.before.owner.items():
            owned += owner is not None
            moved += owner is not None and played.after.owner[cell] != owner
    return ratio(moved, owned)


def half_life(history: History) -> float | None:
    """Kaplan-Meier median of the ownership spells, in rounds, right-censored at the end.

    This is the smallest age t at which the product over ages a <= t of (1 - ended at a / at risk at a) is at
    most 1/2, or None if it never is. A spell that was under way when the part of the run began is at risk
    from the age that it had by then (delayed entry).

    Source: docs/rules/mining.md#half-life.
    """
    entered, left, ended = _spells(history)
    at_risk, surviving = 0, 1.0
    for age in range(1, max(left, default=0) + 1):
        at_risk += entered[age - 1] - left[age - 1]
        if ended[age]:
            surviving *= 1 - ended[age] / at_risk
        if surviving <= 1 / 2:
            return float(age)
    return None


def _spells(history: History) -> tuple[Counter[int], Counter[int], Counter[int]]:
    """Count ownership spells by their age in rounds: when they came into view, left it, and ended.

    A spell that the end cuts off leaves without ending.

    Source: docs/rules/mining.md#half-life.
    """
    first = history[0].before
    # A spell begins at the end of the round of the claim or capture, so one round less than `held` is over.
    began = {cell: 1 - first.held(cell) for cell, owner in first.owner.items() if owner is not None}
    entered, left, ended = Counter(-begin for begin in began.values()), Counter[int](), Counter[int]()
    for k, played in enumerate(history, start=1):
        for cell, before in played.before.owner.items():
            if before != played.after.owner[cell]:
                if before is not None:
                    left[k - began[cell]] += 1
                    ended[k - began[cell]] += 1
                began[cell] = k
                entered[0] += 1
    left.update(len(history) - begin for begin in began.values())
    return entered, left, ended


def raid_rate(history: History) -> float | None:
    """Raids / (agents x rounds).

    Source: docs/rules/mining.md#raid-rate.
    """
    raids = sum(event.type == "raid" for played in history for event in played.events)
    return ratio(raids, sum(len(played.before.setting.agents) for played in history))


def defense_trigger_rate(history: History) -> float | None:
    """Defended plots that were raided / defended plots.

    Source: docs/rules/mining.md#defence-trigger-rate.
    """
    defended = sum(len(played.after.news.defended) for played in history)
    return ratio(sum(raid.defended for played in history for raid in played.after.news.raids), defended)


def raid_success(history: History) -> float | None:
    """Captures / raided plots.

    Source: docs/rules/mining.md#raid-success.
    """
    raided = [raid for played in history for raid in played.after.news.raids]
    return ratio(sum(raid.taken_by is not None for raid in raided), len(raided))


def efficiency(history: History) -> float | None:
    """Output / the sum of cap x alpha over plots and rounds. 1 is all that the land can give.

    Source: docs/rules/mining.md#output-and-efficiency.
    """
    bound = sum(p.before.config.mine_cap * sum(map(sum, p.before.alpha)) for p in history)
    return ratio(output(history), bound)


def output(history: History) -> float:
    """Gold mined.

    Source: docs/rules/mining.md#output-and-efficiency.
    """
    return sum(deeds.gold for played in history for deeds in played.after.deeds.values())


def idle_stamina(history: History) -> float | None:
    """Unspent stamina / stamina budget.

    Source: docs/rules/mining.md#idle-stamina.
    """
    budget = sum(p.before.stamina(agent) for p in history for agent in p.before.setting.agents)
    return ratio(budget - _spent(history).total(), budget)


def gold_gini(history: History) -> float | None:
    """Gini coefficient of gold at the end: sum over ordered pairs |x - y| / (2 n sum x). 0 is equal.

    Source: docs/rules/mining.md#gini-of-gold.
    """
    gold = sorted(history[-1].after.gold.values())
    weighted = sum((2 * k - len(gold) - 1) * value for k, value in enumerate(gold, start=1))
    return ratio(weighted, len(gold) * sum(gold))


def plots_hhi(history: History) -> float | None:
    """Herfindahl-Hirschman index of plots at the end: the sum of squared shares. 1/N is equal.

    Source: docs/rules/mining.md#concentration-of-plots.
    """
    held = [len(plots) for plots in history[-1].after.holdings.values()]
    return ratio(sum(n * n for n in held), sum(held) ** 2)


def first_possession(history: History) -> float | None:
    """1 - plots held by their first owner that were raided / plots held by their first owner.

    Source: docs/rules/mining.md#respect-for-first-possession.
    """
    raided = still = 0
    for played in history:
        targets = {raid.cell for raid in played.after.news.raids}
        for cell, owner in played.before.owner.items():
            if owner is not None and owner == played.before.first_owner[cell[0]][cell[1]]:
                still += 1
                raided += cell in targets
    share = ratio(raided, still)
    return None if share is None else 1 - share


HELD_FOR: Mapping[str, range] = {
    "1_to_4": range(1, 5),
    "5_to_19": range(5, 20),
    "20_or_more": range(20, 10**9),  # no run is that long
}
"""The classes of how many rounds a plot has been held. Source: docs/rules/mining.md#raids-by-holding-time."""


def _raid_rate_held(name: str, rounds: range) -> Callable[[History], float | None]:
    """Return the formula of the raids on plots that have been held for so many rounds.

    Source: docs/rules/mining.md#raids-by-holding-time.
    """

    def rate(history: History) -> float | None:
        raids = plots = 0
        for played in history:
            plots += sum(count for held, count in played.before.exposed.items() if held in rounds)
            for raid in played.after.news.raids:
                raids += len(raid.raiders) if played.before.held(raid.cell) in rounds else 0
        return ratio(raids, plots)

    held = name.replace("_", " ")
    rate.__doc__ = f"Raids on plots held for {held} rounds / the sum of such plots that could be raided."
    return rate


def _share_of(kind: str) -> Callable[[History], float | None]:
    """Return the formula of one kind's share of the stamina that was spent.

    Source: docs/rules/mining.md#shares-of-stamina.
    """

    def share(history: History) -> float | None:
        spent = _spent(history)
        return ratio(spent[kind], spent.total())

    share.__doc__ = f"Stamina spent on actions of the kind {kind} / stamina spent."
    return share


def _spent(history: History) -> Counter[str]:
    """Return the stamina spent by kind of action."""
    spent: Counter[str] = Counter()
    for played in history:
        for intent in played.intents.values():
            for action in intent.actions:
                spent[action.kind] += action.stamina
    return spent


FORMULAS: Mapping[str, Callable[[History], float | None]] = {
    "output": output,
    "efficiency": efficiency,
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

BY_NAME: Mapping[str, Callable[..., object]] = {**FORMULAS, "half_life": half_life}
"""The formula of each measure."""
