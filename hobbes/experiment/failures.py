"""How the calls of each arm ended, and whether the arms differ in their failures."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from hobbes.engine.answer import DECISIONS, Outcome
from hobbes.experiment.experiment_file import ExperimentFile, parts_of
from hobbes.experiment.statistics import Difference, differences_of, holm, rounded, to_json
from hobbes.store.reported import ReportedRun


@dataclass(frozen=True, slots=True)
class Failing:
    """How the calls of an arm ended that count. A failed call leads to the default action."""

    arm: str
    games: int
    with_failures: int
    """How many games have a failed call."""
    outcomes: Mapping[str, int]
    difference: Difference | None
    """The share of failed calls in a game minus that in the baseline's; None for the baseline."""
    p_holm: float | None
    """Corrected for the number of arms."""

    @property
    def failed(self) -> int:
        """How many calls failed, and led to the default action."""
        return sum(count for outcome, count in self.outcomes.items() if outcome not in DECISIONS)

    @property
    def share(self) -> float | None:
        """The share of failed calls, None without calls."""
        return rounded(self.failed / calls) if (calls := sum(self.outcomes.values())) else None

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain JSON."""
        of = self.difference
        return {
            "arm": self.arm,
            "games": self.games,
            "with_failures": self.with_failures,
            "outcomes": dict(self.outcomes),
            "failed": self.failed,
            "share": self.share,
            "difference": of and {**to_json(of.mean), "p": of.p, "p_holm": self.p_holm},
        }


def fail_equally(arms: Sequence[Failing]) -> bool:
    """Return whether several arms have the same share of failed calls."""
    return len(arms) > 1 and len({one.share for one in arms}) == 1


def failing(file: ExperimentFile, games: Mapping[tuple[str, int], ReportedRun]) -> Iterator[Failing]:
    """Yield how the calls of each arm ended."""
    shares: dict[str, dict[int, list[float]]] = {arm: defaultdict(list) for arm in file.all_arms}
    counts = {arm: Counter[str]() for arm in file.all_arms}
    failed = Counter[str]()
    for (name, seed), one in games.items():
        arm = parts_of(name)[0]
        if arm in shares and seed in file.seeds:
            calls = sum(one.row["outcomes"].values())
            shares[arm][seed].append(one.failed / calls if calls else 0.0)
            counts[arm].update(one.row["outcomes"])
            failed[arm] += bool(one.failed)
    means = {arm: {seed: fmean(of) for seed, of in of_seeds.items()} for arm, of_seeds in shares.items()}
    baseline = means[file.baseline]
    others = [arm for arm in file.all_arms if arm != file.baseline]
    found = differences_of(
        [
            [rounded(of - baseline[seed]) for seed, of in means[arm].items() if seed in baseline]
            for arm in others
        ]
    )
    tested = dict(zip(others, zip(found, holm([one.p for one in found]), strict=True), strict=True))
    for arm in file.all_arms:
        outcomes = {one.value: counts[arm][one] for one in Outcome if counts[arm][one]}
        games_of = sum(map(len, shares[arm].values()))
        yield Failing(arm, games_of, failed[arm], outcomes, *tested.get(arm, (None, None)))
