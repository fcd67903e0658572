"""The statistics of an experiment. numpy computes them, with scipy's functions of distributions.

A game is one value. Arms are paired by seed, so all tests are about the differences of pairs. Random numbers
are seeded: the same values give the same figures. Samples of one length share their resamples, so that many
arms are computed at once; `scipy.stats` would resample each by itself, and takes a second to import.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import stdev
from typing import TYPE_CHECKING, Any

from hobbes.lab.errors import LabError

if TYPE_CHECKING:
    import numpy as np

ALPHA = 0.05
"""A difference counts as found if its p is below this."""

POWER = 0.8
"""The share of experiments that would find a difference of the detectable size."""

RESAMPLES = 9_999
"""The resamples of a bootstrap, and the most sign flips of a test, which is exact up to 13 pairs."""

AT_ONCE = 256
"""How many samples are resampled at once."""

MOST_HELD = 4_000_000
"""How many values of the resamples are held in memory at a time."""

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

    def to_json(self) -> dict[str, float | None]:
        """Return the figures as plain JSON."""
        return {"n": self.n, "mean": self.mean, "low": self.low, "high": self.high}


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
    """Raise LabError if the library of statistics is not installed."""
    try:
        import scipy.special  # noqa: F401, PLC0415
    except ImportError as error:
        raise LabError(
            "statistics need scipy; install it in the checkout: pip install -e '.[stats]'"
        ) from error


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


def worst(values: Sequence[float]) -> dict[str, float | None]:
    """Return the minimum and the 5% quantile of a sample, interpolated linearly; None without values."""
    if not values:
        return {"minimum": None, "quantile_5": None}
    in_order = sorted(values)
    below, share = divmod((len(in_order) - 1) * 0.05, 1)
    first, second = in_order[int(below)], in_order[min(int(below) + 1, len(in_order) - 1)]
    return {"minimum": in_order[0], "quantile_5": rounded(first + share * (second - first))}


def _alike(samples: Sequence[Sequence[float]], places: Iterable[int]) -> Iterator[list[int]]:
    """Yield places of samples that have the same number of values. They are resampled together."""
    by_length: dict[int, list[int]] = {}
    for place in places:
        by_length.setdefault(len(samples[place]), []).append(place)
    for of_length in by_length.values():
        for first in range(0, len(of_length), AT_ONCE):
            yield of_length[first : first + AT_ONCE]


def _intervals(samples: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """Return the ends of the interval of each of these samples, which have the same number of values."""
    import numpy as np  # noqa: PLC0415
    from scipy import special  # noqa: PLC0415

    values = np.asarray(samples, float)
    means = values.mean(axis=1, keepdims=True)
    resampled = np.hstack([_means(values, counts) for counts in _resamples(values.shape[1])])
    tie = _tie(values)
    below = ((resampled < means - tie).mean(axis=1) + (resampled <= means + tie).mean(axis=1)) / 2
    off = values - means  # in proportion to what leaving a value out changes
    skew = (off**3).sum(axis=1) / (6 * (off**2).sum(axis=1) ** 1.5)
    outside = tail(values.shape[1])
    found = []
    for of_sample, share, bend in zip(resampled, below.tolist(), skew.tolist(), strict=True):
        bias = special.ndtri(share)
        ends = [bias + z for z in (special.ndtri(outside), -special.ndtri(outside))]
        levels = [special.ndtr(bias + end / (1 - bend * end)) for end in ends]
        if not all(map(math.isfinite, levels)):
            levels = [outside, 1 - outside]
        low, high = np.quantile(of_sample, levels)
        found.append((float(low), float(high)))
    return found


def _resamples(n: int) -> "Iterator[np.ndarray[Any, Any]]":
    """Yield random resamples of n values, in parts: a row for each value, how often it is in each."""
    import numpy as np  # noqa: PLC0415

    rng = np.random.default_rng(0)
    for size in _parts(n):
        drawn = rng.integers(0, n, (size, n))
        counts = np.bincount((drawn + n * np.arange(size)[:, None]).ravel(), minlength=size * n)
        yield counts.reshape(size, n).T.astype(float)


def _parts(n: int) -> Iterator[int]:
    """Yield how many resamples of n values are made at a time."""
    size = max(1, MOST_HELD // n)
    yield from (min(size, RESAMPLES - first) for first in range(0, RESAMPLES, size))


def _means(values: "np.ndarray[Any, Any]", weights: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Return the means of samples, a row for each; a column for each resample, with its weights."""
    import numpy as np  # noqa: PLC0415

    # Not by BLAS, whose threads wait for each other on a busy machine.
    means: np.ndarray[Any, Any] = np.einsum("sn,nr->sr", values, weights) / values.shape[1]
    return means


def _tie(values: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Return by how much two means of each sample may differ and still be the same, as a column."""
    import numpy as np  # noqa: PLC0415

    tie: np.ndarray[Any, Any] = np.maximum(np.abs(values).max(axis=1, keepdims=True), 1) * 10.0**-PLACES
    return tie


@cache
def reach(n: int) -> float:
    """Return how many standard errors the 95% t interval of n values reaches from their mean."""
    from scipy import special  # noqa: PLC0415

    return float(-special.stdtrit(n - 1, ALPHA / 2))


@cache
def tail(n: int) -> float:
    """Return the share of resampled means of n values that lies below a 95% interval; as many lie above."""
    from scipy import special  # noqa: PLC0415

    return float(special.ndtr(-math.sqrt(n / (n - 1)) * reach(n)))


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

    values = np.asarray(samples, float)
    n = values.shape[1]
    means, tie = values.mean(axis=1, keepdims=True), _tie(values)
    flips = less = more = 0
    for signs in _flips(n):
        flipped = _means(values, signs)
        less += (flipped <= means + tie).sum(axis=1)
        more += (flipped >= means - tie).sum(axis=1)
        flips += signs.shape[1]
    itself = 0 if _all_flips(n) else 1  # random flips need not contain the one that was observed
    ps = np.minimum(1, 2 * (np.minimum(less, more) + itself) / (flips + itself))
    return [float(p) for p in ps]


def _all_flips(n: int) -> bool:
    """Return whether all sign flips of n differences are tried."""
    return n <= math.log2(RESAMPLES)


def _flips(n: int) -> "Iterator[np.ndarray[Any, Any]]":
    """Yield all sign flips of n differences, or random ones in parts: a row for each difference."""
    import numpy as np  # noqa: PLC0415

    if _all_flips(n):
        yield 1.0 - 2 * (np.arange(2**n) >> np.arange(n)[:, None] & 1)
        return
    rng = np.random.default_rng(0)
    for size in _parts(n):
        yield rng.permuted(np.tile((1.0, -1.0), (size, n, 1)), axis=-1)[:, :, 0].T


def spread_of(values: Sequence[float]) -> float | None:
    """Return the standard deviation of a sample, None if there are not two values."""
    return stdev(values) if len(values) > 1 else None


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
    low, high = 0.0, 20 / math.sqrt(n)
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if _power(middle, n) >= POWER else (middle, high)
    return high


@cache
def pairs_needed(effect: float, tests: int = 1) -> int | None:
    """Return how many pairs find an effect with a probability of POWER; None if it is more than MANY.

    They are as many as can find any effect when the p of so many tests are corrected, or more.
    """
    if effect == 0 or _power(effect, MANY) < POWER:
        return None
    pairs = range(fewest_pairs(tests), MANY + 1)
    return pairs[bisect_left(pairs, POWER, key=lambda n: _power(effect, n))]


def _power(effect: float, n: int) -> float:
    """Return the probability that a two-sided t test of n pairs finds an effect."""
    from scipy import special  # noqa: PLC0415

    off = abs(effect) * math.sqrt(n)
    not_above, below = (float(special.nctdtr(n - 1, off, way * reach(n))) for way in (1, -1))
    return 1 - sum(one for one in (not_above, -below) if not math.isnan(one))  # nan is too small to tell


def fewest_pairs(tests: int) -> int:
    """Return the number of pairs below which no difference can be found, corrected for a number of tests.

    All differences having one sign gives the smallest p, 2 in 2^n.
    """
    return 1 + math.ceil(math.log2(tests / ALPHA))
