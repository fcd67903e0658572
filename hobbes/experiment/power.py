"""How small a difference an experiment finds, and how many seeds find a difference.

Experiments are simulated: normal values, the very test of a report, at the level that is left after its
corrections. Effects are in standard deviations of the paired differences.
"""

import math
from bisect import bisect_left
from functools import cache
from typing import TYPE_CHECKING, Any

from hobbes.experiment.statistics import ALPHA, fewest_pairs, p_above, p_studentized

if TYPE_CHECKING:
    import numpy as np

POWER = 0.8
"""The share of experiments that find a difference of the size that is announced."""

SIMULATED = 500
"""How many experiments are simulated."""

MAX_FLIPPED = 12
"""In more pairs, the flips of signs hardly change a p, so they are left out of the simulation."""

MAX_SIMULATED = 200
"""The power of more pairs is not simulated."""

PRECISION = 0.01
"""By which share of itself a detectable effect may be too large."""

MANY = 100_000
"""Numbers of seeds above this are not told: nobody plays so many."""


@cache
def _simulate(n: int) -> "np.ndarray[Any, Any]":
    """Return experiments of n pairs in which nothing differs, a row for each."""
    import numpy as np  # noqa: PLC0415

    return np.random.default_rng(n).normal(size=(SIMULATED, n))


@cache
def power(effect: float, n: int, level: float = ALPHA) -> float:
    """Return the probability that n pairs find an effect, with a p below the level."""
    if n < fewest_pairs(level):
        return 0.0
    if n > MAX_SIMULATED:
        return _of_student(effect, n, level)
    p = p_above if n <= MAX_FLIPPED else p_studentized
    return float((2 * p(_simulate(n) + effect) < level).mean())


def _of_student(effect: float, n: int, level: float) -> float:
    """Return the power of Student's test, which that of many pairs approaches."""
    from scipy import special  # noqa: PLC0415

    limit = float(-special.stdtrit(n - 1, level / 2))
    missed = float(special.nctdtr(n - 1, effect * math.sqrt(n), limit))
    return 1 - (0.0 if math.isnan(missed) else missed)  # nan is too small to tell


@cache
def detectable_effect(n: int, level: float = ALPHA) -> float | None:
    """Return the smallest effect that n pairs find with a probability of POWER, None if they find none."""
    if n < fewest_pairs(level):
        return None
    low, high = 0.0, 40 / math.sqrt(n)
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle, n, level) >= POWER else (middle, high)
    return high


@cache
def pairs_needed(effect: float, level: float = ALPHA) -> int | None:
    """Return how many pairs find an effect with a probability of POWER; None if it is more than MANY."""
    if power(abs(effect), MANY, level) < POWER:
        return None
    pairs = range(fewest_pairs(level), MANY + 1)
    return pairs[bisect_left(pairs, POWER, key=lambda n: power(abs(effect), n, level))]
