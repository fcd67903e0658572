"""Experiments that branch: all arms fork the same recorded runs at the same turn."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import hobbes
from hobbes.errors import HaltedRunError, UsageError
from hobbes.experiment.cost_estimate import estimate
from hobbes.experiment.experiment_file import ExperimentFile, read_experiment_file, stored_file
from hobbes.experiment.frozen import frozen_plan
from hobbes.experiment.games import Ways, play_experiment, runs_of
from hobbes.experiment.origins import with_bases
from hobbes.experiment.plan import Cell, Plan, plan
from hobbes.experiment.report import report
from hobbes.nodes.caps import Caps
from hobbes.play.start import RunOptions
from hobbes.store.experiment_tables import cells_of
from hobbes.store.home import Store, open_store
from hobbes.store.recorded_run import HOBBES
from hobbes.wire.recorder import environment, in_thread
from hobbes.wire.stand_in import stand_in
from tests.conftest import Cli
from tests.experiment.test_experiments import StopError, stopping
from tests.small_experiment import Quiet, written
from tests.small_runs import played

AFTER = """
name = "after"

[from]
runs = ["small.open.*"]
turn = 1

[arms.plain]

[arms.immune]
set = { immunity = 3 }

[compare]
measures = ["raid_rate", "efficiency"]
"""


def planned(store: Store, path: Path) -> tuple[Plan, dict[str, Any]]:
    """Return the plan of a file, and its content with the runs that it forks."""
    file, content = with_bases(store, path, *read_experiment_file(path))
    return plan(store, path, file), content


def play_all(store: Store, path: Path, ways: Ways | None = None) -> list[str | None]:
    watched = Quiet()
    play_experiment(store, *planned(store, path), watched, ways or Ways())
    return watched.runs


@pytest.fixture(scope="module")
def after_home(small_experiment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the experiment AFTER has been played; no test changes it."""
    folder = tmp_path_factory.mktemp("after")
    shutil.copytree(small_experiment, folder / "home")
    with open_store(folder / "home") as store:
        play_all(store, written(folder, AFTER))
    return folder / "home"


@pytest.fixture
def after(after_home: Path, home: Path) -> Iterator[Store]:
    """A home of its own in which that experiment has been played."""
    shutil.copytree(after_home, home)
    with open_store(home) as found:
        yield found


def bases(file: ExperimentFile) -> dict[int, str]:
    return {base.number: base.name for base in file.origin.bases} if file.origin else {}


def digests(store: Store, run: str, turns: int) -> list[str]:
    return [turn.digest for turn in store.turns.of(store.runs.find(run), 0, turns - 1)]


def test_all_arms_share_the_turns_before_the_fork_and_part_after_it(after: Store) -> None:
    for number in (1, 2, 3):
        arms = [f"after.{arm}.{number}" for arm in ("plain", "immune", "null")]
        first = {tuple(digests(after, run, 1)) for run in (f"small.open.{number}", *arms)}
        assert len(first) == 1
        whole = {after.runs.find(run).digest for run in (f"small.open.{number}", *arms)}
        assert len(whole) > 1
        assert after.runs.find(arms[0]).digest == after.runs.find(f"small.open.{number}").digest
        assert {(run.parent, run.forked_at) for run in map(after.runs.find, arms)} == {
            (after.runs.find(f"small.open.{number}").id, 1)
        }


def test_a_fork_at_the_first_turn_keeps_its_turns_too(small: Store, tmp_path: Path) -> None:
    play_all(small, written(tmp_path, AFTER.replace("turn = 1", "turn = 0").replace("*", "1")))
    assert digests(small, "after.plain.1", 4) == digests(small, "small.open.1", 4)
    assert len(digests(small, "after.null.1", 4)) == 4


@pytest.mark.usefixtures("after")
def test_the_report_says_which_runs_were_forked_where(cli: Cli) -> None:
    told = json.loads(cli("report", "after", "--json").stdout)
    assert told["from"] == {
        "turn": 1,
        "runs": [{"number": n, "run": f"small.open.{n}", "turn": 1} for n in (1, 2, 3)],
        "left_out": [],
    }
    printed = " ".join(cli("report", "after").stdout.split())
    assert "number run forked at turn 1 small.open.1 1 2 small.open.2 1 3 small.open.3 1" in printed
    assert [one["n"] for one in told["differences"]] == [3] * 4


def test_the_plan_keeps_the_runs_and_knows_a_changed_turn(after: Store, tmp_path: Path) -> None:
    kept = frozen_plan(after, stored_file(after, "after"))
    assert kept is not None
    assert kept.changes == ()
    assert bases(kept.file) == {n: f"small.open.{n}" for n in (1, 2, 3)}
    with pytest.raises(UsageError, match=r"other values of \[from\] \(arm plain, seed 1\)"):
        planned(after, written(tmp_path, AFTER.replace("turn = 1", "turn = 2")))


def test_a_run_that_comes_later_gets_the_next_number(after: Store, tmp_path: Path) -> None:
    path = written(tmp_path, AFTER.replace('["small.open.*"]', '["small.immune.1", "small.open.*"]'))
    assert {*play_all(after, path)} == {f"after.{arm}.4" for arm in ("plain", "immune", "null")}
    assert bases(stored_file(after, "after")) == {
        **{n: f"small.open.{n}" for n in (1, 2, 3)},
        4: "small.immune.1",
    }
    found = report(after, "after")
    assert found.extended
    assert found.left_out == ()


def test_a_run_without_the_event_is_left_out_with_a_line_that_says_so(
    small: Store, tmp_path: Path, cli: Cli
) -> None:
    played(small, RunOptions("mining", 3, 1, "policy:guided", name="small.open.calm", values={"rounds": 3}))
    path = written(tmp_path, AFTER.replace("turn = 1", 'turn = "first capture"'))
    runs = [f"small.open.{number}" for number in (1, 2, 3)]
    with hobbes.open(small.home) as home:
        first = {run: home.run(run).events("capture")[0]["turn"] for run in runs}
    done = cli("experiment", str(path), "--jobs", "1")
    left_out = "small.open.calm: there is no capture in it"
    assert [line for line in done.stderr.splitlines() if line.startswith("left out")] == [
        f"left out: {left_out}"
    ]
    origin = json.loads(cli("report", "after", "--json").stdout)["from"]
    assert {one["run"]: one["turn"] for one in origin["runs"]} == first
    assert origin["left_out"] == [left_out]
    forked = {run.parent: run.forked_at for run in map(small.runs.find, _runs(small))}
    assert forked == {small.runs.find(run).id: turn for run, turn in first.items()}


def _runs(store: Store) -> Iterator[str]:
    return (cell.id for cell in cells_of(store, "after").values())


def test_an_experiment_that_branches_goes_on_after_a_stop(
    small: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, AFTER)
    stops = stopping(monkeypatch, [4, 13, 29])
    while True:
        try:
            play_all(small, path, Ways(at_once=1, caps=Caps(calls=10_000)))
            break
        except StopError:
            continue
    assert stops == [4, 13, 29]
    stopped = Counter(small.runs.find(run).digest for run in _runs(small))
    small.db.execute("delete from cells where experiment = 'after'")
    small.db.execute("update runs set name = null where name glob 'after.*'")
    small.connection.commit()
    play_all(small, path)
    assert Counter(small.runs.find(run).digest for run in _runs(small)) == stopped
    assert play_all(small, path) == []


def test_a_node_of_a_cluster_plays_forks_with_the_runs_that_they_fork(small: Store, tmp_path: Path) -> None:
    cluster = pytest.importorskip("hobbes.experiment.cluster")

    def play_elsewhere(store: Store, cells: Sequence[Cell], *_: Any) -> None:
        """Play the runs as one task does, without a cluster."""
        runs = [*runs_of(store, cells)]
        batch = cluster._batch(store, runs, Ways(), 1)  # noqa: SLF001  a cluster takes seconds to start
        played_there = cluster.play_batch(HOBBES, "node", batch)
        assert played_there.error is None
        cluster._take_in(store, runs, played_there.rows)  # noqa: SLF001

    path = written(tmp_path, AFTER)
    play_experiment(small, *planned(small, path), Quiet(), play=play_elsewhere)
    elsewhere = {run.name: run.digest for run in map(small.runs.find, _runs(small))}
    small.db.execute("delete from cells where experiment = 'after'")
    small.db.execute("update runs set name = null where name glob 'after.*'")
    small.connection.commit()
    play_all(small, tmp_path / "small.toml")
    assert {run.name: run.digest for run in map(small.runs.find, _runs(small))} == elsewhere


BASE = """
name = "base"
world = "mining"
rounds = 3
agents = 2
seeds = 1
model = "openai:policy/guided"

[arms.a]
"""

BRANCH = """
name = "branch"

[from]
runs = ["base.a.1"]
turn = 1

[arms.plain]

[arms.raiders]
model = "openai:policy/raider*1,openai:policy/guided*1"
"""


def test_costs_and_caps_count_what_is_asked_after_the_fork(cli: Cli, opened: Store, tmp_path: Path) -> None:
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        cli("experiment", str(written(tmp_path, BASE)), "--yes", "--jobs", "1")
        path = written(tmp_path, BRANCH)
        assert estimate(opened, planned(opened, path)[0].cells).calls == 3 * 2 * 2
        with pytest.raises(HaltedRunError, match="by the experiment; play it again with a higher cap"):
            play_all(opened, path, Ways(caps=Caps(calls=11)))
        play_all(opened, path, Ways(caps=Caps(calls=12)))
    raiders = opened.runs.find("branch.raiders.1")
    assert sorted(raiders.models.values()) == ["openai:policy/guided", "openai:policy/raider"]


WRONG = {
    "no such run": ('"small.open.*"', '"smal.open.*"', r"\[from\] runs: no run is called 'smal.open.\*'"),
    "no such event": (
        "turn = 1",
        'turn = "first raids"',
        r"\[from\] turn: mining has no event 'raids'; did you mean 'raid'",
    ),
    "no turn": ("turn = 1", 'turn = "last"', r"\[from\] turn: write a turn, such as 12, or the first of an "),
    "a turn before the first": ("turn = 1", "turn = -1", r"\[from\] turn: write a turn, such as 12, or the "),
    "a turn after the last": (
        "turn = 1",
        "turn = 4",
        r"\[from\] turn: no run can be forked there; small.open",
    ),
    "no runs": ('["small.open.*"]', "[]", r"\[from\] runs: .*at least 1 item"),
    "an unknown key": (
        "turn = 1",
        "turn = 1\nround = 2",
        r"\[from\]: unknown key 'round'; the keys are runs, turn$",
    ),
    "what hobbes finds": (
        "turn = 1",
        "turn = 1\nbases = []",
        r"\[from\] bases: is found by hobbes; leave it",
    ),
    "seeds": (
        'name = "after"',
        'name = "after"\nseeds = 3',
        r"seeds: the runs in \[from\] take their place; ",
    ),
    "agents": (
        "[arms.plain]",
        "[arms.plain]\nagents = 4",
        r"agents: a fork has the agents of its run; leave",
    ),
    "agents as a factor": (
        "[arms.plain]\n\n[arms.immune]\nset = { immunity = 3 }",
        "[factors]\nagents = [2, 3]",
        r"agents: a fork has the agents of its run; leave",
    ),
    "another world": (
        'name = "after"',
        'name = "after"\nworld = "trust"',
        r"world: the runs in \[from\] are ",
    ),
    "how the game begins": (
        "immunity = 3",
        "rows = 5",
        r"\[arms.immune\]: --set rows: this changes how the game begins",
    ),
    "a game that is over by then": ("immunity = 3", "rounds = 1", r"\[arms.immune\]: .*over by then"),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_cannot_be_forked_is_refused_in_one_line(
    wrong: tuple[str, str, str], small: Store, tmp_path: Path
) -> None:
    before, after, message = wrong
    assert AFTER.count(before) == 1
    path = written(tmp_path, AFTER.replace(before, after))
    with pytest.raises(UsageError, match=rf"small.toml: {message}") as refused:
        planned(small, path)
    assert "\n" not in str(refused.value)
    assert not cells_of(small, "after")
