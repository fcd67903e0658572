"""The curves of a report, from small tables that are written by hand."""

from typing import Any

import pytest
from scipy import stats

from hobbes.engine.mining.world import MINING
from hobbes.engine.nations.world import NATIONS
from hobbes.experiment.findings import over_time, payoffs, ratings
from hobbes.store.experiment_tables import BegunCell
from hobbes.store.reported import ReportedRun


def arm(*games: dict[str, Any]) -> list[ReportedRun]:
    """Return the figures of the runs of an arm, with the seeds from 1 on."""
    nothing: dict[str, Any] = {"turns": 1, "rounds": 1, "ratings": [], "scores": {}, "winners": []}
    return [
        ReportedRun(BegunCell("a", seed, f"run-{seed}", "", "finished", 1, "", tainted=False), nothing | game)
        for seed, game in enumerate(games, start=1)
    ]


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


def test_ratings_stand_beside_the_mean_truth_of_the_games() -> None:
    games = [[("aggressor", 9, 30, 2.0)], [("aggressor", 2, 5, 0.0), ("aggressor", 9, 1, 4.0)]]
    (curve,) = ratings({"a": arm(*({"ratings": of_game} for of_game in games))})
    assert [(p.rating, p.count, p.mean.n, p.mean.mean) for p in curve.points] == [(2, 5, 1, 0), (9, 31, 2, 3)]
    assert NATIONS.measures.truths[curve.kind]


def test_a_player_is_called_without_its_parameters_unless_they_tell_two_apart() -> None:
    def scores(*specs: str) -> list[ReportedRun]:
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
