"""How small a difference an experiment finds.

Experiments are simulated: normal values, the very test of a report, at the level that is left after its
corrections. Effects are in standard deviations of the paired differences.
"""

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from hobbes.experiment.statistics import ALPHA, check_installed, fewest_pairs, p_above, p_studentized

if TYPE_CHECKING:
    import numpy as np

POWER = 0.8
"""The share of experiments that find a difference of the size that is announced."""

SIMULATED = 500
"""How many experiments are simulated."""

MAX_FLIPPED = 12
"""In more pairs, the flips of signs hardly change a p, so they are left out of the simulation."""

MAX_SIMULATED = 200
"""Experiments of more pairs are not simulated."""

PRECISION = 0.01
"""By which share of itself a detectable effect may be too large."""


@cache
def _simulate(n: int) -> "np.ndarray[Any, Any]":
    """Return experiments of n pairs in which nothing differs, a row for each."""
    import numpy as np  # noqa: PLC0415

    return np.random.default_rng(n).normal(size=(SIMULATED, n))


def detectable_by_student(error: float, freedom: float, level: float) -> float:
    """Return the mean with this standard error that Student's test finds with a probability of POWER."""
    from scipy import special  # noqa: PLC0415

    limit = float(-special.stdtrit(freedom, level / 2))
    return error * float(special.nctdtrinc(freedom, 1 - POWER, limit))


@cache
def detectable_effect(n: int, level: float = ALPHA) -> float | None:
    """Return the smallest effect whose p is below a level in POWER of experiments of n pairs.

    None if n pairs find no effect. The test of many pairs is nearly that of Student. Raise ExtraError if the
    library of statistics is not installed.
    """
    if n < fewest_pairs(level):
        return None
    check_installed()
    if n > MAX_SIMULATED:
        return detectable_by_student(1 / math.sqrt(n), n - 1, level)
    p = p_above if n <= MAX_FLIPPED else p_studentized
    low, high = 0.0, 40 / math.sqrt(n)
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        is_found = (2 * p(_simulate(n) + middle) < level).mean() >= POWER
        low, high = (low, middle) if is_found else (middle, high)
    return high
