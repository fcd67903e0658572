"""The statistics of an experiment. scipy and statsmodels compute them; they are imported when needed.

A game is one value. Arms are paired by seed, so all tests are about the differences of pairs. Random numbers
are seeded: the same values give the same figures.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import TYPE_CHECKING, Any

from lab.errors import LabError

if TYPE_CHECKING:
    import numpy as np

ALPHA = 0.05
"""A difference counts as found if its p is below this."""

POWER = 0.8
"""The share of experiments that would find a difference of the detectable size."""

RESAMPLES = 9_999
"""The resamples of a bootstrap, and the most sign flips of a test, which is exact up to 13 pairs."""

FEWEST = 3
"""The fewest values that an interval is computed from."""

MANY = 100_000
"""Numbers of seeds above this are not told: nobody plays so many."""

PLACES = 12
"""Decimal places of means and differences. What is smaller is a rounding error of the arithmetic."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its 95% interval; None where it is undefined."""

    n: int
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference of pairs.

    `p` is that of a paired permutation test. `effect` is the mean divided by the standard deviation `spread`
    of the differences (Cohen's d_z).
    """

    mean: Mean
    p: float | None
    effect: float | None
    spread: float | None


def rounded(value: float) -> float:
    """Return a value without the rounding errors of the arithmetic that led to it; 0 has no sign."""
    return round(value, PLACES) + 0.0


def needed() -> None:
    """Raise LabError if the libraries of statistics are not installed."""
    try:
        import scipy.stats  # noqa: F401, PLC0415
        import statsmodels  # noqa: F401, PLC0415
    except ImportError as error:
        raise LabError(
            "statistics need scipy and statsmodels; install them in the checkout: pip install -e '.[stats]'"
        ) from error


def mean_of(values: Sequence[float]) -> Mean:
    """Return the mean of values with its 95% bootstrap interval.

    The interval is BCa, or of percentiles where BCa is undefined. A bootstrap interval of few values is too
    narrow, so its level is raised by as much as the t distribution is wider than the normal one (Hesterberg,
    What teachers should know about the bootstrap, 2015).
    """
    n = len(values)
    if not n:
        return Mean(0, None, None, None)
    mean = rounded(math.fsum(values) / n)
    if n < FEWEST:
        return Mean(n, mean, None, None)
    if min(values) == max(values):
        return Mean(n, mean, mean, mean)
    import numpy as np  # noqa: PLC0415
    from scipy import stats  # noqa: PLC0415

    tail = stats.norm.cdf(math.sqrt(n / (n - 1)) * stats.t.ppf(ALPHA / 2, n - 1))
    for method in ("BCa", "percentile"):
        with np.errstate(invalid="ignore", divide="ignore"):
            interval = stats.bootstrap(
                (np.asarray(values),),
                np.mean,
                n_resamples=RESAMPLES,
                confidence_level=1 - 2 * tail,
                method=method,
                rng=0,
            ).confidence_interval
        if math.isfinite(interval.low) and math.isfinite(interval.high):
            break
    return Mean(n, mean, rounded(float(interval.low)), rounded(float(interval.high)))


def difference_of(differences: Sequence[float]) -> Difference:
    """Return the mean of the differences of pairs, tested against 0."""
    mean = mean_of(differences)
    if mean.n <= 1 or mean.mean is None:
        return Difference(mean, None, None, None)
    import numpy as np  # noqa: PLC0415
    from scipy import stats  # noqa: PLC0415

    values = np.asarray(differences)
    p = stats.permutation_test(
        (values,), _mean, permutation_type="samples", n_resamples=RESAMPLES, vectorized=True, rng=0
    ).pvalue
    spread = spread_of(differences)
    return Difference(mean, float(p), mean.mean / spread if spread else None, spread)


def spread_of(values: Sequence[float]) -> float | None:
    """Return the standard deviation of a sample, None if there are not two values."""
    return stdev(values) if len(values) > 1 else None


def _mean(values: "np.ndarray[Any, Any]", axis: int) -> "np.ndarray[Any, Any]":
    """Return the mean; scipy flips the signs of the values."""
    means: np.ndarray[Any, Any] = values.mean(axis=axis)
    return means


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Return p values corrected for their number by Holm's method; None stays None and is not counted."""
    defined = [p for p in ps if p is not None]
    if not defined:
        return list(ps)
    from statsmodels.stats.multitest import multipletests  # noqa: PLC0415

    corrected = iter(multipletests(defined, ALPHA, "holm")[1])
    return [None if p is None else float(next(corrected)) for p in ps]


def detectable_effect(n: int, tests: int = 1) -> float | None:
    """Return the smallest effect that a paired test of n pairs finds with a probability of POWER.

    None if so few pairs cannot find any when the p of so many tests are corrected.
    """
    if n < fewest_pairs(tests):
        return None
    from statsmodels.stats.power import TTestPower  # noqa: PLC0415

    return float(TTestPower().solve_power(nobs=n, alpha=ALPHA, power=POWER))


def pairs_needed(effect: float, tests: int = 1) -> int | None:
    """Return how many pairs find an effect with a probability of POWER; None if it is more than MANY.

    They are as many as can find any effect when the p of so many tests are corrected, or more.
    """
    from statsmodels.stats.power import TTestPower  # noqa: PLC0415

    test = TTestPower()
    if effect == 0 or test.power(abs(effect), MANY, ALPHA) < POWER:
        return None
    pairs = range(fewest_pairs(tests), MANY + 1)
    return pairs[bisect_left(pairs, POWER, key=lambda n: float(test.power(abs(effect), n, ALPHA)))]


def fewest_pairs(tests: int) -> int:
    """Return the number of pairs below which no difference can be found, corrected for a number of tests.

    All differences having one sign gives the smallest p, 2 in 2^n.
    """
    return 1 + math.ceil(math.log2(tests / ALPHA))
