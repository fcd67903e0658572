"""Figures of a report that were worked out by hand. The arithmetic stands in the docstrings."""

from math import atan, pi, sqrt
from typing import Any

import numpy as np
import pytest

from hobbes.experiment.arm_comparison import Rules, Sample, judge, weights
from hobbes.experiment.experiment_file import parse
from hobbes.experiment.ranking import Seat, rankings
from hobbes.experiment.report import report
from hobbes.experiment.statistics import Mean, means_of, p_studentized
from hobbes.experiment.wordings import Wordings
from hobbes.store.home import Store
from tests.made_up_experiment import made_up, planned

T_2, T_5 = 4.302653, 2.570582
"""Student's t for 95%, with 2 and with 5 degrees of freedom, from a printed table."""

BASE: list[float | None] = [2, 4, 3, 5, 1, 3]


def compared(store: Store, **differences: list[float]) -> dict[str, Any]:
    """Return the comparisons of arms that differ from BASE by so much, seed by seed."""
    arms: dict[str, list[float | None]] = {
        name: [(of_base or 0) + d for of_base, d in zip(BASE, of_arm, strict=True)]
        for name, of_arm in differences.items()
    }
    made_up(store, {"base": BASE} | arms)
    return {one["arm"]: one for one in report(store, "made").to_json()["differences"]}


def close(*figures: float) -> Any:
    """Return what figures with six digits are equal to."""
    return pytest.approx(figures, rel=1e-5, abs=1e-9)


def test_two_arms_of_six_pairs_differ_by_this(opened: Store) -> None:
    """The differences of `up` are 4 5 6 5 4 6, and those of `same` -1 1 0 2 -2 0.

    up: mean 30/6 = 5. Squared deviations 1 0 1 0 1 1, so the spread is sqrt(4/5). Their cubes -1 0 1 0 -1 1
    have the sum 0: no tail is longer. Interval 5 -+ T_5 * sqrt(4/5) / sqrt(6). All are above 0, so 2 of 2^6
    flips of signs are as extreme. Effect 5 / sqrt(4/5).
    same: mean 0, spread sqrt(10/5). p 1.
    Holm: the smaller p counts twice, the larger one once.
    """
    found = compared(opened, up=[4, 5, 6, 5, 4, 6], same=[-1, 1, 0, 2, -2, 0])
    up, same = found["up"], found["same"]
    off = T_5 * sqrt(0.8 / 6)
    assert (up["n"], up["mean"], up["low"], up["high"]) == close(6, 5, 5 - off, 5 + off)
    assert (up["spread"], up["effect"]) == close(sqrt(0.8), 5 / sqrt(0.8))
    assert (up["p"], up["p_holm"]) == close(2 / 64, 4 / 64)
    assert (same["mean"], same["spread"], same["p"], same["p_holm"]) == close(0, sqrt(2), 1, 1)
    assert [up["verdict"], same["verdict"]] == ["cannot tell", "cannot tell"]


def test_the_figures_of_an_arm_by_itself(opened: Store) -> None:
    """BASE in order is 1 2 3 3 4 5: mean 3, squared deviations 4 1 0 0 1 4."""
    made_up(opened, {"base": BASE, "other": BASE})
    figures = report(opened, "made").to_json()["arms"]["base"]["measures"]["output"]
    off = T_5 * sqrt((4 + 1 + 0 + 0 + 1 + 4) / 5 / 6)
    assert tuple(figures.values()) == close(6, 3, 3 - off, 3 + off)


def test_pairs_within_a_margin(opened: Store) -> None:
    """All six differences lie between -0.5 and 0.5, so either shift leaves 1 of 2^6 flips as extreme."""
    made_up(opened, {"base": [0] * 6, "near": [0.1, -0.1, 0.2, -0.2, 0, 0]})
    planned(opened, smallest={"output": 0.5})
    (near,) = report(opened, "made").to_json()["differences"]
    assert (near["p_margin"], near["p_margin_holm"]) == close(1 / 64, 1 / 64)
    assert near["verdict"] == "no larger than"


def test_the_interval_of_0_0_3() -> None:
    """Mean 1, spread sqrt(6/2). Deviations -1 -1 2: skewness (6/3) / (6/3)^1.5 = 1 / sqrt(2), taken thrice.

    Johnson adds skewness * (reach^2 / 3 + 1 / 18) spreads on the side of the longer tail.
    """
    reach = T_2 / sqrt(3)
    longer = 3 / sqrt(2) * (reach**2 / 3 + 1 / 18)
    (found,) = means_of([[0, 0, 3]])
    assert (found.mean, found.low, found.high) == close(
        1, 1 - sqrt(3) * reach, 1 + sqrt(3) * (reach + longer)
    )


def test_the_p_of_3_3_0() -> None:
    """Mean 2, spread sqrt(3), thrice the skewness -3 / sqrt(2).

    The interval ends at 0 for the reach r with r + r^2 / sqrt(2) = 2 / sqrt(3) - 3 / sqrt(2) / 18. With 2
    degrees of freedom, p is 1/2 - t / (2 sqrt(2 + t^2)), where t = sqrt(3) r.
    """
    right = 2 / sqrt(3) - 1 / (6 * sqrt(2))
    t = sqrt(3) * (-1 + sqrt(1 + 4 * right / sqrt(2))) / sqrt(2)
    assert p_studentized(np.array([[3.0, 3.0, 0.0]])).tolist() == close(1 / 2 - t / (2 * sqrt(2 + t**2)))


def test_two_wordings_of_three_games() -> None:
    """1 2 3 with one wording and 5 6 7 with the other: means 2 and 6, squared error 8 / 2, 1 degree.

    p of t = 4 / 2 is 1 - 2 atan(2) / pi, more than the 2 of 2^3 flips. Student's t of 1 degree is 12.7062.
    """
    crossed = {"one": {1: 1.0, 2: 2.0, 3: 3.0}, "other": {1: 5.0, 2: 6.0, 3: 7.0}}
    wordings = Wordings(("up",), crossed)
    (found,) = judge([Sample("m", {1: 3.0, 2: 4.0, 3: 5.0}, ("up",), (wordings,))], Rules({}, frozenset()))
    mean = found.difference.mean
    assert (mean.mean, mean.low, mean.high) == close(4, 4 - 2 * 12.7062, 4 + 2 * 12.7062)
    assert (found.difference.p,) == close(1 - 2 * atan(2) / pi)


def test_a_trend_over_1_2_4() -> None:
    """The mean is 7/3: deviations -4/3 -1/3 5/3, squares 42/9. The slope counts over the range of 3."""
    asked = {"text": "t", "measure": "output", "direction": "higher", "test": "trend", "factors": ["rows"]}
    factors = {"name": "x", "world": "mining", "seeds": 2, "factors": {"rows": [1, 2, 4]}}
    file = parse({**factors, "hypothesis": [asked]})
    assert tuple(weights(file, file.hypotheses[0]).values()) == close(-12 / 14, -3 / 14, 15 / 14)


def test_two_players_of_one_seed() -> None:
    """A beats B by 3 to 1 and plays 2 to 4 against itself; B plays 0 to 0 against itself.

    Scores: A (3 + 3) / 2, B (1 + 0) / 2. Wins: A (1 + 1/2) / 2, B none.
    """
    a, b = "policy:a", "policy:b"
    games = [
        (1, [Seat(a, 3, True), Seat(b, 1, False)]),  # noqa: FBT003
        (1, [Seat(a, 2, False), Seat(a, 4, True)]),  # noqa: FBT003
        (1, [Seat(b, 0, False), Seat(b, 0, False)]),  # noqa: FBT003
    ]
    found = rankings(games)
    places = {by: [(p.rank, p.player, p.mean, dict(p.against)) for p in of] for by, of in found.items()}
    assert places == {
        "wins": [
            (1, a, Mean(1, 0.75, None, None), {a: 0.5, b: 1}),
            (2, b, Mean(1, 0, None, None), {a: 0, b: 0}),
        ],
        "score": [
            (1, a, Mean(1, 3, None, None), {a: 3, b: 3}),
            (2, b, Mean(1, 0.5, None, None), {a: 1, b: 0}),
        ],
    }
