"""trust: a round-robin of the scripted policies.

Every policy plays every policy, itself included, for a number of games by the rules of any run. Final sats
stand beside the points, because a winner has paid to replicate.

Source: docs/rules/trust.md#round-robin, docs/rules/trust.md#points.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations_with_replacement
from math import sqrt
from typing import TypeAlias

from hobbes.engine.answer import FoundAs, Outcome, ParsedAnswer
from hobbes.engine.chance import RngStream, chance
from hobbes.engine.memory import Memory
from hobbes.engine.record import Json
from hobbes.engine.trust.policies import Sight, decide, notes
from hobbes.engine.trust.state import State, TrustConfig, over, setup
from hobbes.engine.trust.world import TRUST
from hobbes.engine.turn import judge, views

SEATS = ("one", "other")
Z95 = 1.96
"""The half-width of a 95% interval, in standard errors."""


@dataclass(frozen=True, slots=True)
class Place:
    """A policy's result over all its games: mean points with their 95% interval, and mean final sats."""

    rank: int
    name: str
    points: float
    low: float
    high: float
    sats: float
    games: int


@dataclass(frozen=True, slots=True)
class Standing:
    """The outcome of a tournament."""

    places: tuple[Place, ...]
    points: Mapping[str, Mapping[str, float]]
    """The mean points of each policy against each other one."""
    sats: Mapping[str, Mapping[str, float]]
    """The mean final sats of each policy against each other one; a dead player has 0."""
    games: int
    """The number of games of each pair."""
    rounds: int
    """The number of rounds played in all games."""

    def to_json(self) -> dict[str, Json]:
        """Return the standing as plain JSON. Source: docs/rules/trust.md#tournament-command."""
        return {**asdict(self), "places": [asdict(place) for place in self.places]}


@dataclass(frozen=True, slots=True)
class Score:
    """One player's result of one game."""

    points: float
    sats: int
    rounds: int


Pair: TypeAlias = tuple[str, str]
"""Two policies, in the order of their seats."""

Meeting: TypeAlias = "list[tuple[Score, Score]]"
"""The results of two policies, game by game."""

PlayAll: TypeAlias = Callable[[Callable[[Pair], Meeting], Iterable[Pair]], Iterable[Meeting]]
"""How all pairs are played: `map`, or one over several processes that keeps the order."""


def round_robin(
    names: Sequence[str], games: int, seed: int, config: TrustConfig | None = None, play_all: PlayAll = map
) -> Standing:
    """Let every policy play every policy, itself included, for `games` games, and return the standing.

    Source: docs/rules/trust.md#round-robin.
    """
    rules = config if config is not None else TrustConfig.model_validate({})
    scores: dict[Pair, list[Score]] = {(a, b): [] for a in names for b in names}
    pairs = list(combinations_with_replacement(names, 2))
    rounds = 0
    for (one, other), met in zip(pairs, play_all(partial(meet, rules, games, seed), pairs), strict=True):
        scores[one, other] += [mine for mine, _ in met]
        scores[other, one] += [theirs for _, theirs in met]
        rounds += sum(mine.rounds for mine, _ in met)
    return Standing(
        _placed(names, scores),
        {a: {b: _mean([s.points for s in scores[a, b]]) for b in names} for a in names},
        {a: {b: _mean([s.sats for s in scores[a, b]]) for b in names} for a in names},
        games,
        rounds,
    )


def meet(config: TrustConfig, games: int, seed: int, pair: Pair) -> Meeting:
    """Let two policies play all their games."""
    mine, theirs = pair
    ended = (play(config, pair, game_seed(seed, mine, theirs, game)) for game in range(games))
    one, other = SEATS
    return [(score(state, one), score(state, other)) for state in ended]


def game_seed(seed: int, one: str, other: str, game: int) -> int:
    """Return the seed of a game, from the tournament's seed, its players and its number.

    Games are therefore independent: another pair or more games change none of them.

    Source: docs/rules/trust.md#round-robin.
    """
    return int(chance(seed, game, [one, other], "tournament")[:12], 16)


def play(config: TrustConfig, names: Sequence[str], seed: int) -> State:
    """Play one game of two policies to its end and return the last state.

    Source: docs/rules/trust.md#expected-outcomes.
    """
    for state in playing_out(config, names, seed):
        last = state
    return last


def playing_out(config: TrustConfig, names: Sequence[str], seed: int) -> Iterator[State]:
    """Yield the states of one game of two policies, the first state included.

    They decide as in any run. Their summaries and ratings are left out, because no decision depends on them
    and a tournament plays many games.

    Source: docs/rules/trust.md#round-robin.
    """
    state = setup(config, SEATS, seed)
    playing = dict(zip(SEATS, names, strict=True))
    memories: dict[str, Memory] = {}
    yield state
    while not over(state):
        answers = {}
        for unit, view in views(TRUST, state, memories).items():
            sight = Sight(view)
            answer = decide(playing[state.unit[unit].team], sight, RngStream(seed, state.turn, unit))
            memories[unit] = Memory(notes(sight))
            answers[unit] = ParsedAnswer(Outcome.ANSWERED, FoundAs.JSON, answer)
        judged = judge(TRUST, state, answers)  # a scripted observer rules as the turn is resolved
        state = TRUST.resolve(state, judged.intents).state
        yield state


def score(state: State, seat: str) -> Score:
    """Return the points and sats of one player of a game that is over. Source: docs/rules/trust.md#points."""
    held = sum(unit.sats for unit in state.living if unit.team == seat)
    if state.winner is not None:
        return Score(float(state.winner == seat), held, state.turn)
    return Score(0.5 if held else 0.0, held, state.turn)


def _placed(names: Sequence[str], scores: Mapping[tuple[str, str], Sequence[Score]]) -> tuple[Place, ...]:
    """Rank the policies by mean points; equal means share a rank.

    A game of a policy with itself counts once for each seat.

    Source: docs/rules/trust.md#ranks-and-intervals.
    """
    means: dict[str, tuple[float, float, float, int]] = {}
    for name in names:
        of = [score for other in names for score in scores[name, other]]
        points = [score.points for score in of]
        means[name] = (_mean(points), _half_width(points), _mean([s.sats for s in of]), len(of))
    order = sorted(names, key=lambda name: (-means[name][0], name))
    return tuple(
        Place(
            1 + sum(other[0] > means[name][0] for other in means.values()),
            name,
            means[name][0],
            means[name][0] - means[name][1],
            means[name][0] + means[name][1],
            *means[name][2:],
        )
        for name in order
    )


def _half_width(values: Sequence[float]) -> float:
    """Return 1.96 standard errors of the mean: 1.96 x sqrt(sum of squared deviations / (n - 1) / n).

    Source: docs/rules/trust.md#ranks-and-intervals.
    """
    n, mean = len(values), _mean(values)
    return Z95 * sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n) if n > 1 else 0.0


def _mean(values: Sequence[float]) -> float:
    """Return the mean, or 0 if there are no values."""
    return sum(values) / len(values) if values else 0.0
