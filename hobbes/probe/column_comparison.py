"""The statistics of a probe: how often an act occurs in two columns, in the same situations.

If a prompt changes nothing, the answers of a situation are exchangeable between two columns. Then the number
of answers with the act in one column has, in each situation, a hypergeometric distribution, and their sum
over the situations the convolution of these. So the test is exact, and unequal situations need no model: it
is the conditional test of Cochran, Mantel and Haenszel. Outcomes as likely as the observed one count by half
(mid-p): an exact p of few answers is too large, so that far less than 5% of probes in which nothing differs
would say that something does.
"""

import math
from collections.abc import Sequence
from functools import cache
from itertools import count
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

from hobbes.experiment.statistics import ALPHA

MIN_SITUATIONS = 3
"""The fewest situations from which an interval says something about others like them."""

TIE = 1e-9
"""By which share two probabilities may differ and still be the same."""


class Pair(NamedTuple):
    """A situation in two columns: how many answers have the act, of how many, before and now."""

    before: int
    of_before: int
    now: int
    of_now: int


class Interval(NamedTuple):
    """The mean over situations of the difference in the share of answers, with its 95% interval."""

    mean: float
    low: float
    high: float


def may_differ(pairs: Sequence[Pair]) -> bool:
    """Return whether chance alone could make two columns differ: not if all answers of a situation agree."""
    return any(0 < one.before + one.now < one.of_before + one.of_now for one in pairs)


def p_value(pairs: Sequence[Pair]) -> float:
    """Return the two-sided mid-p that an act is as frequent in both columns."""
    lowest, chances = 0, [1.0]
    for one in pairs:
        first, of_situation = _chances(one.of_before, one.of_now, one.before + one.now)
        lowest, chances = lowest + first, _convolve(chances, of_situation)
    observed = chances[sum(one.now for one in pairs) - lowest]
    rarer = math.fsum(chance for chance in chances if chance < observed * (1 - TIE))
    alike = math.fsum(chance for chance in chances if abs(chance - observed) <= observed * TIE)
    return min(1.0, rarer + alike / 2)


def answers_needed(sizes: Sequence[tuple[int, int]], situations: int, level: float) -> int:
    """Return how many answers each cell of two columns needs before any p can be below a level.

    0 if the columns have enough of them in each situation. No p is smaller than that of an act which all
    answers of one column have, and none of the other.
    """

    def smallest_p(each: Sequence[tuple[int, int]]) -> float:
        return p_value([Pair(0, before, now, now) for before, now in each])

    if smallest_p(sizes) < level:
        return 0
    return next(n for n in count(1) if smallest_p([(n, n)] * situations) < level)


@cache
def _chances(before: int, now: int, acts: int) -> tuple[int, tuple[float, ...]]:
    """Return the hypergeometric distribution of the answers with the act in the second column.

    The first number is the smallest possible one. `acts` answers of both columns have the act.
    """
    first, last = max(0, acts - before), min(now, acts)
    all_ways = math.comb(before + now, acts)
    return first, tuple(
        math.comb(now, k) * math.comb(before, acts - k) / all_ways for k in range(first, last + 1)
    )


def _convolve(one: Sequence[float], other: Sequence[float]) -> list[float]:
    total = [0.0] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            total[i + j] += a * b
    return total


def interval(pairs: Sequence[Pair]) -> Interval:
    """Return the mean difference over the situations, with its interval over situations and answers.

    The spread of the differences between situations holds the chance of the answers, too. It may be small by
    chance, so the interval is never narrower than that of the answers alone. With fewer than
    MIN_SITUATIONS it is that of the answers alone: it says nothing of other situations.
    """
    n, differences = len(pairs), [one.now / one.of_now - one.before / one.of_before for one in pairs]
    mean = fmean(differences)
    shares = [(_share_of(p.before, p.of_before), _share_of(p.now, p.of_now)) for p in pairs]
    of_answers = math.sqrt(math.fsum(of + other for (_, of), (_, other) in shares)) / n
    middle = fmean(now - before for (before, _), (now, _) in shares)
    reach = NormalDist().inv_cdf(1 - ALPHA / 2) * of_answers
    low, high = middle - reach, middle + reach
    if n >= MIN_SITUATIONS:
        reach = student(n - 1) * stdev(differences) / math.sqrt(n)
        low, high = min(low, mean - reach), max(high, mean + reach)
    return Interval(mean, max(-1.0, low), min(1.0, high))


@cache
def student(freedom: int) -> float:
    """Return how far a t of 2 or more degrees of freedom reaches to either side with probability 1 - ALPHA.

    With t = sqrt(freedom) tan(angle), that probability is a finite sum of powers of the cosine (Abramowitz
    and Stegun, 26.7.3 and 26.7.4). It grows with the angle, which is found by halving.
    """

    def within(angle: float) -> float:
        square, odd = math.cos(angle) ** 2, freedom % 2
        term = math.sin(angle) * (math.cos(angle) if odd else 1.0)
        terms = [term]
        for k in range(2 + odd, freedom - 1, 2):
            term *= square * (k - 1) / k
            terms.append(term)
        return (angle + math.fsum(terms)) * 2 / math.pi if odd else math.fsum(terms)

    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if within(middle) < 1 - ALPHA else (low, middle)
    return math.sqrt(freedom) * math.tan(middle)


def _share_of(acts: int, answers: int) -> tuple[float, float]:
    """Return a share of answers, with one more of each kind (Agresti and Caffo, 2000), and its variance."""
    share = (acts + 1) / (answers + 2)
    return share, share * (1 - share) / (answers + 2)
