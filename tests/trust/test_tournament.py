"""The tournament, and the figures to which the rules lead."""

import json
from math import sqrt

import pytest

from hobbes.engine.trust.policies import POLICIES
from hobbes.engine.trust.state import TrustConfig
from hobbes.engine.trust.tournament import play, playing_out, round_robin, score
from hobbes.lab.errors import UsageError
from tests.conftest import Cli
from tests.trust.plays import game
from tests.trust.plays import play as play_round

GAMES = 600
RULES = TrustConfig.model_validate({})


def test_every_pair_plays_and_each_itself_with_seeds_of_their_own() -> None:
    names = ["copycat", "always-attack", "always-block"]
    standing = round_robin(names, 3, 1)
    # Three games against each of two others, and three with itself, in which it has both seats.
    assert [place.games for place in standing.places] == [3 * 4] * 3
    alone = round_robin(["copycat", "always-attack"], 3, 1)
    assert alone.sats["copycat"]["always-attack"] == standing.sats["copycat"]["always-attack"]
    assert round_robin(names, 3, 1) == standing
    assert round_robin(names, 3, 2) != standing
    assert json.loads(json.dumps(standing.to_json()))["points"] == standing.points


def test_points_are_one_to_the_winner_and_a_half_to_the_living_of_a_game_nobody_won() -> None:
    won = play_round(game(sats={"one": 100, "other": 50}), one="replicate", other="block").after
    assert [score(won, seat).points for seat in ("one", "other")] == [1, 0]
    dead = play_round(game(turn=29, sats={"one": 50, "other": 2}), one="attack", other="block").after
    assert [score(dead, seat).points for seat in ("one", "other")] == [0.5, 0.5]
    killed = play_round(game(turn=29, sats={"one": 50, "other": 2}), one="attack", other="beg 1 for x").after
    assert [score(killed, seat).points for seat in ("one", "other")] == [0.5, 0]


def test_always_attack_kills_always_high_five_and_ranks_above_it() -> None:
    """The high-fiver loses 6 per round, or 0 when it misses, so it dies after about nine rounds."""
    standing = round_robin(["always-attack", "always-high-five"], 20, 1, RULES)
    assert standing.sats["always-high-five"]["always-attack"] == 0
    assert standing.points["always-high-five"]["always-attack"] == 0
    assert standing.points["always-attack"]["always-high-five"] >= 0.5


def test_the_interval_is_the_mean_and_1_96_standard_errors() -> None:
    """Two attackers stay at 50, two blockers lose 30 each, and an attacker dies after 17 blocked attacks.

    So the attacker gets 0 points 20 times and 1/2 40 times, and the blocker gets 1/2 60 times.
    """
    blocker, attacker = round_robin(["always-attack", "always-block"], 20, 1, RULES).places
    points = [0.0] * 20 + [0.5] * 40
    mean = sum(points) / 60
    error = sqrt(sum((p - mean) ** 2 for p in points) / 59 / 60)
    assert (attacker.rank, attacker.name) == (2, "always-attack")
    assert attacker.points == pytest.approx(mean)
    assert attacker.high - mean == pytest.approx(1.96 * error)
    assert mean - attacker.low == pytest.approx(1.96 * error)
    assert (blocker.rank, blocker.low, blocker.points, blocker.high) == (1, 0.5, 0.5, 0.5)


def test_all_policies_take_part() -> None:
    standing = round_robin(sorted(POLICIES.by_name), 1, 1)
    assert len(standing.places) == 12
    assert {len(row) for row in standing.points.values()} == {12}


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("always-high-five", 0.92, 0.98), ("copykitten", 0.75, 0.85), ("copycat", 0, 0.015)],
)
def test_how_often_somebody_replicates_in_self_play(name: str, low: float, high: float) -> None:
    """30 rounds, 15% miss. The exact shares are checked over 20,000 games by tests/soak/test_trust.py."""
    ended = [play(RULES, (name, name), seed) for seed in range(GAMES)]
    assert low <= sum(s.winner is not None or s.drawn for s in ended) / GAMES <= high


def test_a_pair_that_means_to_high_five_gains_about_1_91_a_round_each() -> None:
    """Both hit (0.85 x 0.85): +3. One misses (0.85 x 0.15 each way): -6 and +4. Both miss: 0.

    0.7225 x 3 + 0.1275 x (-6) + 0.1275 x 4 = 1.9125.
    """
    long = TrustConfig.model_validate({"threshold": 1_000_000, "rounds": 1})
    pairs = ("always-high-five", "always-high-five")
    gained = [
        sum(u.sats - 50 for u in list(playing_out(long, pairs, s))[-1].units) / 2 for s in range(10_000)
    ]
    assert sum(gained) / len(gained) == pytest.approx(1.9125, abs=0.05)


def test_the_command_gives_what_one_process_gives(cli: Cli) -> None:
    done = cli("tournament", "--games", "2", "--seed", "3", "--set", "miss=5", "--json")
    assert done.exit_code == 0, done.exception
    alone = round_robin(list(POLICIES.by_name), 2, 3, TrustConfig.model_validate({"miss": 5}))
    assert json.loads(done.stdout) == json.loads(json.dumps(alone.to_json()))


def test_the_command_shows_ranks_and_a_matrix(cli: Cli) -> None:
    shown = cli("tournament", "--games", "1").stdout
    assert [line.split()[0] for line in shown.splitlines()[1:3]] == ["rank", "1"]
    assert "points of each row against each column" in shown


@pytest.mark.parametrize(
    "setting", ['alliances=[["unit-a","unit-b"]]', "observer=human", "miss=200", "misss=5"]
)
def test_what_no_tournament_can_be_played_with_is_said(cli: Cli, setting: str) -> None:
    wrong = cli("tournament", "--games", "1", "--set", setting).exception
    assert isinstance(wrong, UsageError)
    assert "\n" not in str(wrong)
