"""The curves of a report: what an experiment found beside the differences between its arms.

Each function draws one kind of curve from the figures of the runs. A game is one value here, too: a curve is
first computed for each game, and its band says how far the mean over games may be off.
"""

import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from hobbes.engine.world import AnyWorld
from hobbes.experiment.contrasts import levels_of, values_of
from hobbes.experiment.experiment_file import ExperimentFile
from hobbes.experiment.statistics import ALPHA, MIN_VALUES, Mean, means_of, rounded
from hobbes.nodes.rng_name import without_rng
from hobbes.store.reported import Figures, measures_over_time, stretch

if TYPE_CHECKING:
    import numpy as np

MAX_AGES = 200
"""How many points a survival curve has at most."""

BAND_RESAMPLES = 999
"""How often the games of an arm are resampled for the band of its survival curve."""


@dataclass(frozen=True, slots=True)
class Dose:
    """A value of a factor, with the arm that has it and the arm's mean of a measure."""

    value: float
    arm: str
    mean: Mean


@dataclass(frozen=True, slots=True)
class DoseCurve:
    """A measure by the values of a factor; `fixed` has the values of the other factors."""

    factor: str
    measure: str
    fixed: Mapping[str, Any]
    points: tuple[Dose, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """The mean of a measure in the turns from `first` to `last`."""

    first: int
    last: int
    mean: Mean


@dataclass(frozen=True, slots=True)
class TimeCurve:
    """A measure of an arm over time."""

    arm: str
    measure: str
    points: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Surviving:
    """The share of the spells that last longer than so many turns, with the ends of its 95% band."""

    turns: int
    share: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class SurvivalCurve:
    """The Kaplan-Meier curve of an arm's spells."""

    arm: str
    spells: int
    ended: int
    games: int
    median: int | None
    """The smallest number of turns that at most half of the spells outlast."""
    points: tuple[Surviving, ...]


@dataclass(frozen=True, slots=True)
class Duration:
    """How long an arm's games last until something happens, which may not happen at all."""

    arm: str
    measure: str
    games: int
    happened: int
    """In how many games it happened. In the others, it had not happened when they ended."""
    horizon: int
    """The turns of the longest game."""
    mean: float
    """The restricted mean: how many of the turns up to the horizon pass before it happens."""
    points: tuple[Surviving, ...]
    """The Kaplan-Meier curve: the share of games in which it has not happened after so many turns."""
    p: float | None
    """The p of a logrank test against the baseline; None for the baseline."""


@dataclass(frozen=True, slots=True)
class Truth:
    """The truth about those who were given a rating. `count` is how often it was given in all games."""

    rating: int
    count: int
    mean: Mean


@dataclass(frozen=True, slots=True)
class RatingCurve:
    """What the ratings of a kind say in an arm: the truth by rating."""

    arm: str
    kind: str
    points: tuple[Truth, ...]


@dataclass(frozen=True, slots=True)
class Payoff:
    """The mean score of the agents of one player in an arm. `agents` are those of a game."""

    arm: str
    player: str
    agents: float
    mean: Mean


@dataclass(frozen=True, slots=True)
class Findings:
    """All curves of a report."""

    doses: tuple[DoseCurve, ...] = ()
    over_time: tuple[TimeCurve, ...] = ()
    survival: tuple[SurvivalCurve, ...] = ()
    durations: tuple[Duration, ...] = ()
    ratings: tuple[RatingCurve, ...] = ()
    payoffs: tuple[Payoff, ...] = ()


ByArm: TypeAlias = Mapping[str, Sequence[Figures]]
"""The figures of the runs that count, by arm."""

Means: TypeAlias = Mapping[str, Mapping[str, Mean]]
"""Arm to measure to its mean."""


def findings(file: ExperimentFile, world: AnyWorld, arms: ByArm, means: Means) -> Findings:
    """Return the curves of an experiment's runs."""
    return Findings(
        tuple(doses(file, world, means)),
        tuple(over_time(world, arms, keep_last=file.compare.after_end == "keep-last")),
        tuple(survival(arms)),
        tuple(durations(file, world, arms, next(iter(means.values()), {}))),
        tuple(ratings(arms)),
        tuple(payoffs(arms)),
    )


def doses(file: ExperimentFile, world: AnyWorld, means: Means) -> Iterator[DoseCurve]:
    """Yield the curves of each factor whose values are numbers, one for each combination of the others."""
    if file.factors is None:
        return
    levels = levels_of(file)
    for factor in dict.fromkeys(factor for values in levels.values() for factor in values):
        curves: dict[str, dict[str, float]] = {}
        fixed: dict[str, Mapping[str, Any]] = {}
        for arm, value in values_of(file, world, factor).items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                others = {name: one for name, one in levels[arm].items() if name != factor}
                fixed[repr(others)] = others
                curves.setdefault(repr(others), {})[arm] = value
        for measure in next(iter(means.values()), {}):
            for key, curve in curves.items():
                if len({*curve.values()}) > 1:
                    points = (Dose(value, arm, means[arm][measure]) for arm, value in curve.items())
                    in_order = tuple(sorted(points, key=lambda point: point.value))
                    yield DoseCurve(factor, measure, fixed[key], in_order)


def over_time(world: AnyWorld, arms: ByArm, *, keep_last: bool = False) -> Iterator[TimeCurve]:
    """Yield the measures that the world draws over time. The band is a t interval.

    A game that has ended is left out of the rest of the curve, or stays in it with its last value.
    """
    import numpy as np  # noqa: PLC0415  slow to import

    for arm, games in arms.items():
        if not (turns := max((one.row["turns"] for one in games), default=0)):
            continue
        ends = _stretches(turns, stretch(games[0].row["rounds"]))
        for measure in measures_over_time(world):
            values = np.full((len(games), len(ends)), np.nan)
            for place, one in enumerate(games):
                of_game = one.row["over_time"][measure]
                values[place, : len(of_game)] = of_game
                if keep_last and of_game:
                    values[place, len(of_game) :] = np.nan if of_game[-1] is None else of_game[-1]
            means = _with_t_intervals(values)
            if any(mean.n for mean in means):
                points = (Stretch(*end, mean) for end, mean in zip(ends, means, strict=True))
                yield TimeCurve(arm, measure, tuple(points))


def _stretches(turns: int, length: int) -> list[tuple[int, int]]:
    """Return the first and the last turn of each stretch. All are equally long, but for the last one."""
    return [(first, min(first + length, turns) - 1) for first in range(0, turns, length)]


def _with_t_intervals(values: "np.ndarray[Any, Any]") -> list[Mean]:
    """Return the mean of each column with its 95% t interval. A row is a game; NaN stands for no value.

    The values are shares and the like: an interval ends at 0 and at 1, or at the value of a game that lies
    beyond.
    """
    import numpy as np  # noqa: PLC0415  slow to import
    from scipy import special  # noqa: PLC0415

    n = (~np.isnan(values)).sum(axis=0)
    reaches = np.where(n < MIN_VALUES, np.nan, -special.stdtrit(np.maximum(n, 2) - 1, ALPHA / 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.nansum(values, axis=0) / n
        off = reaches * np.sqrt(np.nansum((values - means) ** 2, axis=0) / (n - 1) / n)
    lows = np.maximum(means - off, np.fmin.reduce(values, axis=0, initial=0.0))
    highs = np.minimum(means + off, np.fmax.reduce(values, axis=0, initial=1.0))
    rows = zip(n.tolist(), means.tolist(), lows.tolist(), highs.tolist(), strict=True)
    return [Mean(count, *(None if math.isnan(one) else rounded(one) for one in row)) for count, *row in rows]


def survival(arms: ByArm) -> Iterator[SurvivalCurve]:
    """Yield the Kaplan-Meier curves of the spells.

    Games are resampled for the band, and not their spells, because those of one game are not independent.
    """
    import numpy as np  # noqa: PLC0415  slow to import

    for arm, games in arms.items():
        spells = [(place, *spell) for place, one in enumerate(games) for spell in one.row["spells"]]
        if not spells:
            continue
        longest = max(turns for _, turns, *_ in spells)
        ended, left = np.zeros((2, len(games), longest + 1))
        for game, turns, has_ended, count in spells:
            left[game, turns] += count
            ended[game, turns] += count * has_ended
        at_risk = left[:, ::-1].cumsum(axis=1)[:, ::-1]
        curve = _surviving(ended.sum(axis=0), at_risk.sum(axis=0))
        low, high = _band(ended, at_risk)
        ages = (
            [0, *(last + 1 for _, last in _stretches(longest, stretch(longest, MAX_AGES)))]
            if longest
            else [0]
        )
        yield SurvivalCurve(
            arm,
            int(left.sum()),
            int(ended.sum()),
            len(games),
            next((age for age, share in enumerate(curve) if share <= 1 / 2), None),
            tuple(
                Surviving(
                    age,
                    rounded(float(curve[age])),
                    None if low is None else rounded(float(low[age])),
                    None if high is None else rounded(float(high[age])),
                )
                for age in ages
            ),
        )


def _surviving(
    ended: "np.ndarray[Any, Any]", at_risk: "np.ndarray[Any, Any]", axis: int = -1
) -> "np.ndarray[Any, Any]":
    """Return the share of spells that outlast each age, from the spells that ended and were at risk there.

    The ages are along this axis.
    """
    import numpy as np  # noqa: PLC0415  slow to import

    shares: np.ndarray[Any, Any] = (1 - ended / np.maximum(at_risk, 1)).cumprod(axis=axis)
    return shares


def _band(ended: "np.ndarray[Any, Any]", at_risk: "np.ndarray[Any, Any]") -> tuple[Any, Any]:
    """Return the ends of the 95% band of a survival curve, None for too few games. Each row is a game."""
    import numpy as np  # noqa: PLC0415  slow to import
    from scipy import special  # noqa: PLC0415

    games = len(ended)
    if games < MIN_VALUES:
        return None, None
    # Not by BLAS, whose threads wait for each other on a busy machine.
    ended_again, at_risk_again = (
        np.einsum("gr,ga->ar", _resample(games), of_games) for of_games in (ended, at_risk)
    )
    curves = _surviving(ended_again, at_risk_again, axis=0)
    # A bootstrap interval of few games is too narrow by as much as the t distribution is wider than the
    # normal one (Hesterberg, What teachers should know about the bootstrap, 2015).
    reach = math.sqrt(games / (games - 1)) * special.stdtrit(games - 1, ALPHA / 2)
    outside = float(special.ndtr(reach))
    low, high = np.quantile(np.sort(curves), [outside, 1 - outside], axis=1)
    return low, high


@cache
def _resample(games: int) -> "np.ndarray[Any, Any]":
    """Return how often each game is in each resample; a row is a game."""
    import numpy as np  # noqa: PLC0415  slow to import

    drawn_games = np.random.default_rng(0).multinomial(games, [1 / games] * games, BAND_RESAMPLES)
    return np.ascontiguousarray(drawn_games.T, float)


def durations(
    file: ExperimentFile, world: AnyWorld, arms: ByArm, measures: Collection[str]
) -> Iterator[Duration]:
    """Yield how long it takes until something happens, by the measures of the experiment that say so."""
    for measure in (one for one in world.measures.durations if one in measures):
        found = {arm: timed for arm, games in arms.items() if (timed := _times_of(games, measure, world))}
        yield from (_duration(arm, file.baseline, measure, found) for arm in found)


Timed: TypeAlias = Sequence[tuple[float, bool]]
"""For each game, the turns until something happened and True, or else the turns of the game and False."""


def _times_of(games: Sequence[Figures], measure: str, world: AnyWorld) -> Timed:
    """Return when something happened in each game in which it could."""
    found = []
    for one in games:
        value = (one.row["measures"].get(measure) or [None])[0]
        if value is not None or one.could_happen(world):
            found.append((one.row["turns"] if value is None else value, value is not None))
    return found


def _duration(arm: str, baseline: str, measure: str, found: Mapping[str, Timed]) -> Duration:
    import numpy as np  # noqa: PLC0415  slow to import
    from scipy import stats  # noqa: PLC0415  slow to import

    def censored(timed: Timed) -> Any:  # noqa: ANN401  scipy has no types
        uncensored, right = ([turns for turns, seen in timed if seen is which] for which in (True, False))
        return stats.CensoredData(uncensored=uncensored, right=right)

    curve = stats.ecdf(censored(found[arm])).sf
    horizon = max(turns for timed in found.values() for turns, _ in timed)
    ends = [0.0, *curve.quantiles.tolist(), float(horizon)]
    shares = [1.0, *curve.probabilities.tolist()]
    area = math.fsum(share * (end - at) for share, at, end in zip(shares, ends, ends[1:], strict=False))
    p = None
    if (
        arm != baseline
        and baseline in found
        and any(seen for one in (arm, baseline) for _, seen in found[one])
    ):
        with np.errstate(invalid="ignore"):  # where it happens in all games at once, there is no p
            p = float(stats.logrank(censored(found[arm]), censored(found[baseline])).pvalue)
    band = _band_of_curve(curve) if len(found[arm]) >= MIN_VALUES else [(None, None)] * len(shares)
    return Duration(
        arm,
        measure,
        len(found[arm]),
        sum(seen for _, seen in found[arm]),
        int(horizon),
        rounded(area),
        tuple(Surviving(int(at), rounded(s), *of) for at, s, of in zip(ends, shares, band, strict=False)),
        None if p is None or math.isnan(p) else p,
    )


def _band_of_curve(curve: Any) -> list[tuple[float | None, float | None]]:  # noqa: ANN401  scipy has no types
    """Return the ends of the 95% band of a Kaplan-Meier curve at its points, from its beginning."""
    with warnings.catch_warnings():  # where nothing happens, the band is undefined
        warnings.simplefilter("ignore", RuntimeWarning)
        interval = curve.confidence_interval(method="log-log")
    ends = zip(interval.low.probabilities.tolist(), interval.high.probabilities.tolist(), strict=True)
    return [
        (1.0, 1.0),
        *((None, None) if math.isnan(low) or math.isnan(high) else (low, high) for low, high in ends),
    ]


def ratings(arms: ByArm) -> Iterator[RatingCurve]:
    """Yield the truth by rating for each kind of ratings: the mean over games of the mean of a game."""
    truths: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    counts = Counter[tuple[str, str, int]]()
    for arm, games in arms.items():
        for kind, rating, count, truth in (one for game in games for one in game.row["ratings"]):
            truths[arm, kind, rating].append(truth)
            counts[arm, kind, rating] += count
    curves: dict[tuple[str, str], list[Truth]] = defaultdict(list)
    for (arm, kind, rating), mean in sorted(_means(truths).items(), key=lambda one: one[0][1:]):
        curves[arm, kind].append(Truth(rating, counts[arm, kind, rating], mean))
    for arm in arms:
        for (of_arm, kind), points in curves.items():
            if of_arm == arm:
                yield RatingCurve(arm, kind, tuple(points))


def payoffs(arms: ByArm) -> Iterator[Payoff]:
    """Yield the mean score of each player in each arm: the mean over games of the mean of its agents."""
    scores: dict[tuple[str, str], dict[int, list[int]]] = {}
    names = names_of({spec for games in arms.values() for one in games for spec, *_ in one.seats})
    for arm, games in arms.items():
        for seed, spec, score in ((one.cell.seed, *seat[:2]) for one in games for seat in one.seats):
            scores.setdefault((arm, names[spec]), {}).setdefault(seed, []).append(score)
    of_games = {
        key: [sum(of_game) / len(of_game) for of_game in games.values()] for key, games in scores.items()
    }
    agents = {key: sum(map(len, games.values())) / len(games) for key, games in scores.items()}
    for (arm, player), mean in _means(of_games).items():
        yield Payoff(arm, player, agents[arm, player], mean)


def names_of(specs: set[str]) -> dict[str, str]:
    """Return what each player is called: without its parameters, unless they tell two players apart.

    `rng` is no part of a name: it sets apart nothing but random draws.
    """
    plain = {spec: without_rng(spec) for spec in specs}
    bare = defaultdict(set)
    for spec in plain.values():
        bare[spec.partition("?")[0]].add(spec)
    return {
        spec: name if len(bare[name.partition("?")[0]]) > 1 else name.partition("?")[0]
        for spec, name in plain.items()
    }


def _means(samples: Mapping[Any, Sequence[float]]) -> dict[Any, Mean]:
    """Return the mean of each sample by its key."""
    return dict(zip(samples, means_of([*samples.values()]), strict=True))
