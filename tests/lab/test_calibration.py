"""The statistics of a report are right as often as they say. `make soak` measures it more closely."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from hobbes.lab.experiment.statistics import (
    FEWEST,
    detectable_effect,
    differences_of,
    fewest_pairs,
    holm,
    means_of,
    pairs_needed,
    tail,
)
from tests.lab.simulated import simulate

EXPERIMENTS, SEEDS = 60, 9


def test_what_simulated_experiments_say_is_true_as_often_as_it_should_be() -> None:
    tally = simulate(EXPERIMENTS, SEEDS, ("games", "normal"))
    print(tally)  # noqa: T201  the figures, if the test fails
    assert tally.any_called <= 0.1
    for name in ("games", "normal"):
        assert tally.called[name] <= 0.1
        assert tally.covered[name] >= 0.88
        assert 0.65 <= tally.found[name] <= 0.95


def test_the_permutation_test_is_exact_where_pairs_are_few() -> None:
    assert differences_of([[1, 2, 3, 4, 5, 6]])[0].p == pytest.approx(2 / 2**6)
    assert differences_of([[1, 2, 3, 4, 5, -6]])[0].p == pytest.approx(28 / 2**6)
    assert differences_of([[0, 0, 0, 0, 0, 0]])[0].p == 1


@pytest.mark.parametrize("n", [5, 20])
def test_intervals_tests_and_power_are_those_of_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    samples = [rng.normal(0.5, 1, n), rng.exponential(1, n) - 0.7, rng.integers(-2, 4, n)]
    confidence = 1 - 2 * tail(n)
    assert tail(n) == pytest.approx(stats.norm.cdf(-math.sqrt(n / (n - 1)) * stats.t.ppf(0.975, n - 1)))
    for values, found in zip(samples, differences_of([[*map(float, one)] for one in samples]), strict=True):
        ends = stats.bootstrap((values,), np.mean, confidence_level=confidence, rng=0).confidence_interval
        assert (found.mean.low, found.mean.high) == pytest.approx((ends.low, ends.high), abs=0.001)
        p = stats.permutation_test((values,), np.mean, permutation_type="samples", rng=0).pvalue
        assert found.p == pytest.approx(p)
    effect, limit = detectable_effect(max(n, 6)) or 0, stats.t.ppf(0.975, max(n, 6) - 1)
    off = effect * math.sqrt(max(n, 6))
    power = stats.nct.sf(limit, max(n, 6) - 1, off) + stats.nct.cdf(-limit, max(n, 6) - 1, off)
    assert power == pytest.approx(0.8)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0]])
def test_from_fewer_than_three_values_no_interval_is_computed(values: Sequence[float]) -> None:
    assert len(values) < FEWEST
    found = means_of([values])[0]
    assert (found.low, found.high) == (None, None)
    assert found.mean == (sum(values) / len(values) if values else None)


def test_values_that_are_all_equal_have_an_interval_without_width_and_no_effect() -> None:
    found = differences_of([[0.25] * 7])[0]
    assert (found.mean.low, found.mean.mean, found.mean.high) == (0.25, 0.25, 0.25)
    assert found.effect is None
    assert found.p == pytest.approx(2 / 2**7)


def test_holm_corrects_for_the_measures_that_have_a_p() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.06, 0.06], nan_ok=True)
    assert holm([None]) == [None]


def test_fewer_than_six_pairs_can_find_nothing() -> None:
    assert fewest_pairs(1) == 6
    assert fewest_pairs(4) == 8
    assert detectable_effect(5) is None
    assert differences_of([[1.0, 1.1, 1.2, 1.3, 1.4]])[0].p == pytest.approx(0.0625)


def test_the_pairs_that_are_needed_find_the_effect_and_one_less_does_not() -> None:
    needed = pairs_needed(0.5)
    assert needed is not None
    assert (detectable_effect(needed) or 9) <= 0.5 < (detectable_effect(needed - 1) or 0)
    assert pairs_needed(-0.5) == needed
    assert pairs_needed(50.0) == 6
    assert pairs_needed(0.0) is None
    assert pairs_needed(0.0001) is None
