"""The statistics of an experiment. scipy and statsmodels compute them; they are imported when needed.

A game is one value. Arms are paired by seed, so all tests are about the differences of pairs. Random numbers
are seeded: the same values give the same figures.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
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

AT_ONCE = 256
"""How many samples are tested at once."""

MOST_HELD = 4_000_000
"""How many resampled values are held in memory at a time."""

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
    """Return the mean of values with its 95% bootstrap interval."""
    return means_of([values])[0]


def means_of(samples: Sequence[Sequence[float]]) -> list[Mean]:
    """Return the mean of each sample with its 95% bootstrap interval.

    The interval is BCa, or of percentiles where BCa is undefined. A bootstrap interval of few values is too
    narrow, so its level is raised by as much as the t distribution is wider than the normal one (Hesterberg,
    What teachers should know about the bootstrap, 2015).
    """
    means = [rounded(math.fsum(values) / len(values)) if values else None for values in samples]
    found = [
        Mean(len(values), mean, None, None)
        if len(values) < FEWEST
        else Mean(len(values), mean, mean, mean)  # all values are equal, or it is replaced below
        for values, mean in zip(samples, means, strict=True)
    ]
    differing = [n for n, values in enumerate(samples) if len(values) >= FEWEST and min(values) < max(values)]
    for places in _alike(samples, differing):
        ends = _intervals([samples[place] for place in places])
        for place, (low, high) in zip(places, ends, strict=True):
            found[place] = Mean(found[place].n, means[place], rounded(low), rounded(high))
    return found


def _alike(samples: Sequence[Sequence[float]], places: Iterable[int]) -> Iterator[list[int]]:
    """Yield places of samples that have the same number of values. scipy takes such samples at once."""
    by_length: dict[int, list[int]] = {}
    for place in places:
        by_length.setdefault(len(samples[place]), []).append(place)
    for of_length in by_length.values():
        for first in range(0, len(of_length), AT_ONCE):
            yield of_length[first : first + AT_ONCE]


def _intervals(samples: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """Return the ends of the interval of each of these samples, which have the same number of values."""
    import numpy as np  # noqa: PLC0415
    from scipy import stats  # noqa: PLC0415

    values = np.asarray(samples)
    found: list[tuple[float, float]] = [(math.nan, math.nan)] * len(samples)
    for method in ("BCa", "percentile"):
        left = [n for n, ends in enumerate(found) if not all(map(math.isfinite, ends))]
        if not left:
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            interval = stats.bootstrap(
                (values[left],),
                np.mean,
                n_resamples=RESAMPLES,
                batch=_batch(values[left]),
                confidence_level=1 - 2 * tail(values.shape[1]),
                method=method,
                rng=0,
                axis=-1,
            ).confidence_interval
        for place, low, high in zip(left, interval.low, interval.high, strict=True):
            found[place] = float(low), float(high)
    return found


@cache
def reach(n: int) -> float:
    """Return how many standard errors the 95% t interval of n values reaches from their mean."""
    from scipy import stats  # noqa: PLC0415

    return float(-stats.t.ppf(ALPHA / 2, n - 1))


@cache
def tail(n: int) -> float:
    """Return the share of resampled means of n values that lies below a 95% interval; as many lie above."""
    from scipy import stats  # noqa: PLC0415

    return float(stats.norm.cdf(-math.sqrt(n / (n - 1)) * reach(n)))


def _batch(values: "np.ndarray[Any, Any]") -> int:
    """Return how many resamples of these values scipy holds in memory at a time."""
    return max(1, MOST_HELD // values.size)


def difference_of(differences: Sequence[float]) -> Difference:
    """Return the mean of the differences of pairs, tested against 0."""
    return differences_of([differences])[0]


def differences_of(samples: Sequence[Sequence[float]]) -> list[Difference]:
    """Return for each sample the mean of the differences of pairs, tested against 0."""
    ps: list[float | None] = [None] * len(samples)
    testable = [n for n, values in enumerate(samples) if len(values) > 1]
    for places in _alike(samples, testable):
        for place, found_p in zip(places, _ps([samples[place] for place in places]), strict=True):
            ps[place] = found_p
    found = []
    for values, mean, p in zip(samples, means_of(samples), ps, strict=True):
        spread = spread_of(values)
        effect = mean.mean / spread if spread and mean.mean is not None else None
        found.append(Difference(mean, p, effect, spread))
    return found


def _ps(samples: Sequence[Sequence[float]]) -> list[float]:
    """Return the p of each of these samples, which have the same number of differences."""
    import numpy as np  # noqa: PLC0415
    from scipy import stats  # noqa: PLC0415

    values = np.asarray(samples)
    found = stats.permutation_test(
        (values,),
        _mean,
        permutation_type="samples",
        n_resamples=RESAMPLES,
        batch=_batch(values),
        vectorized=True,
        rng=0,
        axis=-1,
    )
    return [float(p) for p in found.pvalue]


def spread_of(values: Sequence[float]) -> float | None:
    """Return the standard deviation of a sample, None if there are not two values."""
    return stdev(values) if len(values) > 1 else None


def _mean(values: "np.ndarray[Any, Any]", axis: int) -> "np.ndarray[Any, Any]":
    """Return the mean, so that equal ones count as equal; scipy flips the signs of the values."""
    means: np.ndarray[Any, Any] = values.mean(axis=axis).round(PLACES)
    return means


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Return p values corrected for their number by Holm's method; None stays None and is not counted."""
    in_order = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    corrected: list[float | None] = [None] * len(ps)
    largest = 0.0
    for rank, (p, place) in enumerate(in_order):
        largest = max(largest, min(1.0, p * (len(in_order) - rank)))
        corrected[place] = largest
    return corrected


@cache
def detectable_effect(n: int, tests: int = 1) -> float | None:
    """Return the smallest effect that a paired test of n pairs finds with a probability of POWER.

    None if so few pairs cannot find any when the p of so many tests are corrected.
    """
    if n < fewest_pairs(tests):
        return None
    from statsmodels.stats.power import TTestPower  # noqa: PLC0415

    return float(TTestPower().solve_power(nobs=n, alpha=ALPHA, power=POWER))


@cache
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
