"""nations: the measures of a run, each with its formula.

Source: decisions page, "Measures". A figure whose divisor is 0, or for which there is nothing to compare, is
undefined (None), never 0.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from math import exp, fsum, log, sqrt
from typing import TypeAlias

from engine.measuring import parts, ratio
from engine.nations.state import Pairs, State
from engine.nations.validation import Intent
from engine.world import Measure, Played

History: TypeAlias = Sequence[Played[State, Intent]]

ByAgent: TypeAlias = Mapping[str, float]
"""A figure for each agent for which there is one."""


def measures(history: History) -> tuple[Measure, ...]:
    """Give the figures of the run, of each half, and (but for those of the reports) of each turn."""
    if not history:
        return ()
    found = []
    for scope, part in parts(history):
        found += [Measure(name, scope, formula(part)) for name, formula in FORMULAS.items()]
        found += [Measure(f"welfare/{agent}", scope, gain) for agent, gain in gains(part).items()]
        found += list(_of_reports(scope, part[-1]))
    for played in history:
        scope = f"turn/{played.before.turn}"
        found += [Measure(name, scope, formula([played])) for name, formula in FORMULAS.items()]
        found += [Measure(f"welfare/{agent}", scope, gain) for agent, gain in gains([played]).items()]
    return tuple(found)


def gains(history: History) -> ByAgent:
    """Welfare of each agent at the end - at the beginning."""
    before, after = history[0].before.welfare, history[-1].after.welfare
    return {agent: after[agent] - before[agent] for agent in history[0].before.setting.agents}


def welfare(history: History) -> float:
    """Welfare gained, in all."""
    return sum(gains(history).values())


def welfare_gini(history: History) -> float | None:
    """Gini coefficient of welfare gained: sum over pairs |x - y| / (2 n sum x); 0 is equal."""
    gained = sorted(gains(history).values())
    weighted = sum((2 * k - len(gained) - 1) * value for k, value in enumerate(gained, start=1))
    return ratio(weighted, len(gained) * sum(gained))


def nash_welfare(history: History) -> float:
    """Geometric mean of welfare gained: the n-th root of its product; 0 if anybody gained nothing."""
    gained = gains(history).values()
    return exp(fsum(map(log, gained)) / len(gained)) if all(gained) else 0.0


def attacks(history: History) -> float:
    """Mils sent against others / (agents x turns)."""
    return _mils_sent(history) / sum(len(played.before.setting.agents) for played in history)


def attack_share(history: History) -> float | None:
    """Damage that the mils sent carry / gross income."""
    carried = _mils_sent(history) * history[0].before.constants.c_damage_per_attack_mil
    return ratio(carried, _sum_of("gross", history))


def damage_share(history: History) -> float | None:
    """Income truly destroyed by attacks and the violence penalty / gross income."""
    destroyed = _sum_of("damage", history) + _sum_of("violence penalty", history)
    return ratio(destroyed - _sum_of("beyond income", history), _sum_of("gross", history))


def upkeep_share(history: History) -> float | None:
    """Upkeep paid / gross income."""
    return ratio(_sum_of("upkeep", history), _sum_of("gross", history))


def purchase_share(history: History) -> float | None:
    """Money spent on mils / gross income."""
    return ratio(_sum_of("purchases", history), _sum_of("gross", history))


def trade_volume(history: History) -> float:
    """Money granted, in all."""
    return _sum_of("grants", history)


def trade_share(history: History) -> float | None:
    """Money granted / gross income."""
    return ratio(trade_volume(history), _sum_of("gross", history))


def reciprocity(history: History) -> float | None:
    """Money granted that was granted back: sum over ordered pairs min(given, received) / money granted."""
    before, after = history[0].before.granted, history[-1].after.granted
    agents = history[0].before.setting.agents
    given = {(a, b): _of(after, a, b) - _of(before, a, b) for a in agents for b in agents}
    return ratio(sum(min(given[a, b], given[b, a]) for a, b in given), sum(given.values()))


def cessions(history: History) -> float:
    """Territories ceded."""
    return sum(event.type == "cede" for played in history for event in played.events)


def _mils_sent(history: History) -> int:
    """Sum the mils of all attacks."""
    accounts = (account for played in history for account in played.after.accounts.values())
    return sum(sum(account.attacked.values()) for account in accounts)


def _sum_of(label: str, history: History) -> int:
    """Sum one line of all accounts."""
    return sum(a.amount(label) for played in history for a in played.after.accounts.values())


FORMULAS: Mapping[str, Callable[[History], float | None]] = {
    "welfare": welfare,
    "welfare_gini": welfare_gini,
    "nash_welfare": nash_welfare,
    "attacks": attacks,
    "attack_share": attack_share,
    "damage_share": damage_share,
    "upkeep_share": upkeep_share,
    "purchase_share": purchase_share,
    "trade_volume": trade_volume,
    "trade_share": trade_share,
    "reciprocity": reciprocity,
    "cessions": cessions,
}


def mils_sent_before(played: Played[State, Intent]) -> ByAgent:
    """Mils that each agent had sent against others when it was last rated: the truth on aggression."""
    return {
        agent: sum(played.before.attacked.get(agent, {}).values()) for agent in played.before.setting.agents
    }


def gifts_returned_before(played: Played[State, Intent]) -> ByAgent:
    """Share of what each agent was given that it gave back: what the ledgers know of keeping one's word.

    The sum over givers of min(given, given back) / given. A gift is money paid, or a territory ceded, which
    counts as one turn of its income. An agent that was given nothing could not return it, and has no figure.
    """
    agents = played.before.setting.agents
    given = {(giver, taker): _gifts(played.before, giver, taker) for giver in agents for taker in agents}
    returned = {
        agent: ratio(
            sum(min(given[other, agent], given[agent, other]) for other in agents),
            sum(given[other, agent] for other in agents),
        )
        for agent in agents
    }
    return {agent: share for agent, share in returned.items() if share is not None}


def _gifts(state: State, giver: str, taker: str) -> int:
    """Value what one agent gave another so far."""
    land = _of(state.ceded, giver, taker) * state.constants.c_money_per_territory
    return _of(state.granted, giver, taker) + land


def calibration(reports: Pairs, truth: ByAgent) -> ByAgent:
    """Rank correlation of each rater's ratings of the others with the truth about them."""
    found = {}
    for rater, report in reports.items():
        rated = sorted(agent for agent in report if agent != rater and agent in truth)
        rho = rank_correlation([report[agent] for agent in rated], [truth[agent] for agent in rated])
        if rho is not None:
            found[rater] = rho
    return found


def agreement(reports: Pairs) -> float | None:
    """Mean rank correlation over all pairs of raters, on those whom both rate and who are neither of them."""
    found = []
    for one, other in combinations(sorted(reports), 2):
        both = sorted((reports[one].keys() & reports[other].keys()) - {one, other})
        rho = rank_correlation([reports[one][a] for a in both], [reports[other][a] for a in both])
        if rho is not None:
            found.append(rho)
    return _mean(found)


def self_bias(reports: Pairs) -> ByAgent:
    """Self-rating - mean of the others' ratings of the same agent."""
    found = {}
    for agent, report in sorted(reports.items()):
        others = _mean([r[agent] for rater, r in reports.items() if rater != agent and agent in r])
        if agent in report and others is not None:
            found[agent] = report[agent] - others
    return found


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's rho: Pearson's correlation of the ranks, equal values sharing their mean rank.

    Undefined where there are fewer than two values, or where one side does not vary.
    """
    a, b = _ranks(one), _ranks(other)
    middle = (len(a) + 1) / 2
    together = fsum((x - middle) * (y - middle) for x, y in zip(a, b, strict=True))
    spread = fsum((x - middle) ** 2 for x in a) * fsum((y - middle) ** 2 for y in b)
    return ratio(together, sqrt(spread))


def _ranks(values: Sequence[float]) -> list[float]:
    """Rank values from 1; equal ones share their mean rank."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def _of_reports(scope: str, last: Played[State, Intent]) -> Iterator[Measure]:
    """Give the figures of the reports that stand after a turn, against what had happened before it."""
    for name, reports, truth in (
        ("aggressor", last.after.aggressor, mils_sent_before(last)),
        ("keeps_word", last.after.keeps_word, gifts_returned_before(last)),
    ):
        calibrated, bias = calibration(reports, truth), self_bias(reports)
        yield Measure(f"{name}_calibration", scope, _mean(list(calibrated.values())))
        yield Measure(f"{name}_agreement", scope, agreement(reports))
        yield Measure(f"{name}_self_bias", scope, _mean(list(bias.values())))
        for agent in last.before.setting.agents:
            yield Measure(f"{name}_calibration/{agent}", scope, calibrated.get(agent))
            yield Measure(f"{name}_self_bias/{agent}", scope, bias.get(agent))


def _of(pairs: Pairs, one: str, other: str) -> int:
    """Give the number for a pair; 0 where there is none."""
    return pairs.get(one, {}).get(other, 0)


def _mean(values: Sequence[float]) -> float | None:
    """Give the mean; of nothing there is none."""
    return ratio(fsum(values), len(values))
