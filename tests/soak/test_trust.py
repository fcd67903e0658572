"""The outcomes to which the rules of trust lead, over twenty thousand games of self-play.

Source: docs/rules/trust.md#expected-outcomes.
"""

import pytest

from engine.trust.state import State, TrustConfig
from engine.trust.tournament import play

pytestmark = pytest.mark.soak

GAMES = 20_000
RULES = TrustConfig.model_validate({})


def replicated(state: State) -> bool:
    """Tell whether a game of the race ended by a replicate, which may have been a draw of two."""
    return state.winner is not None or state.drawn


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("always-high-five", 0.94, 0.96), ("copykitten", 0.79, 0.81), ("copycat", 0.0, 0.01)],
)
def test_how_often_somebody_replicates(name: str, low: float, high: float) -> None:
    share = sum(replicated(play(RULES, (name, name), seed)) for seed in range(GAMES)) / GAMES
    print(f"\n{name}: somebody replicates in {share:.2%} of {GAMES:,} games")
    assert low <= share <= high


def test_what_a_pair_that_means_to_high_five_gains_a_round() -> None:
    once = TrustConfig.model_validate({"rounds": 1})
    pair = ("always-high-five", "always-high-five")
    ended = (play(once, pair, seed) for seed in range(GAMES))
    gain = sum(unit.sats - once.start for state in ended for unit in state.units) / (2 * GAMES)
    print(f"\na pair that means to high five gains {gain:.3f} each a round")
    assert abs(gain - 1.91) <= 0.05
