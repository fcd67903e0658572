"""Contrasts: what a hypothesis compares, as a weight for each arm.

The weighted sum of the arms' values with one seed is one value. So any two arms, and a trend over a
factor, are tested like the difference between an arm and the baseline.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from hobbes.engine.world import AnyWorld
from hobbes.experiment.experiment_file import ExperimentFile, Hypothesis
from hobbes.worlds import world_named


def weights(file: ExperimentFile, one: Hypothesis) -> dict[str, float]:
    """Return the weight of each arm that a hypothesis compares.

    A trend is the difference between the largest and the smallest value of the factor, along the line that
    fits all arms best.
    """
    if one.test == "trend":
        return _trend(file, str(one.factor))
    if one.test == "baseline":
        return {str(one.arm): 1.0, one.against or file.baseline: -(one.share or 1.0)}
    return {str(one.arm): 1.0}


def _trend(file: ExperimentFile, factor: str) -> dict[str, float]:
    """Return the weights of a trend over a factor."""
    values = _values_of(file, world_named(file.world), factor)
    numbers = _as_numbers([*values.values()])
    mean, size = fmean(numbers), max(numbers) - min(numbers)
    squares = sum((x - mean) ** 2 for x in numbers)
    return {arm: (x - mean) * size / squares for arm, x in zip(values, numbers, strict=True)}


def _as_numbers(values: Sequence[Any]) -> list[float]:
    """Return the values of a factor as numbers; those that are none count by their places in the file."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return [float(value) for value in values]
    places = list(dict.fromkeys(map(repr, values)))
    return [float(places.index(repr(value))) for value in values]


def _values_of(file: ExperimentFile, world: AnyWorld, factor: str) -> dict[str, Any]:
    """Return the value of a factor in each arm, without the arms in which another factor alone is changed."""
    if file.factors is None:
        return {}
    return {
        arm: file.factors.value(factor, levels[factor])
        if factor in levels
        else _value_of_baseline(file, world, factor)
        for arm, levels in zip(file.arms, file.factors.combinations(), strict=True)
        if file.factors.design != "one-at-a-time" or not levels.keys() - {factor}
    }


def _value_of_baseline(file: ExperimentFile, world: AnyWorld, factor: str) -> object:
    """Return the value of a factor where no arm sets it, None if it has none."""
    if factor in file.parameters:
        return file.parameters[factor]
    if factor == "agents":
        return file.agents or world.default_agents
    if factor == "rounds" and file.rounds is not None:
        return file.rounds
    name, _, part = factor.partition(".")
    setting = world.config.model_fields.get(name)
    default = setting.get_default(call_default_factory=True) if setting else None
    if not part:
        return file.settings.get(name, default)
    given = file.settings.get(name)
    return given.get(part) if isinstance(given, dict) and part in given else getattr(default, part, None)
