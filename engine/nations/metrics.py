"""The measures of a run. Each docstring is a formula.

A formula says what one turn adds to a measure; `engine.measures` adds up the turns.

A measure whose divisor is 0, or that has nothing to compare, is undefined (None), not 0.

Source: docs/rules/nations.md#measures-and-their-scopes, docs/rules/nations.md#undefined-measures.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, wraps
from itertools import combinations
from math import exp, fsum, log, sqrt
from typing import TypeAlias

from hobbes.engine.measures import Formulas, Measures, PlayedTurn, Rated, gini, keeping, ratio, share, total
from hobbes.engine.nations.agent_turns import AGENT_TURNS
from hobbes.engine.nations.arithmetic import arithmetic
from hobbes.engine.nations.state import Pairs, State
from hobbes.engine.nations.validation import Intent

NationsTurn: TypeAlias = PlayedTurn[State, Intent]

ByAgent: TypeAlias = Mapping[str, float]
"""A number for each agent for which it is defined."""


class _Ends:
    """Keeps the states at the ends of a stretch of turns: before the first turn, and after the last."""

    before: State
    after: State

    def add(self, played: NationsTurn) -> None:
        """Add a turn."""
        if not hasattr(self, "before"):
            self.before = played.before
        self.after = played.after


@keeping(_Ends)
def gains(ends: _Ends) -> ByAgent:
    """Welfare of each agent at the end - at the beginning.

    Source: docs/rules/nations.md#welfare-gained.
    """
    before, after = ends.before.welfare, ends.after.welfare
    return {agent: after[agent] - before[agent] for agent in ends.before.setting.agents}


@keeping(_Ends)
def welfare(ends: _Ends) -> float:
    """Welfare gained by all agents together.

    Source: docs/rules/nations.md#welfare-gained.
    """
    return sum(gains.figure(ends).values())


@keeping(_Ends)
def welfare_gini(ends: _Ends) -> float | None:
    """Gini coefficient of welfare gained: sum of |a - b| over all pairs / (agents x total); 0 means equal.

    Source: docs/rules/nations.md#welfare-gini.
    """
    return gini(gains.figure(ends).values())


@keeping(_Ends)
def nash_welfare(ends: _Ends) -> float:
    """Geometric mean of welfare gained: the n-th root of the product; 0 if any agent gained nothing.

    Source: docs/rules/nations.md#nash-welfare.
    """
    gained = gains.figure(ends).values()
    return exp(fsum(map(log, gained)) / len(gained)) if all(gained) else 0.0


@share
def attacks(played: NationsTurn) -> tuple[int, int]:
    """Mils sent against others / (agents x turns).

    Source: docs/rules/nations.md#attacks-per-agent-and-turn.
    """
    return _mils_sent(played), len(played.before.setting.agents)


@share
def attack_share(played: NationsTurn) -> tuple[int, int]:
    """Damage that the mils sent could do / gross income.

    Source: docs/rules/nations.md#shares-of-income.
    """
    damage = _mils_sent(played) * played.before.constants.c_damage_per_attack_mil
    return damage, _sum_of("gross", played)


@share
def damage_share(played: NationsTurn) -> tuple[int, int]:
    """Income actually destroyed by attacks and the violence penalty / gross income.

    Source: docs/rules/nations.md#shares-of-income.
    """
    destroyed = _sum_of("damage", played) + _sum_of("violence_penalty", played)
    return destroyed - _sum_of("beyond_income", played), _sum_of("gross", played)


@share
def upkeep_share(played: NationsTurn) -> tuple[int, int]:
    """Upkeep paid / gross income.

    Source: docs/rules/nations.md#shares-of-income.
    """
    return _sum_of("upkeep", played), _sum_of("gross", played)


@share
def purchase_share(played: NationsTurn) -> tuple[int, int]:
    """Money spent on mils / gross income.

    Source: docs/rules/nations.md#shares-of-income.
    """
    return _sum_of("purchases", played), _sum_of("gross", played)


@total
def trade_volume(played: NationsTurn) -> int:
    """Money granted, in total.

    Source: docs/rules/nations.md#trade-volume.
    """
    return _sum_of("grants", played)


@share
def trade_share(played: NationsTurn) -> tuple[int, int]:
    """Money granted / gross income.

    Source: docs/rules/nations.md#shares-of-income.
    """
    return _sum_of("grants", played), _sum_of("gross", played)


@keeping(_Ends)
def reciprocity(ends: _Ends) -> float | None:
    """Share of the granted money that was granted back.

    The sum over ordered pairs of min(given, received) / money granted.

    Source: docs/rules/nations.md#reciprocity.
    """
    # The state keeps running totals, so a stretch of turns is the difference of its ends.
    before, after = ends.before.granted, ends.after.granted
    agents = ends.before.setting.agents
    given = {(a, b): _of(after, a, b) - _of(before, a, b) for a in agents for b in agents}
    return ratio(sum(min(given[a, b], given[b, a]) for a, b in given), sum(given.values()))


@total
def cessions(played: NationsTurn) -> int:
    """Territories ceded.

    Source: docs/rules/nations.md#territories-ceded.
    """
    return sum(event.type == "cede" for event in played.events)


def _mils_sent(played: NationsTurn) -> int:
    return sum(sum(account.attacked.values()) for account in played.after.accounts.values())


def _sum_of(label: str, played: NationsTurn) -> int:
    return sum(account.amount(label) for account in played.after.accounts.values())


FORMULAS: Formulas[NationsTurn] = {
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
    "welfare/AGENT": gains,
}
"""The measures of any stretch of turns, by name.

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
    counts, below, rank = Counter(values), 0, {}
    for value, count in sorted(counts.items()):
        rank[value] = below + (count + 1) / 2
        below += count
    return [rank[value] for value in values]


TRUTHS: Mapping[str, Callable[[State], ByAgent]] = {
    "aggressor": mils_sent_before,
    "keeps_word": gifts_returned_before,
}
"""What a report of each kind is held against: the truth before the turn in which it is given."""


HELD_AGAINST: Mapping[str, str] = {
    "aggressor": "mils sent against others per turn until then",
    "keeps_word": "share of the gifts received until then that was given back",
}
"""The truth that ratings of each kind are held against, in words.

Source: docs/rules/nations.md#ratings-and-their-truth.
"""


def ratings(played: NationsTurn) -> Iterator[Rated]:
    """Yield each rating of another agent in a turn, with the truth before that turn.

    Mils are told per turn, so that ratings of early and late turns can stand side by side. In the first turn,
    nothing has happened that a rating could be held against.

    Source: docs/rules/nations.md#ratings-and-their-truth.
    """
    for kind, truth_of in TRUTHS.items():
        given = {
            rater: report
            for rater, intent in played.intents.items()
            if (report := getattr(intent.reflection, f"{kind}_report"))
        }
        if not given or not played.before.turn:
            continue
        truth = truth_of(played.before)
        turns = played.before.turn if kind == "aggressor" else 1
        for rater, report in given.items():
            for ratee, rating in report.items():
                if ratee != rater and ratee in truth:
                    yield Rated(kind, rating, truth[ratee] / turns)


class _Reports:
    """Keeps the reports that stand, and the state in which each rater last gave its own.

    A report that stood before the first turn counts as given in it.
    """

    first: State
    last: State

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.given: dict[str, State] = {}

    def add(self, played: NationsTurn) -> None:
        """Add a turn."""
        if not hasattr(self, "first"):
            self.first = played.before
        self.last = played.after
        for rater, intent in played.intents.items():
            if getattr(intent.reflection, f"{self.kind}_report"):
                self.given[rater] = played.before

    @property
    def standing(self) -> Pairs:
        """The reports that stand: rater to ratee to rating."""
        reports: Pairs = getattr(self.last, self.kind)
        return reports

    @property
    def truths(self) -> dict[str, ByAgent]:
        """For each rater, the truth when it gave its report."""
        given = {rater: self.given.get(rater, self.first) for rater in self.standing}
        truth = {state.turn: TRUTHS[self.kind](state) for state in given.values()}
        return {rater: truth[state.turn] for rater, state in given.items()}


def _of_reports(kind: str) -> Formulas[NationsTurn]:
    """Return the formulas of one kind of reports, those of each agent and their means."""
    reports = keeping(partial(_Reports, kind))

    @reports
    @wraps(calibration)
    def calibration_of(found: _Reports) -> Mapping[str, float | None]:
        calibrated = calibration(found.standing, found.truths)
        return {agent: calibrated.get(agent) for agent in found.last.setting.agents}

    @reports
    @wraps(calibration)
    def mean_calibration(found: _Reports) -> float | None:
        return _mean([*calibration(found.standing, found.truths).values()])

    @reports
    @wraps(agreement)
    def agreement_of_all(found: _Reports) -> float | None:
        return agreement(found.standing)

    @reports
    @wraps(self_bias)
    def self_bias_of(found: _Reports) -> Mapping[str, float | None]:
        bias = self_bias(found.standing)
        return {agent: bias.get(agent) for agent in found.last.setting.agents}

    @reports
    @wraps(self_bias)
    def mean_self_bias(found: _Reports) -> float | None:
        return _mean([*self_bias(found.standing).values()])

    return {
        f"{kind}_calibration": mean_calibration,
        f"{kind}_agreement": agreement_of_all,
        f"{kind}_self_bias": mean_self_bias,
        f"{kind}_calibration/AGENT": calibration_of,
        f"{kind}_self_bias/AGENT": self_bias_of,
    }


OF_REPORTS: Formulas[NationsTurn] = {**_of_reports("aggressor"), **_of_reports("keeps_word")}
"""The measures of the reports that stand after a turn, each held against what had happened when it was given.

A measure without `/AGENT` is the mean over the agents.
"""

UNITS: Mapping[str, str] = {
    **dict.fromkeys(("welfare", "nash_welfare", "welfare/AGENT"), "points of welfare"),
    "attacks": "mils per agent and turn",
    "trade_volume": "money",
    "cessions": "territories",
    **{name: "points of a rating" for name in OF_REPORTS if "_self_bias" in name},
}
"""The units of measures that are no shares and no correlations."""

MEASURES: Measures[State, Intent] = Measures(
    each=FORMULAS,
    parts=FORMULAS,
    so_far=OF_REPORTS,
    version=2,
    units=UNITS,
    headline=("welfare", "attacks", "trade_share", "welfare_gini"),
    shares=("upkeep_share", "purchase_share", "trade_share", "attack_share", "damage_share"),
    inequality=("welfare_gini",),
    ratings=ratings,
    truths=HELD_AGAINST,
    arithmetic=lambda played: arithmetic(played.before, played.intents, played.after.accounts),
    agent_turns=AGENT_TURNS,
)
"""The measures of the run, of each half and of each turn, which has none of reports.

Source: docs/rules/nations.md#measures-and-their-scopes.
"""


def _of(pairs: Pairs, one: str, other: str) -> int:
    """Return the number for a pair of agents, or 0 if there is none."""
    return pairs.get(one, {}).get(other, 0)


def _mean(values: Sequence[float]) -> float | None:
    """Return the mean, or None if there are no values. Source: docs/rules/nations.md#undefined-measures."""
    return ratio(fsum(values), len(values))
