"""What a probe says is true as often as it should be. `make soak` tries many more."""

import random
from collections.abc import Iterator

import pytest
from scipy import stats

from hobbes.experiment.statistics import ALPHA, holm
from hobbes.probe.column_comparison import Pair, interval, may_differ, p_value
from tests.soak import times

PROBES = 1_200
"""Three times 400: the share of 400 alone lies outside of its bounds by chance once in twelve times."""

ACTS = 4


def situations(rng: random.Random) -> Iterator[tuple[float, int, int]]:
    """Yield unequal situations, 3 to 20: how frequent an act is, and the answers of two columns."""
    for _ in range(rng.randint(3, 20)):
        yield rng.betavariate(0.3, 0.3), rng.randint(5, 11), rng.randint(5, 11)


def sampled(rng: random.Random, effect: float = 0.0) -> list[Pair]:
    """Return the answers of two columns, the second of which has an act more often by `effect`."""

    def having(answers: int, share: float) -> int:
        return sum(rng.random() < share for _ in range(answers))

    return [
        Pair(having(n, share), n, having(m, min(1.0, share + effect)), m) for share, n, m in situations(rng)
    ]


def says_so(rng: random.Random) -> bool:
    """Return whether a probe in which nothing differs says that an act does."""
    tested = [pairs for pairs in (sampled(rng) for _ in range(ACTS)) if may_differ(pairs)]
    return min((p for p in holm([p_value(pairs) for pairs in tested]) if p is not None), default=1.0) < ALPHA


def test_of_all_probes_in_which_nothing_differs_3_to_7_percent_say_so() -> None:
    rng = random.Random(1)  # noqa: S311  no secret
    assert 0.03 <= sum(says_so(rng) for _ in range(PROBES)) / PROBES <= 0.07


@pytest.mark.soak
def test_of_many_probes_in_which_nothing_differs_3_to_7_percent_say_so() -> None:
    rng, probes = random.Random(2), times(20_000)  # noqa: S311  no secret
    assert 0.03 <= sum(says_so(rng) for _ in range(probes)) / probes <= 0.07


def test_a_large_difference_is_found_almost_always_and_lies_in_its_interval_as_often_as_it_says() -> None:
    rng = random.Random(3)  # noqa: S311  no secret
    found = covered = 0
    for _ in range(200):
        pairs = sampled(rng, effect=0.0)
        low, high = interval(pairs)[1:]
        covered += low <= 0 <= high
        found += p_value(sampled(rng, effect=0.5)) < ALPHA
    assert covered >= 186
    assert found >= 180


def test_the_p_of_one_situation_is_fishers_with_the_observed_outcome_by_half() -> None:
    _, exact = stats.fisher_exact([[7, 3], [1, 9]])
    alike = 2 * stats.hypergeom.pmf(1, 20, 8, 10)
    assert p_value([Pair(7, 10, 1, 10)]) == pytest.approx(exact - alike / 2)


def test_an_interval_of_fewer_than_three_situations_is_over_their_answers() -> None:
    one, three = interval([Pair(7, 10, 1, 10)]), interval([Pair(7, 10, 1, 10)] * 3)
    assert one.mean == three.mean == pytest.approx(-0.6)
    assert one.low < three.low < three.high < one.high < 0


@pytest.mark.parametrize("n", [3, 4, 5, 12, 61, 1_000])
def test_an_interval_over_situations_is_that_of_students_t(n: int) -> None:
    many = 10**9  # so many answers to a situation that chance among them is nothing
    pairs = [Pair(0, many, k * many // (2 * n), many) for k in range(n)]
    differences = [one.now / many for one in pairs]
    expected = stats.ttest_1samp(differences, 0).confidence_interval(1 - ALPHA)
    assert interval(pairs).low == pytest.approx(max(-1, expected.low), rel=1e-6)
    assert interval(pairs).high == pytest.approx(expected.high, rel=1e-6)
