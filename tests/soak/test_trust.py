"""The outcomes to which the rules of trust lead, over twenty thousand games of self-play.

Source: docs/rules/trust.md#expected-outcomes.
"""

from collections.abc import Callable

import pytest

from hobbes.engine.trust.state import State
from tests.engine.trust.plays import match

pytestmark = pytest.mark.soak

GAMES = 20_000


def replicated(state: State) -> bool:
    """Tell whether a game of the race ended by a replicate, which may have been a draw of two."""
    return state.winner is not None or state.drawn


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("always-high-five", 0.94, 0.96), ("copykitten", 0.79, 0.81), ("copycat", 0.0, 0.01)],
)
def test_how_often_somebody_replicates(
    name: str, low: float, high: float, tried: Callable[[str], None]
) -> None:
    share = sum(replicated(match(name, name, seed)[-1]) for seed in range(GAMES)) / GAMES
    tried(f"{GAMES} games; somebody replicates in {share:.2%}")
    assert low <= share <= high


def test_what_a_pair_that_means_to_high_five_gains_a_round(tried: Callable[[str], None]) -> None:
    ended = (match("always-high-five", "always-high-five", seed, rounds=1)[-1] for seed in range(GAMES))
    gain = sum(unit.sats - 50 for state in ended for unit in state.units) / (2 * GAMES)
    tried(f"{GAMES} rounds; each gains {gain:.3f}")
    assert abs(gain - 1.91) <= 0.05
