"""Many simulated experiments: how often the verdicts of a report are true."""

from collections.abc import Callable

import pytest

from hobbes.experiment.statistics import ALPHA
from tests.simulated import MILD, tally, wordings_tally
from tests.soak import SHARE, times

pytestmark = pytest.mark.soak

EXPERIMENTS = times(400)

FEW = 8
FALSE_OF_FEW_SKEWED = 0.09
"""How often docs/calibration.md says that so few skewed differences are called what they are not."""


@pytest.mark.parametrize("tests", [1, 3, 6])
@pytest.mark.parametrize("seeds", [8, 20])
@pytest.mark.parametrize("name", MILD)
def test_verdicts_are_calibrated(name: str, seeds: int, tests: int, tried: Callable[[str], None]) -> None:
    of = tally(name, seeds, tests, EXPERIMENTS)
    tried(f"{EXPERIMENTS} experiments: {of}")
    loose = max(0.0, 1 - SHARE)  # a smaller soak shows only that it works
    error = loose + 3 * (0.05 * 0.95 / EXPERIMENTS) ** 0.5
    assert 0.93 - error <= of.covered <= 0.97 + error
    false = FALSE_OF_FEW_SKEWED if seeds == FEW and name.startswith("skewed") else ALPHA
    assert of.called <= false + error
    assert of.called_small <= false + error
    assert of.found >= 0.75 - error


@pytest.mark.parametrize("between", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("wordings", [3, 4, 6])
@pytest.mark.parametrize("name", ["games", "normal", "skewed"])
def test_intervals_over_wordings_hold_the_mean_over_all(
    name: str, wordings: int, between: float, tried: Callable[[str], None]
) -> None:
    of = wordings_tally(name, wordings, 8, between, EXPERIMENTS)
    tried(f"{EXPERIMENTS} experiments: {of}")
    error = max(0.0, 1 - SHARE) + 3 * (0.05 * 0.95 / EXPERIMENTS) ** 0.5
    assert of.covered >= 0.93 - error
    assert of.called <= 0.07 + error
