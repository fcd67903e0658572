"""Contrasts: what a hypothesis compares, as a weight for each arm.

The weighted sum of the arms' values with one seed is one value. So any two arms, and a trend over a
factor, are tested like the difference between an arm and the baseline.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from hobbes.experiment.experiment_file import ExperimentFile, Hypothesis


def weights(file: ExperimentFile, one: Hypothesis) -> dict[str, float]:
    """Return the weight of each arm that a hypothesis compares.

    A trend is the difference between the largest and the smallest value of the factor, along the line that
    fits all arms best.
    """
    if one.test == "trend":
        return _trend(file, str(one.factor))
    if one.test == "baseline":
        return {str(one.arm): 1.0, one.against or file.baseline: -1.0}
    return {str(one.arm): 1.0}


def _trend(file: ExperimentFile, factor: str) -> dict[str, float]:
    if file.factors is None:
        return {}
    levels = (levels[factor] for levels in file.factors.combinations())
    numbers = _as_numbers([file.factors.value(factor, level) for level in levels])
    mean, size = fmean(numbers), max(numbers) - min(numbers)
    squares = sum((x - mean) ** 2 for x in numbers)
    return {arm: (x - mean) * size / squares for arm, x in zip(file.arms, numbers, strict=True)}


def _as_numbers(values: Sequence[Any]) -> list[float]:
    """Return the values of a factor as numbers; those that are none count by their places in the file."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return [float(value) for value in values]
    places = list(dict.fromkeys(map(repr, values)))
    return [float(places.index(repr(value))) for value in values]
