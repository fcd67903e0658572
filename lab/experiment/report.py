"""The report of an experiment: its figures, and what can be concluded from them in words."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hobbes.engine.worlds import world_named
from hobbes.lab.errors import DamagedError
from hobbes.lab.experiment.file import NULL, ExperimentFile, Hypothesis, parse
from hobbes.lab.experiment.findings import Findings, findings
from hobbes.lab.experiment.fitting import fitting
from hobbes.lab.experiment.invasion import Invasion, invasions
from hobbes.lab.experiment.manifest import manifest
from hobbes.lab.experiment.ranking import Rankings, Seat, rankings, to_json
from hobbes.lab.experiment.statistics import (
    ALPHA,
    Difference,
    Mean,
    detectable_effect,
    differences_of,
    fewest_pairs,
    holm,
    means_of,
    needed,
    pairs_needed,
    rounded,
    spread_of,
    worst,
)
from hobbes.lab.store.experiments import (
    PlayedCell,
    damaged_file,
    experiment_file,
    experiment_names,
    played_cells,
    runs_of_cells,
)
from hobbes.lab.store.home import Store
from hobbes.lab.store.reported import SCOPES, Figures, figures_of


@dataclass(frozen=True, slots=True)
class Arm:
    """The figures of an arm by itself."""

    runs: int
    tainted: int
    measures: dict[str, Mean]
    worst: dict[str, dict[str, float | None]]
    """The minimum and the 5% quantile of each measure over the runs."""

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain JSON."""
        measures = {name: {**mean.to_json(), **self.worst[name]} for name, mean in self.measures.items()}
        return {"runs": self.runs, "tainted": self.tainted, "measures": measures}


@dataclass(frozen=True, slots=True)
class Compared:
    """An arm minus the baseline, by one measure; or the second half of its runs minus the first."""

    arm: str
    measure: str
    difference: Difference
    p_holm: float | None
    """Corrected for the number of measures."""
    pairs: Mapping[int, float]
    """The difference of each pair, by seed."""

    def to_json(self) -> dict[str, Any]:
        """Return the measure and the figures of the difference as plain JSON."""
        return {
            "measure": self.measure,
            **self.difference.mean.to_json(),
            "p": self.difference.p,
            "p_holm": self.p_holm,
            "effect": self.difference.effect,
        }

    def nearest(self) -> int | None:
        """Return the seed whose pair is nearest the mean difference, None without pairs."""
        return min(self.pairs, key=self._distance, default=None)

    def farthest(self) -> int | None:
        """Return the seed whose pair is farthest from the mean difference, None without pairs."""
        return max(self.pairs, key=self._distance, default=None)

    def _distance(self, seed: int) -> float:
        return abs(self.pairs[seed] - (self.difference.mean.mean or 0.0))


@dataclass(frozen=True, slots=True)
class Tested:
    """A hypothesis with the difference that it is about."""

    hypothesis: Hypothesis
    difference: Difference
    p_holm: float | None
    """Corrected for the number of hypotheses."""
    fewest: int
    """The number of pairs below which the test finds nothing."""

    def verdict(self) -> str:
        """Return `supported`, `not supported` or `undecided`.

        A hypothesis is not supported if the opposite was found, or if nothing differs in enough pairs.
        """
        mean = self.difference.mean.mean
        if mean and self.p_holm is not None and self.p_holm < ALPHA:
            return "supported" if (mean > 0) == (self.hypothesis.direction == "higher") else "not supported"
        nothing = mean == 0 and self.difference.spread == 0 and self.difference.mean.n >= self.fewest
        return "not supported" if nothing else "undecided"


@dataclass(frozen=True, slots=True)
class Report:
    """The report of an experiment."""

    experiment: str
    world: str
    baseline: str
    planned: int
    """The number of cells."""
    with_tainted: bool
    """Whether the figures rest on tainted runs as well."""
    measures: tuple[str, ...]
    arms: dict[str, Arm]
    differences: tuple[Compared, ...]
    halves: tuple[Compared, ...]
    detectable: dict[str, float | None]
    cells: tuple[PlayedCell, ...]
    values: "Values"
    hypotheses: tuple[Tested, ...]
    invasions: tuple[Invasion, ...]
    rankings: Rankings
    """The players by wins and by score, if the design is `pairs`."""
    findings: Findings
    manifest: dict[str, Any]
    left_out: tuple[str, ...]
    """The runs that are not in the report because they are damaged, or are not what their cell asks for."""

    def to_json(self) -> dict[str, Any]:
        """Return the report as `hobbes report --json` prints it."""
        return {
            "experiment": self.experiment,
            "arms": {name: arm.to_json() for name, arm in self.arms.items()},
            "differences": [
                {"arm": one.arm, "baseline": self.baseline, **one.to_json()} for one in self.differences
            ],
            "halves": [{"arm": one.arm, **one.to_json()} for one in self.halves],
            "detectable": self.detectable,
            "cells": [
                {
                    "arm": cell.arm,
                    "seed": cell.seed,
                    "run": cell.run,
                    "digest": cell.digest,
                    "tainted": cell.tainted,
                }
                for cell in self.cells
            ],
            "hypotheses": [
                {
                    **one.hypothesis.model_dump(),
                    "verdict": one.verdict(),
                    **one.difference.mean.to_json(),
                    "p": one.difference.p,
                    "p_holm": one.p_holm,
                }
                for one in self.hypotheses
            ],
            "invasions": [one.to_json() for one in self.invasions],
            "rankings": to_json(self.rankings),
            "doses": [
                {
                    "factor": one.factor,
                    "measure": one.measure,
                    "fixed": one.fixed,
                    "points": [{"value": p.value, "arm": p.arm, **p.mean.to_json()} for p in one.points],
                }
                for one in self.findings.doses
            ],
            "over_time": [
                {
                    "arm": one.arm,
                    "measure": one.measure,
                    "points": [{"first": p.first, "last": p.last, **p.mean.to_json()} for p in one.points],
                }
                for one in self.findings.over_time
            ],
            "survival": [one.to_json() for one in self.findings.survival],
            "ratings": [
                {
                    "arm": one.arm,
                    "kind": one.kind,
                    "points": [
                        {"rating": p.rating, "count": p.count, **p.mean.to_json()} for p in one.points
                    ],
                }
                for one in self.findings.ratings
            ],
            "payoffs": [
                {"arm": one.arm, "player": one.player, "agents": one.agents, **one.mean.to_json()}
                for one in self.findings.payoffs
            ],
            "manifest": self.manifest,
        }

    def null_difference(self, measure: str) -> Difference | None:
        """Return how much the null arm differs from the baseline, None without a null arm."""
        found = (one.difference for one in self.differences if (one.arm, one.measure) == (NULL, measure))
        return next(found, None)


NOTHING = "nothing can be concluded"
"""What a conclusion begins with that is said once for all arms and measures that it is about."""

LARGE = 999.5
"""From here on, a figure is told without fractions."""


def report(store: Store, experiment: str, *, with_tainted: bool = True) -> Report:
    """Return the report of the cells of an experiment that have been played.

    Raise MissingError if there is no such experiment, DamagedError if its file is damaged, LabError if the
    libraries of statistics are missing. Runs that are damaged are left out.
    """
    needed()
    file = stored_file(store, experiment)
    measures = measures_of(file)
    names = arms_of(file)
    planned = [(name, seed) for seed in file.seeds for name in names]
    left_out: list[str] = []
    fits = fitting(store, file, played_cells(store, experiment), left_out)
    by_place = {(cell.arm, cell.seed): cell for cell in fits}
    world = world_named(file.world)
    known = {(one.cell.arm, one.cell.seed): one for one in figures_of(store, by_place.values(), left_out)}
    everybody = {name: [known[name, seed] for seed in file.seeds if (name, seed) in known] for name in names}
    cells = tuple(known[key].cell for key in planned if key in known)
    games = {
        name: [one for one in of_arm if with_tainted or not one.cell.tainted]
        for name, of_arm in everybody.items()
    }
    used, values = _values(games), _values(everybody)
    arms = _arms(cells, used, names, measures)
    return Report(
        experiment,
        file.world,
        file.baseline,
        len(planned),
        with_tainted,
        measures,
        arms,
        tuple(_compared(used, file, [name for name in names if name != file.baseline], _against_baseline)),
        tuple(_compared(used, file, names, _half_against_half)),
        {measure: _detectable(used, file, measure) for measure in measures},
        cells,
        values,
        tuple(_tested(used, file)),
        invasions(file, games),
        _rankings(file, games),
        findings(file, world, games, {name: arm.measures for name, arm in arms.items()}),
        manifest(file, everybody),
        tuple(left_out),
    )


def _rankings(file: ExperimentFile, games: Mapping[str, Sequence[Figures]]) -> Rankings:
    """Return the rankings of the players, empty unless everybody plays against everybody."""
    if file.factors is None or file.factors.design != "pairs":
        return {}
    return rankings(
        (one.cell.seed, [Seat(*seat) for seat in one.seats]) for arm in file.arms for one in games[arm]
    )


def detectable_from_runs(store: Store, file: ExperimentFile) -> tuple[float | None, dict[str, float | None]]:
    """Return the smallest effect that all seeds of an experiment detect, and the smallest differences.

    The differences, by measure, follow from the pairs that have been played. None stands for what is unknown.
    Raise LabError if the libraries of statistics are missing.
    """
    needed()
    seeds, measures = len(file.seeds), measures_of(file)
    cells = fitting(store, file, played_cells(store, file.name), [])
    known = list(figures_of(store, cells, []))
    found = _values({name: [one for one in known if one.cell.arm == name] for name in arms_of(file)})
    effect = detectable_effect(seeds, len(measures))
    return effect, {m: _detectable(found, file, m, seeds) for m in measures}


def overview(store: Store) -> list[dict[str, Any]]:
    """Return the experiments of a home, the newest first, each with how much of it has been played.

    Of one whose file is damaged, only the name and the damage are returned.
    """
    listed: list[dict[str, Any]] = []
    for name in experiment_names(store):
        try:
            file = stored_file(store, name)
        except DamagedError as error:
            listed.append({"experiment": name, "damage": str(error)})
            continue
        arms = arms_of(file)
        runs = runs_of_cells(store, name)
        planned = [(arm, seed) for arm in arms for seed in file.seeds]
        listed.append(
            {
                "experiment": name,
                "world": file.world,
                "arms": list(arms),
                "seeds": len(file.seeds),
                "runs": len(planned),
                "played": sum(runs.get(cell, ("", ""))[1] == "finished" for cell in planned),
            }
        )
    return listed


def stored_file(store: Store, name: str) -> ExperimentFile:
    """Return the stored file of an experiment; raise MissingError or DamagedError if there is none."""
    try:
        file = parse(experiment_file(store, name))
        world_named(file.world)
    except ValueError as error:
        raise damaged_file(name, str(error)) from error
    return file


def measures_of(file: ExperimentFile) -> tuple[str, ...]:
    """Return the measures that an experiment compares."""
    asked = file.compare.measures
    return tuple(dict.fromkeys(asked)) if asked else world_named(file.world).headline


def arms_of(file: ExperimentFile) -> tuple[str, ...]:
    """Return the arms of an experiment, the null arm last."""
    return (*file.arms, *([NULL] if file.compare.null else ()))


Values = Mapping[tuple[str, int], Mapping[tuple[str, str], float | None]]
"""The measures of each cell, by arm and seed: scope and name to value."""

BySeed = dict[int, float]
"""A figure of each seed that has one."""


def _values(games: Mapping[str, Sequence[Figures]]) -> Values:
    """Return the measures of the cells."""
    return {
        (arm, one.cell.seed): {
            (scope, name): value
            for name, of_scopes in one.row["measures"].items()
            for scope, value in zip(SCOPES, of_scopes, strict=True)
        }
        for arm, of_arm in games.items()
        for one in of_arm
    }


def _arms(
    cells: Sequence[PlayedCell], used: Values, names: Sequence[str], measures: Sequence[str]
) -> dict[str, Arm]:
    """Return the figures of each arm. Its runs are counted whether the figures rest on them or not."""
    samples = {
        (name, measure): [
            value
            for cell in cells
            if cell.arm == name and (value := _value(used, cell.arm, cell.seed, measure)) is not None
        ]
        for name in names
        for measure in measures
    }
    means = dict(zip(samples, means_of([*samples.values()]), strict=True))
    runs = Counter(cell.arm for cell in cells)
    tainted = Counter(cell.arm for cell in cells if cell.tainted)
    return {
        name: Arm(
            runs[name],
            tainted[name],
            {measure: means[name, measure] for measure in measures},
            {measure: worst(samples[name, measure]) for measure in measures},
        )
        for name in names
    }


def _value(used: Values, arm: str, seed: int, measure: str, scope: str = "run") -> float | None:
    """Return a measure of a run, None if it is undefined or the run is missing."""
    return used.get((arm, seed), {}).get((scope, measure))


def _against_baseline(used: Values, file: ExperimentFile, name: str, measure: str) -> BySeed:
    """Return the arm minus the baseline, for each seed where both have a value."""
    return {
        seed: rounded(one - other)
        for seed in file.seeds
        if (one := _value(used, name, seed, measure)) is not None
        and (other := _value(used, file.baseline, seed, measure)) is not None
    }


def _half_against_half(used: Values, file: ExperimentFile, name: str, measure: str) -> BySeed:
    """Return the second half minus the first, for each run that has a value in both."""
    return {
        seed: rounded(second - first)
        for seed in file.seeds
        if (second := _value(used, name, seed, measure, "second-half")) is not None
        and (first := _value(used, name, seed, measure, "first-half")) is not None
    }


def _against_zero(used: Values, file: ExperimentFile, name: str, measure: str) -> BySeed:
    """Return the measure of each run that has a value."""
    return {seed: value for seed in file.seeds if (value := _value(used, name, seed, measure)) is not None}


Way = Callable[[Values, ExperimentFile, str, str], BySeed]
"""How the pairs of an arm and a measure are made."""


def _compared(used: Values, file: ExperimentFile, arms: Sequence[str], way: Way) -> Iterator[Compared]:
    """Yield the tested differences of arms. Holm's correction is over the measures of an arm."""
    measures = measures_of(file)
    pairs = [(arm, measure, way(used, file, arm, measure)) for arm in arms for measure in measures]
    found = differences_of([list(of_pair.values()) for *_, of_pair in pairs])
    for first in range(0, len(pairs), len(measures)):
        of_arm = slice(first, first + len(measures))
        corrected = holm([one.p for one in found[of_arm]])
        for (arm, measure, by_seed), one, p_holm in zip(pairs[of_arm], found[of_arm], corrected, strict=True):
            yield Compared(arm, measure, one, p_holm, by_seed)


def _tested(used: Values, file: ExperimentFile) -> Iterator[Tested]:
    """Yield the tested hypotheses. Holm's correction is over all of them."""
    ways = {"baseline": _against_baseline, "halves": _half_against_half, "zero": _against_zero}
    asked = file.hypotheses
    found = differences_of([list(ways[one.test](used, file, one.arm, one.measure).values()) for one in asked])
    corrected = holm([one.p for one in found])
    for one, difference, p_holm in zip(asked, found, corrected, strict=True):
        yield Tested(one, difference, p_holm, fewest_pairs(len(asked)))


def _detectable(used: Values, file: ExperimentFile, measure: str, seeds: int | None = None) -> float | None:
    """Return the smallest difference that is found with a probability of 80%, None if it is unknown.

    It is found with so many seeds, or else with as many pairs as there are. It follows from the standard
    deviation of the pairs' differences: that of the arm where it is largest, or of the null arm where no
    other arm differs from the baseline.
    """
    tests = len(measures_of(file))
    for arms in ([name for name in file.arms if name != file.baseline], [NULL]):
        pairs = [list(_against_baseline(used, file, name, measure).values()) for name in arms]
        sizes = [
            effect * spread
            for differences in pairs
            if (spread := spread_of(differences))
            and (effect := detectable_effect(seeds or len(differences), tests)) is not None
        ]
        if sizes:
            return max(sizes)
    return None


def conclusions(found: Report) -> Iterator[str]:
    """Yield what can be concluded, one sentence or more for each arm and measure."""
    if len(found.cells) < found.planned:
        yield (
            f"{len(found.cells)} of {found.planned} runs have been played. "
            "These figures are not the last ones; do not stop early because of them."
        )
    for name, figures in found.arms.items():
        if figures.tainted:
            rest = "The figures rest on them as well" if found.with_tainted else "They are left out"
            tainted = f"{figures.tainted} of {figures.runs} runs are tainted"
            yield f"{name}: {tainted}, because too many calls failed. {rest}."
    changed = [arm for arm in found.arms if arm not in {found.baseline, NULL}]
    if not changed:
        yield (
            f"No arm is compared with {found.baseline} but the null arm. It shows how large a difference "
            "means nothing."
        )
    same = {arm: pairs for arm in changed if (pairs := _same(found, arm))}
    for arm, pairs in same.items():
        yield f"{arm}: the same as {found.baseline}. All {pairs} pairs have equal digests: no turn differs."
    yield from _concluded(found, [one for one in found.differences if one.arm not in {NULL, *same}])
    for one in found.differences:
        if one.arm == NULL and one.p_holm is not None and one.p_holm < ALPHA:
            yield (
                f"The null arm differs from the baseline by {one.measure}, although nothing was changed. "
                "Of many experiments, some show this by chance; read the other differences with care."
            )


def _same(found: Report, arm: str) -> int:
    """Return the number of pairs if the runs of each pair have the same digest, otherwise 0."""
    digests = {(cell.arm, cell.seed): cell.digest for cell in found.cells}
    pairs = [(digests[arm, s], digests.get((found.baseline, s))) for a, s in digests if a == arm]
    return len(pairs) if all(one == other for one, other in pairs) else 0


def _concluded(found: Report, compared: Sequence[Compared]) -> Iterator[str]:
    """Yield what can be concluded about differences; that nothing can be is said once for each reason."""
    nothing: dict[str, list[Compared]] = {}
    for one in compared:
        conclusion = _conclusion(found, one)
        if conclusion.startswith(NOTHING):
            nothing.setdefault(conclusion, []).append(one)
        else:
            yield f"{one.arm}, {one.measure}: {conclusion}"
    for conclusion, about in nothing.items():
        if len(about) == len(compared) > 1:
            yield conclusion[0].upper() + conclusion[1:]
        else:
            yield f"{'; '.join(_about(found, about))}: {conclusion}"


def _about(found: Report, compared: Sequence[Compared]) -> Iterator[str]:
    """Yield arm and measure of differences, and only the arm where all its measures are among them."""
    for arm, count in Counter(one.arm for one in compared).items():
        if count == len(found.measures) > 1:
            yield arm
        else:
            yield from (f"{arm}, {one.measure}" for one in compared if one.arm == arm)


def _conclusion(found: Report, one: Compared) -> str:
    """Return what can be concluded about one difference."""
    difference, n = one.difference, one.difference.mean.n
    tests = len(found.measures)
    fewest = fewest_pairs(tests)
    if not n or difference.mean.mean is None:
        return f"{NOTHING}, because in no pair do both runs have a value that counts."
    if difference.spread == 0 and difference.mean.mean == 0:
        return f"no difference at all: {found.baseline} and {one.arm} have the same value in all {n} pairs."
    if one.p_holm is not None and one.p_holm < ALPHA:
        word = "higher" if difference.mean.mean > 0 else "lower"
        return (
            f"{word} than {found.baseline} by {short(abs(difference.mean.mean))} "
            f"({_interval(difference.mean)}), p {short(one.p_holm)}.{_beside_null(found, one)}"
        )
    if n < fewest:
        pairs = "one pair" if n == 1 else f"{n} pairs"
        test = "The test needs" if tests == 1 else f"With {tests} measures the test needs"
        return f"{NOTHING} from {pairs}. {test} {fewest} or more."
    doubt = f"no difference can be concluded (p {short(one.p_holm)}).{_beside_interval(found, one)}"
    return f"{doubt} {_what_would_do(found, one)}"


def _beside_interval(found: Report, one: Compared) -> str:
    """Return why no difference can be concluded if the interval leaves out 0, otherwise nothing."""
    mean, tests = one.difference.mean, len(found.measures)
    if mean.low is None or mean.high is None or mean.low <= 0 <= mean.high:
        return ""
    corrected = f"; p is corrected for {tests} measures, and the interval is not" if tests > 1 else ""
    return f" The {_interval(mean)} leaves out 0, but p decides{corrected}."


def _beside_null(found: Report, one: Compared) -> str:
    """Return a warning if the null arm may differ by as much."""
    null, mean = found.null_difference(one.measure), one.difference.mean.mean
    if null is None or null.mean.low is None or null.mean.high is None or mean is None:
        return ""
    reach = max(abs(null.mean.low), abs(null.mean.high))
    if abs(mean) > reach:
        return ""
    return f" But the null arm may differ by as much ({_interval(null.mean)}), so this may mean nothing."


def _what_would_do(found: Report, one: Compared) -> str:
    """Return what so many seeds can show, and how many would be needed for the difference that was seen."""
    n, mean = one.difference.mean.n, one.difference.mean.mean
    least = found.detectable[one.measure]
    can = f"{n} seeds find a difference of {short(least)} in 80% of experiments. " if least else ""
    seen = pairs_needed(one.difference.effect or 0.0, len(found.measures))
    if seen is None:
        return f"{can}The difference that was seen is so small that no number of seeds would do."
    if seen <= n:
        return f"{can}The difference that was seen is about as large; a few more seeds may tell."
    size = f"{'+' if (mean or 0.0) > 0 else ''}{short(mean)}"
    return f"{can}If the difference that was seen, {size}, is the true one, {seen} seeds would do."


def verdicts(found: Report) -> Iterator[str]:
    """Yield a line for each hypothesis: the verdict, its text, and the numbers."""
    for one in found.hypotheses:
        asked, mean = one.hypothesis, one.difference.mean
        than = {
            "baseline": f"difference from {found.baseline}",
            "halves": "second half of a run minus the first",
            "zero": "compared with 0",
        }[asked.test]
        numbers = f"{short(mean.mean)} ({_interval(mean)}), n {mean.n}, p {short(one.p_holm)}"
        few = f" The test needs {one.fewest} pairs or more." if mean.n < one.fewest else ""
        yield (
            f"{one.verdict().capitalize()}: {asked.text.rstrip('.')}. Expected: {asked.direction}. "
            f"{asked.arm}, {asked.measure}, {than}: {numbers}.{few}"
        )


def short(value: float | None) -> str:
    """Return a figure with three digits, or a large one without fractions; a hyphen if it is undefined."""
    if value is None:
        return "-"
    return f"{value:.3g}" if abs(value) < LARGE else f"{value:,.0f}"


def _interval(mean: Mean) -> str:
    """Return an interval in words."""
    return f"95% interval {short(mean.low)} to {short(mean.high)}"
