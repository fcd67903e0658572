"""How many seeds an experiment needs, from the smallest differences that matter and a pilot's spread."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hobbes.errors import UsageError
from hobbes.experiment.arm_comparison import Values, level, of_hypothesis, weighted_sum
from hobbes.experiment.experiment_file import ExperimentFile
from hobbes.experiment.power import detectable_effect, pairs_needed
from hobbes.experiment.report import measures_of, stored_file, values_of_cells
from hobbes.experiment.statistics import check_installed, spread_of
from hobbes.store.experiment_tables import experiment_names
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


def planned_comparisons(store: Store, file: ExperimentFile) -> list[Planned]:
    """Return what an experiment can find, by each of its comparisons: its hypotheses, or all arms.

    Raise HobbesError if the libraries of statistics are missing, UsageError if there is no such pilot.
    """
    check_installed()
    strictest = level_of(file)
    effect = detectable_effect(len(file.seeds), strictest)
    found = []
    for about, measure, spread, source in _spreads(store, file):
        smallest = file.smallest.get(measure)
        known = spread or None
        found.append(
            Planned(
                about,
                measure,
                known,
                source if known else None,
                effect * known if effect and known else None,
                smallest,
                pairs_needed(smallest / known, strictest) if smallest and known else None,
            )
        )
    return found


def _spreads(store: Store, file: ExperimentFile) -> Iterator[tuple[str, str, float | None, str | None]]:
    """Yield each comparison with its spread in the runs of this experiment, or else in those of its pilot."""
    sources = [(file, values_of_cells(store, file))]
    if file.pilot:
        if file.pilot not in experiment_names(store):
            raise UsageError(f"pilot: there is no experiment {file.pilot!r} in {store.home}; play it first")
        pilot = stored_file(store, file.pilot)
        sources.append((pilot, values_of_cells(store, pilot)))
    if file.hypotheses:
        for one in file.hypotheses:
            samples = [
                (
                    of.name,
                    [*of_hypothesis(values, file.model_copy(update={"seeds": of.seeds}), one).pairs.values()],
                )
                for of, values in sources
            ]
            yield one.text, one.measure, *_first_spread(samples)
        return
    for arm in (name for name in file.arms if name != file.baseline):
        for measure in measures_of(file):
            samples = [(of.name, _pairs(of, values, arm, measure)) for of, values in sources]
            yield arm, measure, *_first_spread(samples)


def _pairs(file: ExperimentFile, values: Values, arm: str, measure: str) -> list[float]:
    """Return the differences between an arm and the baseline."""
    return [*weighted_sum(values, file, measure, {arm: 1.0, file.baseline: -1.0}).pairs.values()]


def _first_spread(samples: Sequence[tuple[str, Sequence[float]]]) -> tuple[float | None, str | None]:
    """Return the spread of the first sample that has one, and the experiment that it comes from."""
    return next(((spread, name) for name, pairs in samples if (spread := spread_of(pairs))), (None, None))
