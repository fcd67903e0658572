"""Where the spread of an experiment comes from: seeds, answers, and the agents of a game.

The null arm and further answers (`answers`) repeat a game with the same seed. What differs between
repetitions comes from the answers; what they have in common comes from the seed.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hobbes.lab.experiment.comparing import Values, weighted_sum
from hobbes.lab.experiment.file import NULL, ExperimentFile, parts_of
from hobbes.lab.experiment.statistics import rounded
from hobbes.lab.store.reported import SCOPES, Figures

if TYPE_CHECKING:
    import numpy as np

MIN_SEEDS = 3
"""From fewer seeds, no spread is computed."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The spread of a measure in an arm; None where it cannot be told."""

    arm: str
    measure: str
    deviation: float | None
    """The standard deviation over seeds."""
    of_seeds: float | None
    """The part that a seed has in all its answers, as a standard deviation."""
    of_answers: float | None
    """The part that differs from answer to answer with the same seed."""
    correlation: float | None
    """The correlation of the pairs with the baseline: the larger, the more pairs gain over single games."""
    agents_alike: float | None
    """The intraclass correlation of the scores: how much more alike the agents of one game are."""

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain JSON."""
        return asdict(self)


def spreads(
    file: ExperimentFile, values: Values, games: Mapping[tuple[str, int], Figures], measures: Sequence[str]
) -> Iterator[Spread]:
    """Yield the spread of each measure in each arm. The null arm is a repetition of the baseline."""
    import numpy as np  # noqa: PLC0415

    repeated = _repetitions(file, games)
    alike = {
        arm: _agents_alike([one for (name, _), one in games.items() if name in file.wordings(arm)])
        for arm in file.arms
    }
    for arm in file.arms:
        for measure in measures:
            of_arms = [
                weighted_sum(values, file, measure, {name: 1.0}).pairs for name in (arm, file.baseline)
            ]
            table = np.array([[pairs.get(seed) for seed in file.seeds] for pairs in of_arms], float)
            own = table[0][~np.isnan(table[0])]
            deviation = float(np.std(own, ddof=1)) if len(own) >= MIN_SEEDS else None
            of_seeds, of_answers = _parts(repeated[arm], measure)
            correlation = (
                None if arm == file.baseline else _correlation(table[:, ~np.isnan(table).any(axis=0)])
            )
            yield Spread(
                arm, measure, *map(_plain, (deviation, of_seeds, of_answers, correlation, alike[arm]))
            )


def _plain(value: float | None) -> float | None:
    return None if value is None else rounded(value)


def _repetitions(
    file: ExperimentFile, games: Mapping[tuple[str, int], Figures]
) -> dict[str, list[list[Figures]]]:
    """Return the repetitions of the games of each arm, a list for each seed and wording with at least two."""
    found: dict[str, dict[tuple[str, int], list[Figures]]] = {arm: defaultdict(list) for arm in file.arms}
    for (name, seed), one in sorted(games.items()):
        arm, wording, _ = parts_of(name)
        arm = file.baseline if arm == NULL else arm
        if arm in found and seed in file.seeds:
            found[arm][wording, seed].append(one)
    return {arm: [of for of in of_seeds.values() if len(of) > 1] for arm, of_seeds in found.items()}


def _parts(seeds: Sequence[Sequence[Figures]], measure: str) -> tuple[float | None, float | None]:
    """Return the standard deviations of seeds and of answers (a one-way analysis of variance)."""
    import numpy as np  # noqa: PLC0415

    place = SCOPES.index("run")
    groups = []
    for answers in seeds:
        known = [
            of[place] for one in answers if (of := one.row["measures"].get(measure)) and of[place] is not None
        ]
        if len(known) == len(answers):
            groups.append(np.array(known, float))
    if len(groups) < MIN_SEEDS:
        return None, None
    return _one_way(groups)


def _one_way(groups: "Sequence[np.ndarray[Any, Any]]") -> tuple[float | None, float | None]:
    """Return the standard deviations between groups and within them; that between is at least 0."""
    import numpy as np  # noqa: PLC0415

    sizes = np.array([len(one) for one in groups], float)
    total = sizes.sum()
    mean = np.concatenate(groups).mean()
    within = sum(((one - one.mean()) ** 2).sum() for one in groups) / (total - len(groups))
    between = sum(len(one) * (one.mean() - mean) ** 2 for one in groups) / (len(groups) - 1)
    size = (total - (sizes**2).sum() / total) / (len(groups) - 1)
    return float(np.sqrt(max(0.0, (between - within) / size))), float(np.sqrt(within))


def _correlation(pairs: "np.ndarray[Any, Any]") -> float | None:
    """Return the correlation of pairs, None if one side has no spread."""
    import numpy as np  # noqa: PLC0415

    if pairs.shape[1] < MIN_SEEDS or (np.ptp(pairs, axis=1) == 0).any():
        return None
    return float(np.corrcoef(pairs)[0, 1])


def _agents_alike(games: Sequence[Figures]) -> float | None:
    """Return the intraclass correlation of the agents' scores, None if they have no spread."""
    import numpy as np  # noqa: PLC0415

    groups = [np.array([score for _, score, _ in one.seats], float) for one in games]
    groups = [one for one in groups if len(one) > 1]
    if len(groups) < MIN_SEEDS:
        return None
    between, within = _one_way(groups)
    between, within = between or 0.0, within or 0.0
    return between**2 / (between**2 + within**2) if between or within else None
