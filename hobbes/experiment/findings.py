"""The curves of a report: what an experiment found beside the differences between its arms.

Each function draws one kind of curve from the figures of the runs. A game is one value here, too: a curve is
first computed for each game, and its band says how far the mean over games may be off.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hobbes.engine.world import AnyWorld
from hobbes.experiment.statistics import Mean, means_of
from hobbes.nodes.journal import without_rng
from hobbes.store.reported import ReportedRun, measures_over_time, stretch_length


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

    over_time: tuple[TimeCurve, ...] = ()
    ratings: tuple[RatingCurve, ...] = ()
    payoffs: tuple[Payoff, ...] = ()


ByArm: TypeAlias = Mapping[str, Sequence[ReportedRun]]
"""The figures of the runs that count, by arm."""


def findings(world: AnyWorld, arms: ByArm) -> Findings:
    """Return the curves of an experiment's runs."""
    return Findings(tuple(over_time(world, arms)), tuple(ratings(arms)), tuple(payoffs(arms)))


def over_time(world: AnyWorld, arms: ByArm) -> Iterator[TimeCurve]:
    """Yield the measures that the world draws over time. A game that has ended is left out of the rest."""
    for arm, games in arms.items():
        if not (turns := max((one.row["turns"] for one in games), default=0)):
            continue
        length = stretch_length(games[0].row["rounds"])  # of all stretches but the last one
        ends = [(first, min(first + length, turns) - 1) for first in range(0, turns, length)]
        for measure in measures_over_time(world):
            of_games = [one.row["over_time"][measure] for one in games]
            means = means_of(
                [[x for of in of_games for x in of[k : k + 1] if x is not None] for k in range(len(ends))]
            )
            if any(mean.n for mean in means):
                points = (Stretch(*end, mean) for end, mean in zip(ends, means, strict=True))
                yield TimeCurve(arm, measure, tuple(points))


def ratings(arms: ByArm) -> Iterator[RatingCurve]:
    """Yield the truth by rating for each kind of ratings: the mean over games of the mean of a game."""
    for arm, games in arms.items():
        truths, counts = defaultdict[tuple[str, int], list[float]](list), Counter[tuple[str, int]]()
        for kind, rating, count, truth in (one for game in games for one in game.row["ratings"]):
            truths[kind, rating].append(truth)
            counts[kind, rating] += count
        means = _means({key: truths[key] for key in sorted(truths)})
        for kind in dict.fromkeys(kind for kind, _ in means):
            points = (Truth(key[1], counts[key], mean) for key, mean in means.items() if key[0] == kind)
            yield RatingCurve(arm, kind, tuple(points))


def payoffs(arms: ByArm) -> Iterator[Payoff]:
    """Yield the mean score of each player in each arm: the mean over games of the mean of its agents."""
    names = names_of({spec for games in arms.values() for one in games for spec, *_ in one.seats})
    for arm, games in arms.items():
        scores = defaultdict[str, dict[int, list[int]]](dict)
        for seed, spec, score in ((one.cell.seed, *seat[:2]) for one in games for seat in one.seats):
            scores[names[spec]].setdefault(seed, []).append(score)
        of_games = {
            player: [sum(one) / len(one) for one in by_seed.values()] for player, by_seed in scores.items()
        }
        for player, mean in _means(of_games).items():
            agents = sum(map(len, scores[player].values())) / len(scores[player])
            yield Payoff(arm, player, agents, mean)


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
    return dict(zip(samples, means_of([*samples.values()]), strict=True))
