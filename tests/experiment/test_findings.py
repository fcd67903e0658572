"""The curves of a report, from small tables that are written by hand."""

from typing import Any

import pytest
from scipy import stats

from hobbes.engine.mining.world import MINING
from hobbes.engine.nations.world import NATIONS
from hobbes.experiment.experiment_file import parse
from hobbes.experiment.findings import doses, over_time, payoffs, ratings, survival
from hobbes.experiment.statistics import Mean
from hobbes.show.charts import Line, Panel, draw_curves
from hobbes.store.experiment_tables import PlayedCell
from hobbes.store.reported import Figures

ONE = Mean(1, 0.5, None, None)


def arm(*games: dict[str, Any]) -> list[Figures]:
    """Return the figures of the runs of an arm, with the seeds from 1 on."""
    nothing: dict[str, Any] = {
        "turns": 1,
        "rounds": 1,
        "spells": [],
        "ratings": [],
        "scores": {},
        "winners": [],
    }
    return [
        Figures(PlayedCell("a", seed, f"run-{seed}", "", "", tainted=False), nothing | game)
        for seed, game in enumerate(games, start=1)
    ]


def file(**more: Any) -> Any:
    """Return an experiment file of mining."""
    return parse({"name": "x", "world": "mining", "seeds": 2} | more)


def points(curves: Any) -> list[tuple[str, Any, list[tuple[float, str]]]]:
    return [
        (one.factor, dict(one.fixed), [(point.value, point.arm) for point in one.points]) for one in curves
    ]


def means(asked: Any) -> dict[str, dict[str, Mean]]:
    return {arm: {"output": ONE} for arm in (*asked.arms, "null")}


def test_crossed_factors_have_a_curve_for_each_combination_of_the_others() -> None:
    asked = file(factors={"immunity": [5, 1], "rows": [4, 6]})
    assert points(doses(asked, MINING, means(asked))) == [
        ("immunity", {"rows": 4}, [(1, "immunity=1,rows=4"), (5, "immunity=5,rows=4")]),
        ("immunity", {"rows": 6}, [(1, "immunity=1,rows=6"), (5, "immunity=5,rows=6")]),
        ("rows", {"immunity": 5}, [(4, "immunity=5,rows=4"), (6, "immunity=5,rows=6")]),
        ("rows", {"immunity": 1}, [(4, "immunity=1,rows=4"), (6, "immunity=1,rows=6")]),
    ]


def test_factors_changed_one_at_a_time_have_the_baselines_value_as_well() -> None:
    factors = {"design": "one-at-a-time", "immunity": [5], "rows": [4], "rounds": [9], "agents": [3]}
    asked = file(rounds=7, set={"rows": 6}, factors=factors)
    assert points(doses(asked, MINING, means(asked))) == [
        ("immunity", {}, [(1, "baseline"), (5, "immunity=5")]),  # the default of the world
        ("rows", {}, [(4, "rows=4"), (6, "baseline")]),
        ("rounds", {}, [(7, "baseline"), (9, "rounds=9")]),
        ("agents", {}, [(3, "agents=3"), (10, "baseline")]),
    ]


def test_parameters_of_the_model_named_values_and_fields_of_settings_have_curves() -> None:
    factors = {
        "design": "one-at-a-time",
        "noise": {"none": 0.0, "some": 0.3},
        "constants.c_trade_factor": [3],
    }
    asked = parse(
        {
            "name": "x",
            "world": "nations",
            "seeds": 2,
            "model": "policy:random?noise={noise}",
            "parameters": {"noise": 0.1},
            "factors": factors,
        }
    )
    assert points(doses(asked, NATIONS, means(asked))) == [
        ("noise", {}, [(0, "noise=none"), (0.1, "baseline"), (0.3, "noise=some")]),
        ("constants.c_trade_factor", {}, [(2, "baseline"), (3, "constants.c_trade_factor=3")]),
    ]


def test_values_that_are_no_numbers_and_arms_without_factors_have_no_curve() -> None:
    asked = file(factors={"guidance": [True, False], "defense": ["block_all", "per_point"]})
    assert points(doses(asked, MINING, means(asked))) == []
    asked = file(arms={"a": {}, "b": {"set": {"immunity": 3}}})
    assert points(doses(asked, MINING, means(asked))) == []


def test_survival_is_the_kaplan_meier_curve_of_scipy() -> None:
    spells = [(1, True, 4), (2, False, 3), (3, True, 2), (5, False, 1), (5, True, 1), (0, False, 2)]
    (curve,) = survival({"a": arm(*[{"spells": spells}] * 3)})
    ended = [turns for turns, has_ended, count in spells * 3 for _ in range(count) if has_ended]
    cut_off = [turns for turns, has_ended, count in spells * 3 for _ in range(count) if not has_ended]
    expected = stats.ecdf(stats.CensoredData(uncensored=ended, right=cut_off)).sf
    assert [point.turns for point in curve.points] == [0, 1, 2, 3, 4, 5]
    assert [p.share for p in curve.points] == pytest.approx(expected.evaluate(range(6)))
    assert (curve.spells, curve.ended, curve.games, curve.median) == (39, 21, 3, 3)
    assert all((point.low, point.high) == (point.share, point.share) for point in curve.points)  # equal games


def test_two_games_have_a_survival_curve_without_a_band() -> None:
    (curve,) = survival({"a": arm(*[{"spells": [(1, True, 1)]}] * 2)})
    assert [(p.turns, p.share, p.low) for p in curve.points] == [(0, 1, None), (1, 0, None)]


def over(**values: Any) -> dict[str, Any]:
    """Return the measures over time of a game; those that are not given are 0.5."""
    (length,) = {len(of_measure) for of_measure in values.values()}
    return dict.fromkeys((*MINING.measures.shares, *MINING.measures.inequality), [0.5] * length) | values


def test_curves_over_time_are_means_of_stretches_and_leave_out_what_is_undefined() -> None:
    games = [
        {"turns": 5, "rounds": 81, "over_time": over(share_raid=[1.0 + seed, None if seed == 1 else 2.0])}
        for seed in (1, 2, 3)
    ]
    curves = {one.measure: one for one in over_time(MINING, {"a": arm(*games)})}
    first, second = curves["share_raid"].points
    assert (first.first, first.last, first.mean.n, first.mean.mean) == (0, 2, 3, 3)
    assert (second.first, second.last, second.mean.n, second.mean.mean) == (3, 4, 2, 2)
    assert first.mean.low == pytest.approx(3 - stats.t.ppf(0.975, 2) / 3**0.5)


def test_the_band_of_a_share_ends_at_0_and_1_or_at_a_value_beyond() -> None:
    shares = {"share_raid": (0.0, 0.0, 0.1), "share_mine": (1.0, 1.0, 0.9), "share_claim": (0.0, 0.2, 1.25)}
    games = [{"over_time": over(**{name: [one[k]] for name, one in shares.items()})} for k in range(3)]
    found = {one.measure: one.points[0].mean for one in over_time(MINING, {"a": arm(*games)})}
    assert found["share_raid"].low == 0
    assert found["share_mine"].high == 1
    assert (found["share_claim"].low, found["share_claim"].high) == (0, 1.25)
    assert 0.1 < (found["share_raid"].high or 0) < 1


def test_ratings_stand_beside_the_mean_truth_of_the_games() -> None:
    games = [[("aggressor", 9, 30, 2.0)], [("aggressor", 2, 5, 0.0), ("aggressor", 9, 1, 4.0)]]
    (curve,) = ratings({"a": arm(*({"ratings": of_game} for of_game in games))})
    assert [(p.rating, p.count, p.mean.n, p.mean.mean) for p in curve.points] == [(2, 5, 1, 0), (9, 31, 2, 3)]
    assert NATIONS.measures.truths[curve.kind]


def test_a_player_is_called_without_its_parameters_unless_they_tell_two_apart() -> None:
    def scores(*specs: str) -> list[Figures]:
        models = {str(n): spec for n, spec in enumerate(specs)}
        return arm({"models": models, "scores": {str(n): 10 * n for n in range(len(specs))}})

    arms = {
        "a": scores("policy:raider?greed=0.1", "policy:raider?greed=0.9", "policy:guided?noise=0.1"),
        "null": scores("policy:raider?greed=0.1&rng=null", "policy:raider?rng=null&greed=0.9"),
    }
    found = {(one.arm, one.player): (one.agents, one.mean.mean) for one in payoffs(arms)}
    assert found == {
        ("a", "policy:raider?greed=0.1"): (1, 0),
        ("a", "policy:raider?greed=0.9"): (1, 10),
        ("a", "policy:guided"): (1, 20),
        ("null", "policy:raider?greed=0.1"): (1, 0),
        ("null", "policy:raider?greed=0.9"): (1, 10),
    }


def test_a_line_without_a_point_is_left_out_of_a_picture() -> None:
    lines = [Line("defined", [(0, 1, None, None), (1, 2, 1.5, 2.5)]), Line("empty", [])]
    for steps in (False, True):
        drawn = draw_curves([Panel("half_life", "noise", "half_life", lines, steps=steps)])
        assert "defined" in drawn
        assert "empty" not in drawn
