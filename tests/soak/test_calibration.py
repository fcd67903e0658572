"""400 simulated experiments of 20 seeds: how often what the statistics of a report say is true."""

import pytest

from tests.lab.simulated import MEASURES, simulate

pytestmark = pytest.mark.soak

EXPERIMENTS, SEEDS = 400, 20


def test_reports_are_calibrated() -> None:
    tally = simulate(EXPERIMENTS, SEEDS)
    print(tally)
    error = 2 * (0.05 * 0.95 / EXPERIMENTS) ** 0.5
    assert tally.any_called <= 0.05 + error
    assert 0.93 <= sum(tally.covered.values()) / len(MEASURES) <= 0.97
    for name in MEASURES:
        assert 0.03 <= tally.called[name] <= 0.07, name
        assert 0.93 - error <= tally.covered[name] <= 0.97 + error, name
        assert 0.75 <= tally.found[name] <= 0.85, name
