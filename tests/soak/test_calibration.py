"""400 simulated experiments of 20 seeds: how often what the statistics of a report say is true."""

from collections.abc import Callable

import pytest

from tests.lab.simulated import MEASURES, simulate
from tests.soak import SHARE, times

pytestmark = pytest.mark.soak

EXPERIMENTS, SEEDS = times(400), 20


def test_reports_are_calibrated(tried: Callable[[str], None]) -> None:
    tally = simulate(EXPERIMENTS, SEEDS)
    tried(str(tally))
    loose = max(0.0, 1 - SHARE)  # a smaller soak shows only that it works
    error = loose + 2 * (0.05 * 0.95 / EXPERIMENTS) ** 0.5
    assert tally.any_called <= 0.05 + error
    assert 0.93 - loose <= sum(tally.covered.values()) / len(MEASURES) <= 0.97 + loose
    for name in MEASURES:
        assert 0.03 - loose <= tally.called[name] <= 0.07 + loose, name
        assert 0.93 - error <= tally.covered[name] <= 0.97 + error, name
        assert 0.75 - loose <= tally.found[name] <= 0.85 + loose, name
