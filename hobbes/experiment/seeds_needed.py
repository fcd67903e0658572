"""How many seeds an experiment needs, from the smallest differences that matter and a pilot's spread."""

from collections.abc import Iterator
from dataclasses import dataclass

from hobbes.experiment.arm_comparison import Sample, Values, level, of_hypothesis, weighted_sum
from hobbes.experiment.experiment_file import ExperimentFile
from hobbes.experiment.power import detectable_effect, pairs_needed
from hobbes.experiment.report import measures_of, stored_file, values_of_cells
from hobbes.experiment.statistics import check_installed, spread_of
from hobbes.store.home import Store


@dataclass(frozen=True, slots=True)
class Planned:
    """What an experiment can find by one comparison. None stands for what is unknown."""

    about: str
    """An arm, or the text of a hypothesis."""
    measure: str
    spread: float | None
    """The standard deviation of the paired differences."""
    spread_from: str | None
    """The experiment whose runs give the spread."""
    detectable: float | None
    """The smallest difference that all seeds find in 80% of experiments."""
    smallest: float | None
    """The smallest difference that matters."""
    seeds_needed: int | None
    """How many seeds find the smallest difference that matters in 80% of experiments."""


def level_of(file: ExperimentFile) -> float:
    """Return the level below which a p must be before all corrections, in the strictest step of Holm's."""
    return level(len(file.hypotheses) or (len(file.arms) - 1) * len(measures_of(file)))


def planned_comparisons(store: Store, file: ExperimentFile) -> Iterator[Planned]:
    """Yield what an experiment can find, by each of its comparisons: its hypotheses, or all arms.

    The spread is that of its runs, or if none has been played that of its pilot. Raise HobbesError if the
    libraries of statistics are missing, or if there is no such pilot.
    """
    check_installed()
    strictest = level_of(file)
    effect = detectable_effect(len(file.seeds), strictest)
    played, values = file, values_of_cells(store, file)
    if file.pilot and not values:
        played = stored_file(store, file.pilot)
        values = values_of_cells(store, played)
    for about, sample in _samples(file.model_copy(update={"seeds": played.seeds}), values):
        spread = spread_of([*sample.pairs.values()]) or None
        smallest = file.smallest.get(sample.measure)
        yield Planned(
            about,
            sample.measure,
            spread,
            played.name if spread else None,
            effect * spread if effect and spread else None,
            smallest,
            pairs_needed(smallest / spread, strictest) if smallest and spread else None,
        )


def _samples(file: ExperimentFile, values: Values) -> Iterator[tuple[str, Sample]]:
    for one in file.hypotheses:
        yield one.text, of_hypothesis(values, file, one)
    for arm in () if file.hypotheses else file.arms:
        if arm != file.baseline:
            for measure in measures_of(file):
                yield arm, weighted_sum(values, file, measure, {arm: 1.0, file.baseline: -1.0})
