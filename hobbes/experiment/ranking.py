"""Everybody against everybody: the players of an experiment with the design `pairs`, by wins and by score."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple, TypeAlias

from hobbes.experiment.findings import names_of
from hobbes.experiment.statistics import Mean, means_of


class Seat(NamedTuple):
    """An agent of a game that has been played: the spec of its player, its score, and whether it won."""

    player: str
    score: float
    won: bool


Game: TypeAlias = tuple[int, Sequence[Seat]]
"""The seed of a game, and its agents."""


@dataclass(frozen=True, slots=True)
class Place:
    """A player's place in a ranking."""

    rank: int
    player: str
    mean: Mean
    """The mean over all opponents, itself included. Its interval is over the seeds."""
    against: Mapping[str, float]
    """The mean against each opponent."""


Rankings: TypeAlias = Mapping[str, Sequence[Place]]
"""The players in the order of their ranks: by `wins`, the share of games won, and by `score`."""


def rankings(games: Iterable[Game]) -> Rankings:
    """Return the ranking of the players by wins and by score."""
    played = list(games)
    return {
        "wins": _ranking(played, lambda seat: seat.won),
        "score": _ranking(played, lambda seat: seat.score),
    }


def _ranking(games: Sequence[Game], figure: Callable[[Seat], float]) -> list[Place]:
    """Return the players by the mean of a figure. Players with equal means share a rank.

    Each opponent counts alike, whether the player has one seat in a game or, against itself, all of them.
    """
    names = names_of({seat.player for _, seats in games for seat in seats})
    against: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    by_seed: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for seed, seats in games:
        figures: dict[str, list[float]] = defaultdict(list)
        for seat in seats:
            figures[names[seat.player]].append(figure(seat))
        for player, own in figures.items():
            for opponent in figures.keys() - {player} or {player}:
                against[player][opponent].append(fmean(own))
                by_seed[player][seed].append(fmean(own))
    samples = [[fmean(values) for _, values in sorted(seeds.items())] for seeds in by_seed.values()]
    means = dict(zip(by_seed, means_of(samples), strict=True))
    places = [
        Place(
            1 + sum((other.mean or 0) > (mean.mean or 0) for other in means.values()),
            player,
            mean,
            {opponent: fmean(values) for opponent, values in sorted(against[player].items())},
        )
        for player, mean in means.items()
    ]
    return sorted(places, key=lambda place: (place.rank, place.player))
