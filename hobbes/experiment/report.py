"""The report of an experiment: its figures and their tests. `wording.py` says them in words."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from hobbes.engine.world import AnyWorld
from hobbes.errors import DamagedError
from hobbes.experiment.arm_comparison import (
    Compared,
    Judged,
    Rules,
    Tested,
    Values,
    judge,
    level,
    of_hypothesis,
    weighted_sum,
)
from hobbes.experiment.experiment_file import NULL, ExperimentFile, Hypothesis, parts_of, stored_file
from hobbes.experiment.failures import Failing, fail_equally, failing
from hobbes.experiment.findings import Findings, findings
from hobbes.experiment.frozen import FrozenPlan, frozen_plan
from hobbes.experiment.ranking import Rankings, Seat, rankings
from hobbes.experiment.statistics import Mean, check_installed, means_of, to_json
from hobbes.store.experiment_tables import BegunCell, cells_of
from hobbes.store.home import Store
from hobbes.store.policy_games import with_turns
from hobbes.store.reported import SCOPES, ReportedRun, figures_of
from hobbes.worlds import world_named


@dataclass(frozen=True, slots=True)
class Arm:
    """The figures of an arm by itself."""

    runs: int
    tainted: int
    measures: dict[str, Mean]


@dataclass(frozen=True, slots=True)
class Report:
    """The report of an experiment."""

    file: ExperimentFile
    plan: FrozenPlan | None
    arms: dict[str, Arm]
    differences: tuple[Compared, ...]
    cells: tuple[BegunCell, ...]
    values: Values
    hypotheses: tuple[Tested, ...]
    failing: tuple[Failing, ...]
    rankings: Rankings
    """The players by wins and by score, if the design is `pairs`."""
    findings: Findings
    left_out: tuple[str, ...]
    """The runs that are not in the report because they are damaged."""

    @property
    def baseline(self) -> str:
        """The arm that the others are compared with."""
        return self.file.baseline

    @property
    def asked(self) -> ExperimentFile:
        """The file with what was asked: that of the frozen plan, or today's if none was kept."""
        return self.plan.file if self.plan else self.file

    @property
    def extended(self) -> bool:
        """Whether seeds were added after the experiment had begun."""
        return self.plan is not None and self.plan.extended

    def may_be_failures(self, of: Judged) -> bool:
        """Return whether a difference was found that is not found without the pairs in which calls failed.

        If too few pairs are left to find any, it may be that of the failures only where arms differ in them.
        """
        left = of.without_failures
        if not of.differs or left is None or left.differs:
            return False
        arms = [one for one in self.failing if one.arm in of.sample.arms]
        return left.difference.mean.n >= left.fewest or not fail_equally(arms)

    def to_json(self) -> dict[str, Any]:
        """Return the report as `hobbes report --json` prints it."""
        return {
            "experiment": self.file.name,
            "plan": self.plan and self.plan.to_json(),
            "from": self.file.origin and self.file.origin.to_json(),
            "arms": to_json(self.arms),
            "differences": [
                {"arm": one.arm, "baseline": self.baseline, **one.to_json()} for one in self.differences
            ],
            "detectable": self.detectable(),
            "failures": [one.to_json() for one in self.failing],
            "cells": [
                {name: getattr(cell, name) for name in ("arm", "seed", "run", "digest", "tainted")}
                for cell in self.cells
            ],
            "hypotheses": [one.to_json() for one in self.hypotheses],
            "rankings": to_json(self.rankings),
            **to_json(self.findings),
        }

    def detectable(self) -> dict[str, dict[str, float | None]]:
        """Return the smallest difference that is found in 80% of experiments, by arm and measure."""
        found: dict[str, dict[str, float | None]] = {}
        for one in self.differences:
            found.setdefault(one.arm, {})[one.measure] = one.judged.detectable
        return found


def report(store: Store, experiment: str) -> Report:
    """Return the report of the cells of an experiment that have been played.

    Raise MissingError if there is no such experiment, DamagedError if its file or its plan is damaged,
    HobbesError if the libraries of statistics are missing. Runs that are damaged are left out.
    """
    check_installed()
    file = stored_file(store, experiment)
    try:
        plan = frozen_plan(store, file)
    except ValueError as error:
        raise DamagedError(f"experiment {experiment!r}: its plan is damaged: {error}") from error
    world = world_named(file.world)
    left_out: list[str] = []
    played = [cell for cell in cells_of(store, experiment).values() if cell.finished]
    known = {(one.cell.arm, one.cell.seed): one for one in figures_of(store, played, left_out, with_turns)}
    values = _values(world, known)
    cells = tuple(known[key].cell for key in file.cells if key in known)
    games = {name: list(_independent(file, name, known)) for name in file.all_arms}
    return Report(
        file,
        plan,
        _arms(cells, values, file),
        tuple(_differences(values, file, plan, rules_of(file, known))),
        cells,
        values,
        tuple(_hypotheses(values, file, plan, {(one.arm, one.seed) for one in played}, known)),
        tuple(failing(file, known)),
        _rankings(file, games),
        findings(world, games),
        tuple(left_out),
    )


def rules_of(file: ExperimentFile, known: Mapping[tuple[str, int], ReportedRun]) -> Rules:
    """Return by which rules the comparisons of a file are judged, from the cells that have been played."""
    with_failures = frozenset((parts_of(name)[0], seed) for (name, seed), one in known.items() if one.failed)
    return Rules(file.smallest, with_failures)


def _rankings(file: ExperimentFile, games: Mapping[str, Sequence[ReportedRun]]) -> Rankings:
    """Return the rankings of the players, empty unless everybody plays against everybody."""
    if file.factors is None or file.factors.design != "pairs":
        return {}
    return rankings(
        (one.cell.seed, [Seat(*seat) for seat in one.seats]) for arm in file.arms for one in games[arm]
    )


def measures_of(file: ExperimentFile) -> tuple[str, ...]:
    """Return the measures that an experiment compares."""
    asked = file.compare.measures
    return tuple(dict.fromkeys(asked)) if asked else world_named(file.world).measures.headline


def strictest_level(file: ExperimentFile) -> float:
    """Return the level below which a p must be before all corrections, in the strictest step of Holm's."""
    return level(len(file.hypotheses) or (len(file.arms) - 1) * len(measures_of(file)))


def _independent(
    file: ExperimentFile, arm: str, games: Mapping[tuple[str, int], ReportedRun]
) -> Iterator[ReportedRun]:
    """Yield games of an arm that do not depend on each other, for curves.

    They are the first answers, one for each seed, by the wordings in turn.
    """
    for seed, name in zip(file.seeds, cycle(file.wordings(arm))):
        if one := games.get((name, seed)):
            yield one


def _values(world: AnyWorld, games: Mapping[tuple[str, int], ReportedRun]) -> Values:
    """Return the measures of the cells.

    What has not happened by the end of a game, but could have, counts as if it happened then. A mean of such
    values is a restricted mean.
    """
    found = dict[tuple[str, int], dict[tuple[str, str], float | None]]()
    for cell, one in games.items():
        measures = {
            (scope, name): value
            for name, of_scopes in one.row["measures"].items()
            for scope, value in zip(SCOPES, of_scopes, strict=True)
        }
        for name, possible in world.measures.durations.items():
            if measures.get(("run", possible)) is not None and measures.get(("run", name), 0) is None:
                measures["run", name] = one.row["turns"]
        found[cell] = measures
    return found


def _arms(cells: Sequence[BegunCell], values: Values, file: ExperimentFile) -> dict[str, Arm]:
    measures = measures_of(file)
    samples = {
        (name, measure): [*weighted_sum(values, file, measure, {name: 1.0}).pairs.values()]
        for name in file.all_arms
        for measure in measures
    }
    means = dict(zip(samples, means_of([*samples.values()]), strict=True))
    runs = Counter(parts_of(cell.arm)[0] for cell in cells)
    tainted = Counter(parts_of(cell.arm)[0] for cell in cells if cell.tainted)
    return {
        name: Arm(runs[name], tainted[name], {measure: means[name, measure] for measure in measures})
        for name in file.all_arms
    }


def _differences(
    values: Values, file: ExperimentFile, plan: FrozenPlan | None, rules: Rules
) -> Iterator[Compared]:
    """Yield the tested differences from the baseline. Holm's correction is over all arms and measures.

    The null arm is corrected by itself: it is no question of the experiment, but a check of the test.
    """
    arms = [arm for arm in file.arms if arm != file.baseline]
    for names in (arms, [NULL] if file.compare.null else []):
        places = [(arm, measure) for arm in names for measure in measures_of(file)]
        samples = [weighted_sum(values, file, m, {arm: 1.0, file.baseline: -1.0}) for arm, m in places]
        for (arm, measure), one in zip(places, judge(samples, rules), strict=True):
            yield Compared(arm, measure, one, exploratory=not _is_planned(file, plan, arm, measure))


def _is_planned(file: ExperimentFile, plan: FrozenPlan | None, arm: str, measure: str) -> bool:
    """Return whether the frozen plan compares an arm by a measure, with these seeds and in this way."""
    if plan is None:
        return False
    was = plan.file
    return (
        arm in was.all_arms
        and measure in measures_of(was)
        and (was.seeds, was.baseline) == (file.seeds, file.baseline)
        and was.smallest.get(measure) == file.smallest.get(measure)
    )


def _hypotheses(
    values: Values,
    file: ExperimentFile,
    plan: FrozenPlan | None,
    begun: set[tuple[str, int]],
    known: Mapping[tuple[str, int], ReportedRun],
) -> Iterator[Tested]:
    """Yield the hypotheses of the frozen plan, with its seeds, then those that are not in it.

    Holm's correction is over each of the two.
    """

    def judged(by: ExperimentFile, asked: Sequence[Hypothesis]) -> Iterator[tuple[Hypothesis, Judged]]:
        samples = [of_hypothesis(values, by, one) for one in asked]
        return zip(asked, judge(samples, rules_of(by, known)), strict=True)

    planned = plan.file if plan else None
    if planned:
        needs_null = any(one.against == NULL for one in planned.hypotheses)
        needed = {cell for cell in planned.cells if needs_null or parts_of(cell[0])[0] != NULL}
        for one, comparison in judged(planned, planned.hypotheses):
            yield Tested(one, comparison, exploratory=False, complete=needed <= begun)
    unplanned = [one for one in file.hypotheses if planned is None or one not in planned.hypotheses]
    for one, comparison in judged(file, unplanned):
        yield Tested(one, comparison, exploratory=True, complete=False)
