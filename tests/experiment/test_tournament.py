"""Everybody against everybody: the ranking of an experiment's players, and `hobbes tournament`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hobbes.engine.trust.world import TRUST
from hobbes.engine.world import won
from hobbes.errors import UsageError
from hobbes.experiment.experiment_file import read_experiment_file
from hobbes.experiment.ranking import rankings
from hobbes.experiment.statistics import to_json
from hobbes.experiment.tournament import play_games, tournament_file
from hobbes.store.home import Store
from tests.conftest import Cli
from tests.engine.trust.plays import game, play
from tests.small_experiment import play_all, written

PAIRS = """
name = "small"
world = "trust"
rounds = 8
seeds = 3
set = { threshold = 60 }
model = "policy:{one}*1,policy:{other}*1"

[factors]
design = "pairs"
one = ["always-attack", "copykitten", "random"]
other = ["always-attack", "copykitten", "random"]
"""


def test_who_has_won_is_said_by_the_rules_or_else_by_the_highest_score_if_one_agent_alone_has_it() -> None:
    ended = play(game(sats={"a": 100, "b": 90}), a="replicate", b="block").after
    assert ended.units_by_id["a"].sats < ended.units_by_id["b"].sats
    assert won(TRUST, ended) == {"a": True, "b": False}
    silent = replace(TRUST, winners=None)
    assert won(silent, ended) == {"a": False, "b": True}
    assert won(silent, game()) == {"a": False, "b": False}


def test_games_that_are_not_recorded_lead_to_the_ranking_of_those_that_are(
    opened: Store, cli: Cli, tmp_path: Path
) -> None:
    path = written(tmp_path, PAIRS)
    play_all(opened, path)
    unrecorded = to_json(rankings(play_games(read_experiment_file(path)[0])))
    recorded = json.loads(cli("report", "small", "--json").stdout)["rankings"]
    assert recorded == json.loads(json.dumps(unrecorded))
    assert {place["mean"] for place in recorded["wins"]} > {0}
    for form in ((), ("--format", "md"), ("--format", "html")):
        shown = cli("report", "small", *form).stdout
        assert "Ranking by wins and by score" in shown
        assert "rank by sats" in shown


def test_the_command_ranks_all_policies(cli: Cli) -> None:
    words = ("tournament", "--games", "1", "--seed", "7", "--set", "rounds=2", "--set", "threshold=55")
    done = cli(*words, "--json")
    assert done.exit_code == 0, done.exception
    file = tournament_file(1, 7, {"rounds": 2, "threshold": 55})
    assert json.loads(done.stdout) == json.loads(json.dumps(to_json(rankings(play_games(file)))))
    lines = cli(*words).stdout.splitlines()
    assert lines[0] == "tournament in trust: 78 pairs, 1 game each"
    assert sum(line.startswith("policy:") for line in lines) == 12
    assert "Sats of each row against each column" in lines


@pytest.mark.parametrize("setting", ['alliances=[["one","other"]]', "observer=human", "miss=200", "misss=5"])
def test_what_no_tournament_can_be_played_with_is_said(cli: Cli, setting: str) -> None:
    wrong = cli("tournament", "--games", "1", "--set", setting).exception
    assert isinstance(wrong, UsageError)
    assert "\n" not in str(wrong)
