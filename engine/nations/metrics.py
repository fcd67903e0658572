"""The measures of a run. Each docstring is a formula.

A measure whose divisor is 0, or that has nothing to compare, is undefined (None), not 0.

Source: docs/rules/nations.md#measures-and-their-scopes, docs/rules/nations.md#undefined-measures.
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
"""A number for each agent for which it is defined."""


def measures(history: History) -> tuple[Measure, ...]:
    """Return the measures of the run, of each half and of each turn (without report measures).

    Source: docs/rules/nations.md#measures-and-their-scopes.
    """
    if not history:
        return ()
    found = []
    for scope, part in parts(history):
        found += [Measure(name, scope, formula(part)) for name, formula in FORMULAS.items()]
        found += [Measure(f"welfare/{agent}", scope, gain) for agent, gain in gains(part).items()]
        until = part[-1].before.turn - history[0].before.turn + 1
        found += list(_of_reports(scope, history[:until]))
    for played in history:
        scope = f"turn/{played.before.turn}"
        found += [Measure(name, scope, formula([played])) for name, formula in FORMULAS.items()]
        found += [Measure(f"welfare/{agent}", scope, gain) for agent, gain in gains([played]).items()]
    return tuple(found)


def gains(history: History) -> ByAgent:
    """Welfare of each agent at the end - at the beginning.

    Source: docs/rules/nations.md#welfare-gained.
    """
    before, after = history[0].before.welfare, history[-1].after.welfare
    return {agent: after[agent] - before[agent] for agent in history[0].before.setting.agents}


def welfare(history: History) -> float:
    """Welfare gained by all agents together.

    Source: docs/rules/nations.md#welfare-gained.
    """
    return sum(gains(history).values())


def welfare_gini(history: History) -> float | None:
    """Gini coefficient of welfare gained: sum of |a - b| over all pairs / (agents x total); 0 means equal.

    Source: docs/rules/nations.md#welfare-gini.
    """
    gained = sorted(gains(history).values())
    weighted = sum((2 * k - len(gained) - 1) * value for k, value in enumerate(gained, start=1))
    return ratio(weighted, len(gained) * sum(gained))


def nash_welfare(history: History) -> float:
    """Geometric mean of welfare gained: the n-th root of the product; 0 if any agent gained nothing.

    Source: docs/rules/nations.md#nash-welfare.
    """
    gained = gains(history).values()
    return exp(fsum(map(log, gained)) / len(gained)) if all(gained) else 0.0


def attacks(history: History) -> float:
    """Mils sent against others / (agents x turns).

    Source: docs/rules/nations.md#attacks-per-agent-and-turn.
    """
    return _mils_sent(history) / sum(len(played.before.setting.agents) for played in history)


def attack_share(history: History) -> float | None:
    """Damage that the mils sent could do / gross income.

    Source: docs/rules/nations.md#shares-of-income.
    """
    carried = _mils_sent(history) * history[0].before.constants.c_damage_per_attack_mil
    return ratio(carried, _sum_of("gross", history))


def damage_share(history: History) -> float | None:
    """Income actually destroyed by attacks and the violence penalty / gross income.

    Source: docs/rules/nations.md#shares-of-income.
    """
    destroyed = _sum_of("damage", history) + _sum_of("violence_penalty", history)
    return ratio(destroyed - _sum_of("beyond_income", history), _sum_of("gross", history))


def upkeep_share(history: History) -> float | None:
    """Upkeep paid / gross income.

    Source: docs/rules/nations.md#shares-of-income.
    """
    return ratio(_sum_of("upkeep", history), _sum_of("gross", history))


def purchase_share(history: History) -> float | None:
    """Money spent on mils / gross income.

    Source: docs/rules/nations.md#shares-of-income.
    """
    return ratio(_sum_of("purchases", history), _sum_of("gross", history))


def trade_volume(history: History) -> float:
    """Money granted, in total.

    Source: docs/rules/nations.md#trade-volume.
    """
    return _sum_of("grants", history)


def trade_share(history: History) -> float | None:
    """Money granted / gross income.

    Source: docs/rules/nations.md#shares-of-income.
    """
    return ratio(trade_volume(history), _sum_of("gross", history))


def reciprocity(history: History) -> float | None:
    """Share of the granted money that was granted back.

    The sum over ordered pairs of min(given, received) / money granted.

    Source: docs/rules/nations.md#reciprocity.
    """
    # The state keeps running totals, so a stretch of turns is the difference of its ends.
    before, after = history[0].before.granted, history[-1].after.granted
    agents = history[0].before.setting.agents
    given = {(a, b): _of(after, a, b) - _of(before, a, b) for a in agents for b in agents}
    return ratio(sum(min(given[a, b], given[b, a]) for a, b in given), sum(given.values()))


def cessions(history: History) -> float:
    """Territories ceded.

    Source: docs/rules/nations.md#territories-ceded.
    """
    return sum(event.type == "cede" for played in history for event in played.events)


def _mils_sent(history: History) -> int:
    """Return the sum of the mils of all attacks."""
    accounts = (account for played in history for account in played.after.accounts.values())
    return sum(sum(account.attacked.values()) for account in accounts)


def _sum_of(label: str, history: History) -> int:
    """Return the sum of one line over all accounts."""
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
"""The measures that are one number about a stretch of turns, by name.

Source: docs/rules/nations.md#measures-and-their-scopes.
"""


def mils_sent_before(state: State) -> ByAgent:
    """Mils that each agent had sent against others before a turn began.

    An aggressor report given in that turn is held against these numbers.

    Source: docs/rules/nations.md#truth-of-aggressor-reports.
    """
    return {agent: sum(state.attacked.get(agent, {}).values()) for agent in state.setting.agents}


def gifts_returned_before(state: State) -> ByAgent:
    """Share of the gifts to each agent that it had given back before a turn began.

    The sum over givers of min(given, given back) / given. A gift is money paid, or a territory ceded, which
    counts as one turn of its income. A keeps-word report given in that turn is held against these shares,
    since the ledgers show no other promises. An agent that received nothing has no share.

    Source: docs/rules/nations.md#truth-of-keeps-word-reports.
    """
    agents = state.setting.agents
    given = {(giver, taker): _gifts(state, giver, taker) for giver in agents for taker in agents}
    returned = {
        agent: ratio(
            sum(min(given[other, agent], given[agent, other]) for other in agents),
            sum(given[other, agent] for other in agents),
        )
        for agent in agents
    }
    return {agent: share for agent, share in returned.items() if share is not None}


def _gifts(state: State, giver: str, taker: str) -> int:
    """Return the value of all that one agent has given another so far."""
    land = _of(state.ceded, giver, taker) * state.constants.c_money_per_territory
    return _of(state.granted, giver, taker) + land


def calibration(reports: Pairs, truths: Mapping[str, ByAgent]) -> ByAgent:
    """Rank correlation of each rater's ratings of the others with the truth about them.

    `truths` has for each rater the numbers as they were when it gave its report.

    Source: docs/rules/nations.md#calibration.
    """
    found = {}
    for rater, report in reports.items():
        truth = truths[rater]
        rated = sorted(agent for agent in report if agent != rater and agent in truth)
        rho = rank_correlation([report[agent] for agent in rated], [truth[agent] for agent in rated])
        if rho is not None:
            found[rater] = rho
    return found


def agreement(reports: Pairs) -> float | None:
    """Mean rank correlation over all pairs of raters, on the third parties whom both rate.

    Source: docs/rules/nations.md#agreement.
    """
    found = []
    for one, other in combinations(sorted(reports), 2):
        both = sorted((reports[one].keys() & reports[other].keys()) - {one, other})
        rho = rank_correlation([reports[one][a] for a in both], [reports[other][a] for a in both])
        if rho is not None:
            found.append(rho)
    return _mean(found)


def self_bias(reports: Pairs) -> ByAgent:
    """Self-rating - mean of the others' ratings of the same agent.

    Source: docs/rules/nations.md#self-bias.
    """
    found = {}
    for agent, report in sorted(reports.items()):
        others = _mean([r[agent] for rater, r in reports.items() if rater != agent and agent in r])
        if agent in report and others is not None:
            found[agent] = report[agent] - others
    return found


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's rho: Pearson's correlation of the ranks. Equal values share their mean rank.

    It is undefined for fewer than two values, and where one side does not vary.

    Source: docs/rules/nations.md#rank-correlation.
    """
    a, b = _ranks(one), _ranks(other)
    middle = (len(a) + 1) / 2
    together = fsum((x - middle) * (y - middle) for x, y in zip(a, b, strict=True))
    spread = fsum((x - middle) ** 2 for x in a) * fsum((y - middle) ** 2 for y in b)
    return ratio(together, sqrt(spread))


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the ranks of the values, from 1; equal values share their mean rank."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def _of_reports(scope: str, history: History) -> Iterator[Measure]:
    """Yield the measures of the reports that stand after the last of these turns of a run.

    Each report is held against what had happened when it was given.
    """
    last = history[-1]
    for name, reports, truth_before in (
        ("aggressor", last.after.aggressor, mils_sent_before),
        ("keeps_word", last.after.keeps_word, gifts_returned_before),
    ):
        given = {rater: _given_in(history, rater, f"{name}_report") for rater in reports}
        states = {state.turn: state for state in given.values()}
        truth = {turn: truth_before(state) for turn, state in states.items()}
        calibrated = calibration(reports, {rater: truth[state.turn] for rater, state in given.items()})
        bias = self_bias(reports)
        yield Measure(f"{name}_calibration", scope, _mean(list(calibrated.values())))
        yield Measure(f"{name}_agreement", scope, agreement(reports))
        yield Measure(f"{name}_self_bias", scope, _mean(list(bias.values())))
        for agent in last.before.setting.agents:
            yield Measure(f"{name}_calibration/{agent}", scope, calibrated.get(agent))
            yield Measure(f"{name}_self_bias/{agent}", scope, bias.get(agent))


def _given_in(history: History, rater: str, report: str) -> State:
    """Return the state in which a rater last gave a report; the first one, if it had given it before.

    Source: docs/rules/nations.md#calibration.
    """
    for played in reversed(history):
        if rater in played.intents and getattr(played.intents[rater].reflection, report):
            return played.before
    return history[0].before


_OF_REPORTS: Mapping[str, Callable[..., object]] = {
    "calibration": calibration,
    "calibration/AGENT": calibration,
    "agreement": agreement,
    "self_bias": self_bias,
    "self_bias/AGENT": self_bias,
}

BY_NAME: Mapping[str, Callable[..., object]] = {
    **FORMULAS,
    "welfare/AGENT": gains,
    **{f"{kind}_{name}": _OF_REPORTS[name] for kind in ("aggressor", "keeps_word") for name in _OF_REPORTS},
}
"""The formula of each measure. Without `/AGENT`, it is the mean over the agents."""


def _of(pairs: Pairs, one: str, other: str) -> int:
    """Return the number for a pair of agents, or 0 if there is none."""
    return pairs.get(one, {}).get(other, 0)


def _mean(values: Sequence[float]) -> float | None:
    """Return the mean, or None if there are no values.

    Source: docs/rules/nations.md#undefined-measures.
    """
    return ratio(fsum(values), len(values))
