"""Invasion: whether a mutant player gains among residents, and where a Moran process then settles.

The payoffs are those of an experiment whose arms have different numbers of mutants. In a step of the Moran
process an agent is drawn with a probability in proportion to its payoff, and a copy of it takes the place of
an agent that is drawn evenly. Without mutation, in the end all agents are of one kind. All figures follow
from the mean payoffs in closed form (Nowak, Evolutionary Dynamics, 2006, chapter 6); nothing is simulated.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hobbes.lab.experiment.file import NULL, ExperimentFile, InvasionAsked
from hobbes.lab.experiment.statistics import ALPHA, MIN_VALUES, most_unlike
from hobbes.lab.store.reported import Figures

if TYPE_CHECKING:
    import numpy as np

ALMOST_0 = 1e-9
"""Log odds that differ by less do not differ."""


@dataclass(frozen=True, slots=True)
class Payoffs:
    """What each kind of player gets with a number of mutants: its mean score, None where there is none."""

    mutants: int
    runs: int
    resident: float | None
    mutant: float | None


@dataclass(frozen=True, slots=True)
class Fixation:
    """How likely it is that all agents descend from a single one, with its 95% interval over the seeds.

    Fewer than three seeds have no interval.
    """

    probability: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Invasion:
    """What came of a mutant among residents; the last three figures are None until all runs are played."""

    resident: str
    mutant: str
    agents: int
    payoffs: tuple[Payoffs, ...]
    of_mutant: Fixation | None
    """The descendants of one mutant take the place of all residents."""
    of_resident: Fixation | None
    """The descendants of one resident take the place of all mutants."""
    mutants_in_the_long_run: float | None
    """The share of time in which all are mutants, where mutations in both directions are equally rare."""

    @property
    def neutral(self) -> float:
        """How likely it is for an agent whose payoff is that of all others."""
        return 1 / self.agents

    def to_json(self) -> dict[str, Any]:
        """Return the invasion as plain JSON."""
        return {**asdict(self), "neutral": self.neutral}


def invasions(file: ExperimentFile, arms: Mapping[str, Sequence[Figures]]) -> tuple[Invasion, ...]:
    """Return what came of each invasion that an experiment asks about, by the runs of its arms."""
    cells = [_cell(one) for arm, of_arm in arms.items() if file.invasions and arm != NULL for one in of_arm]
    return tuple(_invasion(asked, cells, len(file.seeds)) for asked in file.invasions)


def mutants_of(players: Sequence[str], asked: InvasionAsked) -> int | None:
    """Return the number of mutants among agents, None if one of them is neither mutant nor resident."""
    mutants = players.count(asked.mutant)
    return mutants if mutants + players.count(asked.resident) == len(players) else None


Scores = dict[str, list[int]]
"""The scores of the agents of a run, by their player."""


def _cell(game: Figures) -> tuple[int, Scores]:
    """Return seed and scores of a run."""
    scores: Scores = {}
    for player, score, _ in game.seats:
        scores.setdefault(player, []).append(score)
    return game.cell.seed, scores


def _invasion(asked: InvasionAsked, cells: Sequence[tuple[int, Scores]], seeds: int) -> Invasion:
    """Return what came of one invasion."""
    agents = 0
    found: dict[int, dict[int, tuple[float | None, float | None]]] = {}
    for seed, scores in cells:
        players = [player for player, of_player in scores.items() for _ in of_player]
        mutants = mutants_of(players, asked)
        if mutants is not None:
            agents = len(players)
            found.setdefault(mutants, {})[seed] = (
                _mean(scores.get(asked.resident, [])),
                _mean(scores.get(asked.mutant, [])),
            )
    payoffs = tuple(
        Payoffs(mutants, len(runs), *(_mean(kind) for kind in zip(*runs.values(), strict=True)))
        for mutants, runs in sorted(found.items())
    )
    mixed = [found.get(mutants, {}) for mutants in range(1, agents)]
    if not mixed or any(len(runs) < seeds for runs in mixed):
        return Invasion(asked.resident, asked.mutant, agents, payoffs, None, None, None)
    import numpy as np  # noqa: PLC0415

    # [kind][number of mutants - 1][seed]
    table = np.array([[[of[k] for _, of in sorted(runs.items())] for runs in mixed] for k in (0, 1)], float)
    resident, mutant = table
    into = fixation(mutant, resident)
    back = fixation(resident[::-1], mutant[::-1])
    both = into.probability + back.probability
    return Invasion(
        asked.resident, asked.mutant, agents, payoffs, into, back, into.probability / both if both else None
    )


def fixation(newcomer: "np.ndarray[Any, Any]", others: "np.ndarray[Any, Any]") -> Fixation:
    """Return how likely a newcomer is to take over, from payoffs by its number and by seed."""
    known = float(probability_of_fixation(newcomer.mean(axis=1), others.mean(axis=1)))
    if newcomer.shape[1] < MIN_VALUES:
        return Fixation(known, None, None)
    return Fixation(known, *(_interval(newcomer, others) or _bound(newcomer, others)))


def _interval(newcomer: "np.ndarray[Any, Any]", others: "np.ndarray[Any, Any]") -> tuple[float, float] | None:
    """Return the t interval of the log odds over jackknifed seeds, None where the odds have no spread."""
    import numpy as np  # noqa: PLC0415
    from scipy import special  # noqa: PLC0415

    seeds = newcomer.shape[1]

    def log_odds(newcomer: Any, others: Any) -> Any:  # noqa: ANN401  one or many
        with np.errstate(divide="ignore"):
            return special.logit(probability_of_fixation(newcomer, others))

    known = log_odds(newcomer.mean(axis=1), others.mean(axis=1))
    left_out = log_odds(*((of.sum(axis=1, keepdims=True) - of) / (seeds - 1) for of in (newcomer, others)))
    if not np.isfinite([known, *left_out]).all() or np.ptp(left_out) < ALMOST_0:
        return None
    error = math.sqrt(((left_out - left_out.mean()) ** 2).sum())  # a little wide, for few seeds
    off = special.stdtrit(seeds - 1, 1 - ALPHA / 2) * error
    low, high = special.expit([known - off, known + off])
    return float(low), float(high)


def _bound(newcomer: "np.ndarray[Any, Any]", others: "np.ndarray[Any, Any]") -> tuple[float, float]:
    """Return from where to where the probability may lie, by the share of games that were perhaps not seen.

    In these, a newcomer gets at worst the smallest payoff seen and others the largest, or at best the
    reverse.
    """
    share = most_unlike(newcomer.shape[1])
    ends = min(newcomer.min(), others.min()), max(newcomer.max(), others.max())
    means = newcomer.mean(axis=1), others.mean(axis=1)
    low, high = (
        float(
            probability_of_fixation(
                *((1 - share) * mean + share * end for mean, end in zip(means, of, strict=True))
            )
        )
        for of in (ends, ends[::-1])
    )
    return low, high


def probability_of_fixation(
    newcomer: "np.ndarray[Any, Any]", others: "np.ndarray[Any, Any]"
) -> "np.ndarray[Any, Any]":
    """Return how likely the descendants of one newcomer are to take the place of all others.

    The first axis is the number of newcomers, from 1 to N - 1; the values are payoffs f and g, at least 0. It
    is 1 / (1 + sum over k of the product over j <= k of g(j) / f(j)), and 0 if a newcomer earns nothing where
    others earn something. Where both earn nothing, they are alike.
    """
    import numpy as np  # noqa: PLC0415

    with np.errstate(divide="ignore", over="ignore"):
        ratio = np.divide(others, newcomer, out=np.ones_like(others, float), where=(others + newcomer) > 0)
        with np.errstate(invalid="ignore"):
            products = np.nan_to_num(np.cumprod(ratio, axis=0), nan=np.inf, posinf=np.inf)
        return np.asarray(1 / (1 + products.sum(axis=0)))


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are known, None if none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def in_words(found: Invasion) -> Iterator[str]:
    """Yield what can be concluded from an invasion."""
    gains = [one.mutants for one in found.payoffs if (_gain(one) or 0) > 0]
    mixed = [one for one in found.payoffs if _gain(one) is not None]
    name = f"{found.mutant} among {found.resident}"
    if found.of_mutant is None or found.of_resident is None:
        yield f"{name}: not all runs have been played, so nothing can be concluded."
        return
    if not gains:
        yield f"{name}: with no number of mutants do they earn more than the residents."
    elif len(gains) == len(mixed):
        yield f"{name}: with every number of mutants they earn more than the residents."
    else:
        yield f"{name}: the mutants earn more than the residents where they number {_in_words(gains)}."
    yield f"One mutant takes over with a probability of {_told(found, found.of_mutant)}."
    yield f"One resident among mutants takes over with a probability of {_told(found, found.of_resident)}."
    if found.mutants_in_the_long_run is not None:
        yield (
            f"With rare mutations in both directions, all are mutants in {found.mutants_in_the_long_run:.1%} "
            "of the time, and residents in the rest."
        )


def _gain(one: Payoffs) -> float | None:
    """Return how much more a mutant gets than a resident, None if there are not both."""
    return None if one.mutant is None or one.resident is None else one.mutant - one.resident


def _in_words(numbers: Sequence[int]) -> str:
    """Return numbers as words."""
    return ", ".join(map(str, numbers))


def _told(found: Invasion, one: Fixation) -> str:
    """Return a probability in words, beside that of an agent without advantage."""
    if one.low is None or one.high is None:
        return f"{one.probability:.3g} (by drift alone {found.neutral:.3g}); too few seeds for a 95% interval"
    ends = f"95% interval {one.low:.3g} to {one.high:.3g}"
    return f"{one.probability:.3g} ({ends}), {beside_drift(found, one)}"


def beside_drift(found: Invasion, one: Fixation) -> str:
    """Return whether it is more or less likely than for an agent without advantage, in words."""
    neutral = found.neutral
    if one.low is None or one.high is None:
        beside = "cannot tell: too few seeds for a 95% interval; by drift alone"
    elif one.low > neutral:
        beside = "more likely than by drift alone,"
    elif one.high < neutral:
        beside = "less likely than by drift alone,"
    else:
        beside = "no different from drift alone,"
    return f"{beside} {neutral:.3g}"
