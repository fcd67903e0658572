"""Failures are counted by agent, turn and cause, and shown wherever a run is looked at."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hobbes.engine.world import OBSERVER
from hobbes.errors import HobbesError
from hobbes.play.start import RunOptions
from hobbes.show.trace import agent_card, full_turn, overview, turn_card
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from tests import faults
from tests.conftest import Cli
from tests.faults import ANSWER
from tests.play.test_second_question import answering
from tests.small_runs import played
from tests.wire.test_faults import served

DONE = {"0/miner-01/1": "null", "1/miner-01/1": "refusal", "1/miner-02/1": "null"}
"""What is done to three of the six calls of two agents in three rounds."""


def faulty_run(store: Store, monkeypatch: pytest.MonkeyPatch, **values: Any) -> Run:
    """Play two agents for three rounds against a server that fails three of their calls."""
    monkeypatch.setattr(faults, "draw_fault", lambda _shares, address, _time: DONE.get(address, ANSWER))
    with served({}):
        request = RunOptions("mining", 2, models="openai:policy/guided", values={"rounds": 3, **values})
        return played(store, request)


def test_failures_are_counted_by_turn_agent_and_cause(
    opened: Store, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3 of 6 decisions: one in turn 0, two in turn 1; two are miner-01's; two are unreadable."""
    run = faulty_run(opened, monkeypatch)
    assert opened.figures.result(run)["failures"] == {
        "total": 3,
        "share": 0.5,
        "by_turn": {0: 1, 1: 2},
        "by_agent": {"miner-01": 2, "miner-02": 1},
        "by_cause": {"unreadable": 2, "refused": 1},
    }
    assert [line["failures"] for line in overview(opened, run)] == [1, 2, 0]
    (listed,) = opened.figures.of_all_runs()
    assert listed["failures"] == {
        kind: opened.calls.failures(run.id)[kind] for kind in ("total", "share", "by_cause")
    }
    assert "50.0%" in cli("runs").stdout


def test_each_measure_has_its_number_of_decisions_and_failed_calls(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two decisions a turn 1, 2 and 0 failed in turns 0, 1 and 2; the first of two halves is turn 0."""
    run = faulty_run(opened, monkeypatch)
    rests_on = dict.fromkeys(("run", "first-half", "second-half", "turn/0", "turn/1", "turn/2"), (0, 0))
    for row in opened.db.table("measures").rows_where("run = ? and name = 'raid_rate'", [run.id]):
        rests_on[row["scope"]] = (row["decisions"], row["failures"])
    assert rests_on == {
        "run": (6, 3),
        "first-half": (2, 1),
        "second-half": (4, 2),
        "turn/0": (2, 1),
        "turn/1": (2, 2),
        "turn/2": (2, 0),
    }
    assert opened.db.table("measures").count_where("decisions is null or failures is null") == 0


def test_a_follow_up_answer_replaces_a_failed_first_call(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All three failed attempts are asked again, and those answers count."""
    run = faulty_run(opened, monkeypatch, reask=1)
    assert opened.figures.result(run)["failures"]["total"] == 0
    told = [
        (a["attempt"], a["question"], a["tries"], a["outcome"])
        for a in agent_card(opened, run, 0, "miner-01", full_turn(opened, run, 0))["attempts"]
    ]
    assert told == [(1, 1, 1, "unreadable"), (2, 2, 1, "answered")]
    calls = turn_card(opened, run, 0, full_turn(opened, run, 0))["calls"]
    assert {who: len(of_agent) for who, of_agent in calls.items()} == {"miner-01": 2, "miner-02": 1}


def test_a_run_without_a_call_has_no_share(opened: Store) -> None:
    run = opened.runs.find(played(opened, RunOptions("mining", 1, values={"rounds": 1})).id)
    opened.db.table("calls").delete_where()
    assert opened.calls.failures(run.id)["share"] is None


def test_failed_calls_of_the_observer_count(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        faults, "draw_fault", lambda _shares, address, _time: "null" if OBSERVER in address else ANSWER
    )
    with served({}):
        values: dict[str, Any] = {"rounds": 6, "observer": "openai:policy/all"}
        models = "policy:copykitten*1,policy:beggar*1"
        run = played(opened, RunOptions("trust", 2, models=models, values=values))
    told = opened.calls.failures(run.id)
    asked = opened.figures.result(run)["calls"] - 12
    assert asked > 0
    assert told["by_agent"] == {OBSERVER: asked}
    assert told["share"] == asked / (12 + asked)
    (turn, *_) = told["by_turn"]
    assert (
        turn_card(opened, run, turn, full_turn(opened, run, turn))["calls"][OBSERVER][0]["outcome"]
        == "unreadable"
    )


def test_an_unfinished_turn_shows_its_calls_and_has_no_board(
    opened: Store, cli: Cli, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run halts in turn 1, in which one call was refused and one unreadable."""
    done = {"1/miner-01/1": "refusal", "1/miner-02/1": "null"}
    monkeypatch.setattr(faults, "draw_fault", lambda _shares, address, _time: done.get(address, ANSWER))
    values: dict[str, Any] = {"rounds": 3, "on_failure": "halt"}
    with served({}), pytest.raises(HobbesError):
        played(opened, RunOptions("mining", 2, models="openai:policy/guided", values=values))
    run = opened.runs.find("last")
    last = overview(opened, run)[-1]
    assert (last["turn"], last["failures"], last["digest"]) == (1, 2, None)
    assert opened.calls.failures(run.id)["by_turn"] == {1: 2}
    assert "not finished" in cli("trace", "last").stdout
    told = cli("trace", "last", "1").stdout
    assert "has not finished; its calls so far" in told
    assert "refused" in told
    assert "I'm sorry" in told
    assert isinstance(cli("trace", "last", "2").exception, HobbesError)
    assert "error I'm sorry" in " ".join(cli("trace", "last", "1", "miner-01").stdout.split())
    card = cli("trace", "last", "1", "miner-01", "--raw").stdout
    assert "refused, found as none" in card
    assert '"you":"miner-01"' in card.partition("prompt")[2]
    page = pages.get("/last").text
    assert "This turn has not finished" in page
    assert (page.count("✗ refused"), page.count("✗ unreadable")) == (1, 1)
    assert re.search('href="/[^"]*/1/miner-01"', page)
    page = pages.get("/last/1/miner-01").text
    assert "✗ refused" in page
    assert "miner-01" in page.partition("<summary>What was sent")[2]
    assert "<svg" not in pages.get("/last/1.html").text
    missing = pages.get("/last/1.svg")
    assert (missing.status_code, "there is no board of turn 1" in missing.text) == (404, True)


def test_the_summary_of_a_run_counts_its_failed_calls(cli: Cli) -> None:
    play = ("run", "mining", "--agents", "1", "--rounds", "1", "--model", "openai:m")
    with answering(lambda _: "I would rather not."):
        done = cli(*play)
    assert "1 failed call (100.0%)" in done.stdout
    assert "measures (100.0% of calls failed)" in done.stdout


def test_a_halted_run_prints_its_results_so_far_and_how_to_resume(cli: Cli, tmp_path: Path) -> None:
    """A cap of 3 calls: turn 0 ends with two, and turn 1 stops before its second."""
    home = ("--home", str(tmp_path / "a folder"))
    halted = cli("run", "mining", "--agents", "2", "--rounds", "3", *home, "--json", "--max-calls", "3")
    told = json.loads(halted.stdout)
    assert (told["over"], told["turns"], told["calls"]) == (False, 1, 3)
    assert told["halted"] == "turn 1: --max-calls 3 is reached"
    hint = re.search("`hobbes (.*)` goes on", str(halted.exception))
    assert isinstance(halted.exception, HobbesError)
    assert hint is not None
    ended = cli(*shlex.split(hint[1]), "--max-calls", "9", "--json")
    assert (json.loads(ended.stdout)["over"], json.loads(ended.stdout)["halted"]) == (True, None)


def test_a_hint_leaves_out_the_default_home(opened: Store, cli: Cli) -> None:
    halted = cli("run", "mining", "--max-calls", "3")
    assert f"`hobbes resume {opened.runs.find('last').id}` goes on" in str(halted.exception)
    assert halted.stdout == ""
