"""mining: the measures of a run, each with its formula.

Source: seed `evaluation_metrics_and_goals`, `logging_and_metrics_protocol`; decisions page, "Measures".
A figure whose divisor is 0 is undefined (None), never 0.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from engine.measuring import parts, ratio
from engine.mining.actions import KINDS
from engine.mining.state import Cell, State
from engine.mining.validation import Intent
from engine.world import Measure, Played

History: TypeAlias = Sequence[Played[State, Intent]]


def measures(history: History) -> tuple[Measure, ...]:
    """Give every figure for the run, for each half, and (but for the half-life) for each round."""
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
    """Plots that went from one owner to another / plots owned at the start of the round."""
    moved = owned = 0
    for played in history:
        for cell, owner in played.before.owner.items():
            owned += owner is not None
            moved += owner is not None and played.after.owner[cell] != owner
    return ratio(moved, owned)


def half_life(history: History) -> float | None:
    """Kaplan-Meier median of the ownership spells, in rounds, right-censored at the end.

    The smallest age t at which the product over ages a <= t of (1 - ended at a / lasted at least a) is at
    most 1/2; None if it never is: more than half of the spells outlast what was seen.
    A spell that was under way when the part of the run begins is counted from there.
    """
    ended, censored = _spells(history)
    at_risk, surviving = sum(ended.values()) + sum(censored.values()), 1.0
    for age in sorted({*ended, *censored}):
        surviving *= 1 - ended[age] / at_risk
        if surviving <= 1 / 2:
            return float(age)
        at_risk -= ended[age] + censored[age]
    return None


def _spells(history: History) -> tuple[Counter[int], Counter[int]]:
    """Count ownership spells by their length in rounds: those that ended, and those cut by the end."""
    ended: Counter[int] = Counter()
    began: dict[Cell, int] = {cell: 0 for cell, owner in history[0].before.owner.items() if owner is not None}
    for k, played in enumerate(history, start=1):
        for cell, before in played.before.owner.items():
            if before != played.after.owner[cell]:
                if before is not None:
                    ended[k - began[cell]] += 1
                began[cell] = k
    return ended, Counter(len(history) - start for start in began.values())


def raid_rate(history: History) -> float | None:
    """Raids / (agents x rounds)."""
    raids = sum(event.type == "raid" for played in history for event in played.events)
    return ratio(raids, sum(len(played.before.setting.agents) for played in history))


def defense_trigger_rate(history: History) -> float | None:
    """Raided defended plots / defended plots."""
    defended = sum(len(played.after.news.defended) for played in history)
    return ratio(sum(raid.defended for played in history for raid in played.after.news.raids), defended)


def raid_success(history: History) -> float | None:
    """Captures / raided plots."""
    raided = [raid for played in history for raid in played.after.news.raids]
    return ratio(sum(raid.taken_by is not None for raid in raided), len(raided))


def efficiency(history: History) -> float | None:
    """Output / (the sum over plots of cap x alpha): 1 is all that the land can give."""
    bound = sum(p.before.config.mine_cap * sum(map(sum, p.before.alpha)) for p in history)
    return ratio(output(history), bound)


def output(history: History) -> float:
    """Gold mined."""
    return sum(deeds.gold for played in history for deeds in played.after.deeds.values())


def idle_stamina(history: History) -> float | None:
    """Unspent stamina / stamina that was there to spend."""
    budget = sum(p.before.stamina(agent) for p in history for agent in p.before.setting.agents)
    return ratio(budget - _spent(history).total(), budget)


def gold_gini(history: History) -> float | None:
    """Gini coefficient of gold at the end: sum over pairs |x - y| / (2 n sum x); 0 is equal."""
    gold = sorted(history[-1].after.gold.values())
    weighted = sum((2 * k - len(gold) - 1) * value for k, value in enumerate(gold, start=1))
    return ratio(weighted, len(gold) * sum(gold))


def plots_hhi(history: History) -> float | None:
    """Herfindahl-Hirschman index of plots at the end: the sum of squared shares; 1/N is equal."""
    held = [len(plots) for plots in history[-1].after.holdings.values()]
    return ratio(sum(n * n for n in held), sum(held) ** 2)


def first_possession(history: History) -> float | None:
    """Respect for it: 1 - plots still with their first owner that were raided / plots still with it."""
    raided = still = 0
    for played in history:
        targets = {raid.cell for raid in played.after.news.raids}
        for cell, owner in played.before.owner.items():
            if owner is not None and owner == played.before.first_owner[cell[0]][cell[1]]:
                still += 1
                raided += cell in targets
    share = ratio(raided, still)
    return None if share is None else 1 - share


def _share_of(kind: str) -> Callable[[History], float | None]:
    """Give the formula of one kind's share of the stamina spent."""

    def share(history: History) -> float | None:
        spent = _spent(history)
        return ratio(spent[kind], spent.total())

    share.__doc__ = f"Stamina spent to {kind} / stamina spent."
    return share


def _spent(history: History) -> Counter[str]:
    """Sum the stamina spent by kind of action."""
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
    "gold_gini": gold_gini,
    "plots_hhi": plots_hhi,
    **{f"share_{kind}": _share_of(kind) for kind in KINDS},
}
