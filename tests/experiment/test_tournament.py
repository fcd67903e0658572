"""Everybody against everybody: the ranking of an experiment's players, and `hobbes tournament`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hobbes.engine.trust.world import TRUST
from hobbes.engine.world import won
from hobbes.errors import UsageError
from hobbes.store.home import Store
from tests.conftest import Cli
from tests.engine.trust.plays import game, play
from tests.small_experiment import play_all, written

PLAYERS = ["always-attack", "copykitten", "random"]

PAIRS = f"""
name = "small"
world = "trust"
rounds = 8
seeds = 3
set = {{ threshold = 60 }}
model = "policy:{{one}}*1,policy:{{other}}*1"

[factors]
design = "pairs"
one = {PLAYERS}
other = {PLAYERS}
"""


def test_who_has_won_is_said_by_the_rules_or_else_by_the_highest_score_if_one_agent_alone_has_it() -> None:
    ended = play(game(sats={"a": 100, "b": 90}), a="replicate", b="block").after
    assert ended.units_by_id["a"].sats < ended.units_by_id["b"].sats
    assert won(TRUST, ended) == {"a": True, "b": False}
    silent = replace(TRUST, measures=replace(TRUST.measures, winners=None))
    assert won(silent, ended) == {"a": False, "b": True}
    assert won(silent, game()) == {"a": False, "b": False}


def test_the_report_of_an_experiment_with_pairs_ranks_the_players(
    opened: Store, cli: Cli, tmp_path: Path
) -> None:
    play_all(opened, written(tmp_path, PAIRS))
    ranking = json.loads(cli("report", "small", "--json").stdout)["rankings"]
    assert {place["player"] for place in ranking["wins"]} == {f"policy:{name}" for name in PLAYERS}
    assert {place["mean"] for place in ranking["wins"]} > {0}
    for form in ((), ("--format", "md"), ("--format", "html")):
        shown = cli("report", "small", *form).stdout
        assert "Ranking by wins and by score" in shown
        assert "rank by sats" in shown


def test_the_command_plays_an_experiment_and_ranks_all_policies(cli: Cli) -> None:
    words = ("tournament", "--games", "1", "--seed", "7", "--set", "rounds=2", "--set", "threshold=55")
    done = cli(*words, "--json")
    assert done.exit_code == 0, done.exception
    assert json.loads(done.stdout) == json.loads(cli("report", "tournament", "--json").stdout)["rankings"]
    lines = cli(*words).stdout.splitlines()
    assert lines[0] == "tournament in trust: 78 pairs, 1 game each"
    assert sum(line.startswith("policy:") for line in lines) == 12
    assert "Sats of each row against each column" in lines
    assert cli("trace", "tournament.one=copycat,other=grudger.7").exit_code == 0
    with pytest.raises(UsageError, match="give the changed experiment another name"):
        raise cli(*words, "--set", "miss=5").exception or AssertionError


@pytest.mark.parametrize("setting", ['alliances=[["one","other"]]', "observer=human", "miss=200", "misss=5"])
def test_what_no_tournament_can_be_played_with_is_said(cli: Cli, setting: str) -> None:
    wrong = cli("tournament", "--games", "1", "--set", setting).exception
    assert isinstance(wrong, UsageError)
    assert "\n" not in str(wrong)
