"""trust: a round-robin of the comparators.

Source: decisions page, "Measures". Every pair, and each with itself, plays a number of games by the same
rules as any run. A game is worth points: 1 to who wins, 0 to who loses or dies, 1/2 to each that lives at the
end of a game that nobody has won. Final sats are told beside them, since who wins has paid to replicate.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations_with_replacement
from math import sqrt
from typing import TypeAlias

from engine.chance import Luck, chance
from engine.record import Json
from engine.trust.policies import Sight, decide, notes
from engine.trust.rules import resolve
from engine.trust.state import State, TrustConfig, actors, over, setup
from engine.trust.validation import validate
from engine.trust.view import observe

SEATS = ("one", "other")
Z95 = 1.96
"""Standard errors on each side of a mean that hold it in 95 of 100 cases."""


@dataclass(frozen=True, slots=True)
class Place:
    """How a comparator did over all its games: mean points, their 95% interval, mean final sats."""

    rank: int
    name: str
    points: float
    low: float
    high: float
    sats: float
    games: int


@dataclass(frozen=True, slots=True)
class Standing:
    """A tournament's outcome."""

    places: tuple[Place, ...]
    points: Mapping[str, Mapping[str, float]]
    """Mean points of each against each."""
    sats: Mapping[str, Mapping[str, float]]
    """Mean final sats of each against each; who is dead has 0."""
    games: int
    """Games of each pair."""
    rounds: int
    """Rounds that were played in all."""

    def to_json(self) -> dict[str, Json]:
        """Give the standing as plain JSON."""
        return {**asdict(self), "places": [asdict(place) for place in self.places]}


@dataclass(frozen=True, slots=True)
class Score:
    """What one player got out of one game."""

    points: float
    sats: int
    rounds: int


Pair: TypeAlias = tuple[str, str]
"""Two comparators, the one on the first seat first."""

Meeting: TypeAlias = "list[tuple[Score, Score]]"
"""What two comparators got out of each of their games."""

PlayAll: TypeAlias = Callable[[Callable[[Pair], Meeting], Iterable[Pair]], Iterable[Meeting]]
"""How all pairs are played: `map`, or that of several processes; in the order given."""


def round_robin(
    names: Sequence[str], games: int, seed: int, config: TrustConfig | None = None, play_all: PlayAll = map
) -> Standing:
    """Let everybody play everybody, and itself, so many games; the seed of a game is named by its players."""
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
    """Let two comparators play all their games."""
    mine, theirs = pair
    ended = (play(config, pair, game_seed(seed, mine, theirs, game)) for game in range(games))
    one, other = SEATS
    return [(score(state, one), score(state, other)) for state in ended]


def game_seed(seed: int, one: str, other: str, game: int) -> int:
    """Name a game's seed by the tournament's, its players and its number, so that no game moves another."""
    return int(chance(seed, game, [one, other], "tournament")[:12], 16)


def play(config: TrustConfig, names: Sequence[str], seed: int) -> State:
    """Play one game of two comparators to its end, each with a mind of its own; give the last state."""
    for state in playing_out(config, names, seed):
        last = state
    return last


def playing_out(config: TrustConfig, names: Sequence[str], seed: int) -> Iterator[State]:
    """Give the states of one game of two comparators, the first included.

    They decide as in any run; what they would only say to people is left out.
    """
    state = setup(config, SEATS, seed)
    playing = dict(zip(SEATS, names, strict=True))
    memories: dict[str, str] = {}
    yield state
    while not over(state):
        intents = {}
        for unit in actors(state):
            sight = Sight({**observe(state, unit), "mind": {"memory": memories.get(unit, "")}})
            answer = decide(playing[state.unit[unit].team], sight, Luck(seed, state.turn, unit))
            memories[unit] = notes(sight)
            intents[unit] = validate(state, unit, answer).intent
        state = resolve(state, intents).state
        yield state


def score(state: State, seat: str) -> Score:
    """Score one player of a game that is over."""
    held = sum(unit.sats for unit in state.living if unit.team == seat)
    if state.winner is not None:
        return Score(float(state.winner == seat), held, state.turn)
    return Score(0.5 if held else 0.0, held, state.turn)


def _placed(names: Sequence[str], scores: Mapping[tuple[str, str], Sequence[Score]]) -> tuple[Place, ...]:
    """Rank by mean points; equals share a rank. A game with itself counts once a seat."""
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
    """1.96 standard errors of the mean: 1.96 x sqrt(sum of squared deviations / (n - 1) / n)."""
    n, mean = len(values), _mean(values)
    return Z95 * sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n) if n > 1 else 0.0


def _mean(values: Sequence[float]) -> float:
    """Give the mean; of nothing it is 0."""
    return sum(values) / len(values) if values else 0.0
