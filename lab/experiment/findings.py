"""The curves of a report: what an experiment found beside the differences between its arms.

Each function draws one kind of curve from the figures of the runs. A game is one value here, too: a curve is
first computed for each game, and its band says how far the mean over games may be off.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from hobbes.engine.world import AnyWorld
from hobbes.lab.experiment.file import ExperimentFile
from hobbes.lab.experiment.statistics import FEWEST, Mean, means_of, reach, rounded, tail
from hobbes.lab.store.reported import Figures, drawn, stretch
from hobbes.nodes.rng_name import without_rng

if TYPE_CHECKING:
    import numpy as np

MOST_AGES = 200
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

    def to_json(self) -> dict[str, Any]:
        """Return the curve as plain JSON."""
        points = [{"turns": p.turns, "share": p.share, "low": p.low, "high": p.high} for p in self.points]
        counts = {"spells": self.spells, "ended": self.ended, "games": self.games, "median": self.median}
        return {"arm": self.arm, **counts, "points": points}


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
        tuple(over_time(world, arms)),
        tuple(survival(arms)),
        tuple(ratings(arms)),
        tuple(payoffs(arms)),
    )


def doses(file: ExperimentFile, world: AnyWorld, means: Means) -> Iterator[DoseCurve]:
    """Yield the curves of each factor whose values are numbers, one for each combination of the others."""
    if file.factors is None:
        return
    levels = dict(zip(file.arms, file.factors.combinations(), strict=True))
    for factor in dict.fromkeys(factor for values in levels.values() for factor in values):
        curves: dict[str, dict[str, float]] = {}
        fixed: dict[str, Mapping[str, Any]] = {}
        for arm, values in levels.items():
            level = values.get(factor)
            value = _of_baseline(file, world, factor) if level is None else file.factors.value(factor, level)
            others = {name: one for name, one in values.items() if name != factor}
            if file.factors.design == "one-at-a-time" and others:
                continue
            if isinstance(value, int | float) and not isinstance(value, bool):
                fixed[repr(others)] = others
                curves.setdefault(repr(others), {})[arm] = value
        for measure in next(iter(means.values()), {}):
            for key, curve in curves.items():
                if len({*curve.values()}) > 1:
                    points = (Dose(value, arm, means[arm][measure]) for arm, value in curve.items())
                    in_order = tuple(sorted(points, key=lambda point: point.value))
                    yield DoseCurve(factor, measure, fixed[key], in_order)


def _of_baseline(file: ExperimentFile, world: AnyWorld, factor: str) -> object:
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


def over_time(world: AnyWorld, arms: ByArm) -> Iterator[TimeCurve]:
    """Yield the measures that the world draws over time. The band is a t interval."""
    import numpy as np  # noqa: PLC0415  slow to import

    for arm, games in arms.items():
        if not (turns := max((one.row["turns"] for one in games), default=0)):
            continue
        ends = _stretches(turns, stretch(games[0].row["rounds"]))
        for measure in drawn(world):
            values = np.full((len(games), len(ends)), np.nan)
            for place, one in enumerate(games):
                of_game = one.row["over_time"][measure]
                values[place, : len(of_game)] = of_game
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

    n = (~np.isnan(values)).sum(axis=0)
    reaches = np.array([reach(count) if count >= FEWEST else np.nan for count in n.tolist()])
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
            [0, *(last + 1 for _, last in _stretches(longest, stretch(longest, MOST_AGES)))]
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

    games = len(ended)
    if games < FEWEST:
        return None, None
    # Not by BLAS, whose threads wait for each other on a busy machine.
    ended_again, at_risk_again = (
        np.einsum("gr,ga->ar", _resampled(games), of_games) for of_games in (ended, at_risk)
    )
    curves = _surviving(ended_again, at_risk_again, axis=0)
    outside = tail(games)
    low, high = np.quantile(np.sort(curves), [outside, 1 - outside], axis=1)
    return low, high


@cache
def _resampled(games: int) -> "np.ndarray[Any, Any]":
    """Return how often each game is in each resample; a row is a game."""
    import numpy as np  # noqa: PLC0415  slow to import

    drawn_games = np.random.default_rng(0).multinomial(games, [1 / games] * games, BAND_RESAMPLES)
    return np.ascontiguousarray(drawn_games.T, float)


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
