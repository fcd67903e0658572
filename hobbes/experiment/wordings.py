"""Wordings that stand for others: intervals over them as well as over games.

Wordings and seeds are crossed, as items and subjects are in experiments with language: each wording is played
with each seed. Both are samples. A difference that holds over both has an interval that is the widest of
three: over games, over wordings, and over both at once, which is that of Clark's min F' (The
language-as-fixed-effect fallacy, 1973). docs/calibration.md says how often it holds the truth.
"""

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hobbes.experiment.power import detectable_by_student
from hobbes.experiment.statistics import ALPHA, MIN_VALUES, Difference, Mean, means_of, rounded, to_json


@dataclass(frozen=True, slots=True)
class Wordings:
    """What is compared, with each wording that some arms share. Their mean is that of the pairs."""

    arms: tuple[str, ...]
    crossed: Mapping[str, Mapping[int, float]]
    """By the name of the wording, then by seed."""

    def of_seeds(self, seeds: Container[int]) -> "Wordings":
        """Return the part of these seeds."""
        return Wordings(self.arms, {name: of_seeds(each, seeds) for name, each in self.crossed.items()})

    def means(self) -> dict[str, Mean]:
        """Return the comparison as it is with each wording alone."""
        means = means_of([[*by_seed.values()] for by_seed in self.crossed.values()])
        return dict(zip(self.crossed, means, strict=True))

    def to_json(self) -> dict[str, Any]:
        """Return the comparison with each wording alone as plain JSON."""
        each = [{"wording": name, **to_json(mean)} for name, mean in self.means().items()]
        return {"arms": list(self.arms), "each": each}


def of_seeds(values: Mapping[int, float], seeds: Container[int]) -> dict[int, float]:
    """Return the values of these seeds."""
    return {seed: value for seed, value in values.items() if seed in seeds}


@dataclass(frozen=True, slots=True)
class _Error:
    """A standard error of a mean with its degrees of freedom."""

    size: float
    freedom: float

    @property
    def reach(self) -> float:
        """How far an interval reaches that misses the true mean with probability ALPHA."""
        from scipy import special  # noqa: PLC0415  slow to import

        return self.size * float(-special.stdtrit(self.freedom, ALPHA / 2))

    def p_above(self, mean: float) -> float:
        """Return the p that a mean is above 0."""
        from scipy import special  # noqa: PLC0415  slow to import

        if self.size == 0:
            return 0.0 if mean > 0 else 1.0
        return float(special.stdtr(self.freedom, -mean / self.size))


def _errors(pairs: Mapping[int, float], wordings: Sequence[Wordings]) -> tuple[_Error, _Error]:
    """Return the standard errors over wordings, and over wordings and games (Satterthwaite, 1946)."""
    import numpy as np  # noqa: PLC0415  slow to import

    parts = [_part([np.mean([*each.values()]) for each in one.crossed.values()]) for one in wordings]
    return _together(parts), _together([*parts, _part([*pairs.values()])])


def _part(values: Sequence[Any]) -> tuple[float, int]:
    """Return the variance of a mean, and its degrees of freedom."""
    import numpy as np  # noqa: PLC0415  slow to import

    variance = float(np.var(values, ddof=1)) / len(values)
    return (variance if math.sqrt(variance) > 10.0**-12 else 0.0), len(values) - 1


def _together(parts: Sequence[tuple[float, int]]) -> _Error:
    """Return the standard error of a mean whose variance is the sum of these."""
    variance = math.fsum(of for of, _ in parts)
    squares = math.fsum(of**2 / freedom for of, freedom in parts)
    return _Error(math.sqrt(variance), variance**2 / squares if squares else parts[0][1])


def over_wordings(one: Difference, pairs: Mapping[int, float], wordings: Sequence[Wordings]) -> Difference:
    """Return a difference whose interval and p hold over wordings, too. A p is the largest of the three."""
    mean, margin, p_margin = one.mean.mean, one.margin, one.p_margin
    if mean is None or one.p is None or not wordings:
        return one
    errors = _errors(pairs, wordings)
    if margin is not None and p_margin is not None:
        p_margin = max(p_margin, *(of.p_above(margin - abs(mean)) for of in errors))
    p = max(one.p, *(min(1.0, 2 * of.p_above(abs(mean))) for of in errors))
    reach, low, high = max(of.reach for of in errors), one.mean.low, one.mean.high
    if len(pairs) >= MIN_VALUES and reach:
        low = rounded(mean - reach if low is None else min(low, mean - reach))
        high = rounded(mean + reach if high is None else max(high, mean + reach))
    return replace(one, mean=Mean(one.mean.n, mean, low, high), p=p, p_margin=p_margin)


def detectable_over_wordings(pairs: Mapping[int, float], wordings: Sequence[Wordings], level: float) -> float:
    """Return the smallest difference that the p over wordings finds in 80% of experiments."""
    return max(detectable_by_student(of.size, of.freedom, level) for of in _errors(pairs, wordings))
