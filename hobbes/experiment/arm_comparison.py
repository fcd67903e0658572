"""Comparisons of an experiment: between arms, between the halves of runs, and those of hypotheses.

What is compared is a weighted sum of the arms' values with one seed, which is one value. So any two arms, and
a trend over a factor, are tested like the difference between an arm and the baseline.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from statistics import fmean
from typing import Any, TypeAlias

from hobbes.experiment.experiment_file import WORDING, ExperimentFile, Hypothesis
from hobbes.experiment.power import detectable_effect
from hobbes.experiment.statistics import (
    ALPHA,
    Difference,
    differences_of,
    fewest_pairs,
    holm,
    rounded,
    to_json,
)
from hobbes.experiment.wordings import Wordings, detectable_over_wordings, of_seeds, over_wordings

Values: TypeAlias = Mapping[tuple[str, int], Mapping[tuple[str, str], float | None]]
"""The measures of each cell, by arm and seed: scope and name to value."""

BySeed: TypeAlias = Mapping[int, float]
"""A figure of each seed that has one."""


@dataclass(frozen=True, slots=True)
class Rules:
    """By which rules comparisons are judged."""

    margins: Mapping[str, float]
    """The smallest difference that matters, by measure."""
    with_failures: frozenset[tuple[str, int]]
    """The cells with failed calls."""


def level(tests: int) -> float:
    """Return the level below which a p must be before it is corrected for so many tests."""
    return ALPHA / max(tests, 1)


@dataclass(frozen=True, slots=True)
class Sample:
    """What is compared: a figure of each seed, and the arms from which it comes."""

    measure: str
    pairs: BySeed
    arms: tuple[str, ...]
    wordings: tuple[Wordings, ...] = ()
    """One for each set of wordings that arms share; none if each arm has one wording."""

    def of_seeds(self, seeds: Container[int]) -> "Sample":
        """Return the part of these seeds."""
        wordings = tuple(one.of_seeds(seeds) for one in self.wordings)
        return replace(self, pairs=of_seeds(self.pairs, seeds), wordings=wordings)


@dataclass(frozen=True, slots=True)
class Judged:
    """A comparison with its tests, corrected for the comparisons that were made with it."""

    difference: Difference
    p_holm: float | None
    p_margin_holm: float | None
    level: float
    """Below which a p must be before it is corrected."""
    sample: Sample
    failed: tuple[int, ...] = ()
    """The seeds in which calls failed."""
    without_failures: "Judged | None" = field(default=None, repr=False)
    """The same without these seeds; None if there are none."""

    @property
    def fewest(self) -> int:
        """The number of pairs below which nothing is concluded."""
        return fewest_pairs(self.level)

    @property
    def differs(self) -> bool:
        """Whether a difference was found."""
        return self.p_holm is not None and self.p_holm < ALPHA

    @property
    def all_equal(self) -> bool:
        """Whether no pair differs."""
        of = self.difference
        return of.mean.mean == 0 and of.spread == 0 and of.mean.low is None

    @property
    def no_larger(self) -> bool:
        """Whether no difference is as large as the margin, by enough pairs."""
        is_within = self.p_margin_holm is not None and self.p_margin_holm < ALPHA
        return is_within and self.difference.mean.n >= self.fewest

    @property
    def detectable(self) -> float | None:
        """The smallest difference that so many pairs of this spread find in 80% of experiments."""
        of = self.difference
        effect = detectable_effect(of.mean.n, self.level) if of.spread else None
        if effect is None:
            return None
        over_games, wordings = effect * (of.spread or 0.0), self.sample.wordings
        if not wordings:
            return over_games
        return max(over_games, detectable_over_wordings(self.sample.pairs, wordings, self.level))

    def nearest(self) -> int | None:
        """Return the seed whose pair is nearest the mean difference, None without pairs."""
        pairs, mean = self.sample.pairs, self.difference.mean.mean or 0.0
        return min(pairs, key=lambda seed: abs(pairs[seed] - mean), default=None)

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain JSON."""
        of = self.difference
        without = self.without_failures
        return {
            **to_json(of.mean),
            "p": of.p,
            "p_holm": self.p_holm,
            "effect": of.effect,
            "spread": of.spread,
            "detectable": self.detectable,
            "margin": of.margin,
            "p_margin": of.p_margin,
            "p_margin_holm": self.p_margin_holm,
            "wordings": [one.to_json() for one in self.sample.wordings],
            "without_failures": without
            and {**to_json(without.difference.mean), "p": without.difference.p, "p_holm": without.p_holm},
        }


def judge(samples: Sequence[Sample], rules: Rules) -> list[Judged]:
    """Return comparisons with their tests, corrected for their number by Holm's method."""
    found = _correct(samples, rules)
    failed = [
        tuple(s for s in one.pairs if any((arm, s) in rules.with_failures for arm in one.arms))
        for one in samples
    ]
    if not any(failed):
        return found
    left = [one.of_seeds({*one.pairs} - {*seeds}) for one, seeds in zip(samples, failed, strict=True)]
    return [
        replace(one, failed=seeds, without_failures=without) if seeds else one
        for one, seeds, without in zip(found, failed, _correct(left, rules), strict=True)
    ]


def _correct(samples: Sequence[Sample], rules: Rules) -> list[Judged]:
    """Return comparisons with their tests, as they are."""
    margins = [rules.margins.get(one.measure) for one in samples]
    over_games = differences_of([[*one.pairs.values()] for one in samples], margins)
    differences = [
        over_wordings(of, one.pairs, one.wordings) for one, of in zip(samples, over_games, strict=True)
    ]
    ps, within = holm([one.p for one in differences]), holm([one.p_margin for one in differences])
    strictest = level(sum(one.p is not None for one in differences))
    return [
        Judged(difference, p, p_margin, strictest, sample)
        for difference, p, p_margin, sample in zip(differences, ps, within, samples, strict=True)
    ]


RUN: Mapping[str, float] = {"run": 1.0}
HALVES: Mapping[str, float] = {"second-half": 1.0, "first-half": -1.0}
"""What of a run is compared, as weights of scopes: all of it, or its second half minus its first."""


def weighted_sum(
    values: Values,
    file: ExperimentFile,
    measure: str,
    of_arms: Mapping[str, float],
    of_scopes: Mapping[str, float] = RUN,
) -> Sample:
    """Return the weighted sum of arms with each seed with which all of them have a value.

    The value of an arm is the mean of its wordings, if all have one.
    """
    runs, means = dict[tuple[str, int], float](), dict[tuple[str, int], float]()
    for arm in of_arms:
        names = file.wordings(arm)
        for seed in file.seeds:
            known = {name: _value(values.get((name, seed), {}), measure, of_scopes) for name in names}
            there = {(name, seed): value for name, value in known.items() if value is not None}
            if len(there) == len(names):
                runs |= there
                means[arm, seed] = fsum(there.values()) / len(there)
    sums = {
        seed: sum(means[arm, seed] * weight for arm, weight in of_arms.items())
        for seed in file.seeds
        if all((arm, seed) in means for arm in of_arms)
    }

    def alone(arms: Sequence[str], wording: str, seed: int) -> float:
        """Return the sum with one wording of these arms in place of the mean of their wordings."""
        own = {arm: runs[f"{arm}{WORDING}{wording}", seed] for arm in arms}
        return rounded(sums[seed] + sum(of_arms[arm] * (own[arm] - means[arm, seed]) for arm in arms))

    wordings = tuple(
        Wordings(arms, {name: {seed: alone(arms, name, seed) for seed in sums} for name in names})
        for names, arms in _sharing(file, of_arms)
    )
    return Sample(measure, {seed: rounded(value) for seed, value in sums.items()}, tuple(of_arms), wordings)


def _value(
    measures: Mapping[tuple[str, str], float | None], measure: str, of_scopes: Mapping[str, float]
) -> float | None:
    """Return the weighted sum of a measure of a run over scopes, None if it is undefined in one of them."""
    known = [(measures.get((scope, measure)), weight) for scope, weight in of_scopes.items()]
    terms = [value * weight for value, weight in known if value is not None]
    return sum(terms) if len(terms) == len(known) else None


def _sharing(file: ExperimentFile, arms: Iterable[str]) -> Iterator[tuple[Collection[str], tuple[str, ...]]]:
    """Yield the names of wordings with the arms that have them, in whatever order."""
    sharing: dict[frozenset[str], dict[str, Collection[str]]] = {}
    for arm in arms:
        if names := file.paraphrases_of(arm):
            sharing.setdefault(frozenset(names), {})[arm] = names
    for of_arms in sharing.values():
        yield next(iter(of_arms.values())), tuple(of_arms)


def of_hypothesis(values: Values, file: ExperimentFile, one: Hypothesis) -> Sample:
    """Return what a hypothesis compares."""
    of_scopes = HALVES if one.test == "halves" else RUN
    return weighted_sum(values, file, one.measure, weights(file, one), of_scopes)


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


@dataclass(frozen=True, slots=True)
class Compared:
    """An arm minus the baseline, by one measure."""

    arm: str
    measure: str
    judged: Judged
    exploratory: bool
    """Whether the plan of the experiment does not name it."""

    @property
    def difference(self) -> Difference:
        """The mean of the pairs and its test."""
        return self.judged.difference

    @property
    def pairs(self) -> BySeed:
        """The difference of each pair, by seed."""
        return self.judged.sample.pairs

    def verdict(self) -> str:
        """Return `higher`, `lower`, `no larger than` (than the margin) or `cannot tell`."""
        if self.judged.differs:
            return "higher" if (self.difference.mean.mean or 0.0) > 0 else "lower"
        return "no larger than" if self.judged.no_larger else "cannot tell"

    def to_json(self) -> dict[str, Any]:
        """Return the measure and the figures of the difference as plain JSON."""
        return {
            "measure": self.measure,
            **self.judged.to_json(),
            "verdict": self.verdict(),
            "exploratory": self.exploratory,
        }


@dataclass(frozen=True, slots=True)
class Tested:
    """A hypothesis with the comparison that it is about."""

    hypothesis: Hypothesis
    judged: Judged
    exploratory: bool
    """Whether it is not in the plan of the experiment."""
    complete: bool
    """Whether all runs that it needs have been played."""

    @property
    def difference(self) -> Difference:
        """The mean of the pairs and its test."""
        return self.judged.difference

    def verdict(self) -> str:
        """Return `supported`, `not supported`, `no larger than`, `cannot tell`, or `exploratory`.

        A hypothesis is not supported if the opposite was found.
        """
        if self.exploratory:
            return "exploratory"
        if not self.complete:
            return "cannot tell"
        if self.judged.differs:
            is_higher = (self.difference.mean.mean or 0.0) > 0
            return "supported" if is_higher == (self.hypothesis.direction == "higher") else "not supported"
        return "no larger than" if self.judged.no_larger else "cannot tell"

    def to_json(self) -> dict[str, Any]:
        """Return the hypothesis, its verdict and its figures as plain JSON."""
        return {**self.hypothesis.model_dump(), "verdict": self.verdict(), **self.judged.to_json()}
