"""Runs that are played in homes of their own and copied back are those that are played here."""

import re
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from hobbes.lab.errors import HaltedRunError, LabError, UsageError
from hobbes.lab.experiment import playing
from hobbes.lab.experiment.executor import DiedError
from hobbes.lab.experiment.file import read_experiment_file
from hobbes.lab.experiment.playing import play_experiment
from hobbes.lab.experiment.remote import Remote, Task, TaskResult, play_task
from hobbes.lab.experiment.workers import ledger_in
from hobbes.lab.play.playing import ALONE, RunOptions, Shared, begin
from hobbes.lab.store.home import Store, open_store
from hobbes.lab.store.run import HOBBES
from hobbes.lab.temporary import temporary
from hobbes.lab.wire.recording import environment
from tests.conftest import Cli
from tests.lab.test_experiments import FILE, Quiet, planned, written
from tests.lab.test_kills import answers

CALLS = 3 * 3 * 3 * 4

Submit = Callable[[Task], "Future[TaskResult]"]


@pytest.fixture(autouse=True)
def nodes_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of all nodes, and so of this process."""
    temporary()  # what multiprocessing makes its socket in stays where its path is short enough
    folder = tmp_path / "node"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def submit(task: Task) -> "Future[TaskResult]":
    """Play a task at once, in this process."""
    future = Future[TaskResult]()
    try:
        future.set_result(play_task(HOBBES, "node 1", task))
    except Exception as error:  # noqa: BLE001  as an executor does
        future.set_exception(error)
    return future


def elsewhere(monkeypatch: pytest.MonkeyPatch, folder: Path, hand_over: Submit = submit) -> None:
    """Let `--on ray` play with an executor that has this way to hand over tasks."""
    executor = Remote(
        hand_over,
        lambda future: future.result(),
        lambda: 2,
        lambda caps, spent: ledger_in(folder, caps, spent),
    )
    monkeypatch.setattr(playing, "_cluster", lambda *_: nullcontext(executor))


def test_an_experiment_ends_with_the_bytes_of_one_that_is_played_here_also_after_a_cap(
    cli: Cli, home: Path, small_experiment: Path, monkeypatch: pytest.MonkeyPatch, nodes_disk: Path
) -> None:
    def report(folder: Path) -> str:
        return cli("report", "small", "--json", env={"HOBBES_HOME": str(folder)}).stdout

    elsewhere(monkeypatch, home.parent)
    file = str(written(home.parent))
    stopped = cli("experiment", file, "--on", "ray", "--max-calls", "50").exception
    assert isinstance(stopped, HaltedRunError)
    assert str(stopped).startswith("--max-calls 50 is reached by the experiment; play it again")
    assert len(answers(home)) == 50, "what was paid for came back"
    assert "9 runs, " in cli("experiment", file, "--on", "ray").stdout
    assert len(answers(home)) == CALLS
    assert list(nodes_disk.iterdir()) == []
    assert (told := report(home))
    assert report(small_experiment) == told
    assert cli("verify", "small.immune.2").exit_code == 0


def test_of_each_seed_the_longest_runs_begin_first(
    opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = FILE.replace("seeds = 3", "seeds = [2, 1]").replace("immunity = 3", "rounds = 5")
    path = written(
        tmp_path, text.replace("[compare]", '[arms.many]\nmodel = "policy:guided"\nagents = 9\n\n[compare]')
    )
    _, content = read_experiment_file(path)
    progress = Quiet()
    elsewhere(monkeypatch, tmp_path)
    play_experiment(opened, planned(opened, path), content, progress, on="ray")
    assert progress.runs == [
        f"small.{arm}.{seed}" for seed in (2, 1) for arm in ("many", "immune", "open", "null")
    ]


def test_a_run_that_dies_goes_on_and_is_reported_after_three_times(
    cli: Cli, opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, FILE.replace("seeds = 3", "seeds = 1") + "null = false\n")
    submitted: list[str] = []

    def dying(task: Task) -> "Future[TaskResult]":
        name = str(opened.runs.find(task.run).name)
        submitted.append(name)
        if name == "small.open.1" and submitted.count(name) > 1:
            return submit(task)
        future = Future[TaskResult]()
        future.set_exception(DiedError("the node is dead"))
        return future

    elsewhere(monkeypatch, tmp_path, dying)
    done = cli("experiment", str(path), "--on", "ray")
    assert isinstance(done.exception, LabError)
    assert str(done.exception) == (
        "these runs failed 3 times each: small.immune.1 (the node is dead); all other runs have been played; "
        "play the experiment again to go on"
    )
    again = [f"small.{cell} is played again: the node is dead" for cell in ("immune.1", "immune.1", "open.1")]
    assert sorted(line for line in done.stderr.splitlines() if line) == again
    assert sorted(submitted) == ["small.immune.1"] * 3 + ["small.open.1"] * 2
    assert {run["name"]: run["status"] for run in opened.figures.of_all_runs()} == {
        "small.open.1": "finished",
        "small.immune.1": "unfinished",
    }


class PowerCutError(Exception):
    """What plays a run is gone from one moment to the next."""


class Cutting:
    """A budget of which a run dies."""

    def __init__(self, calls: int) -> None:
        self.left = calls
        self.taken = 0

    def take(self) -> str:
        if self.taken == self.left:
            raise PowerCutError
        self.taken += 1
        return ""

    def add(self, tokens: int | None, usd: float | None) -> None:
        pass


def task_of(store: Store, options: RunOptions, shared: Shared = ALONE) -> Task:
    """Return the task of a new run."""
    tasks: list[Task] = []

    def keep(task: Task) -> "Future[TaskResult]":
        tasks.append(task)
        return Future()

    executor = Remote(keep, lambda future: future.result(), lambda: 1, lambda *_: ledger_in(store.home, *_))
    executor.submit(store, begin(store, options), shared)
    return tasks[0]


def test_a_task_goes_on_where_it_died_if_its_folder_can_be_reached(opened: Store) -> None:
    options = RunOptions("mining", 3, values={"rounds": 5, "rows": 4, "cols": 4})
    first, second = Cutting(8), Cutting(100)
    task = task_of(opened, options, Shared(first))
    with pytest.raises(PowerCutError):
        play_task(HOBBES, "node 1", task)
    played = play_task(HOBBES, "node 1", replace(task, shared=Shared(second)))
    assert played.error is None
    assert (first.taken, second.taken) == (8, 15 - 8)


def test_a_task_is_played_in_a_folder_that_nobody_else_can_make_or_open(
    opened: Store, nodes_disk: Path
) -> None:
    task = task_of(opened, RunOptions("mining", 3, values={"rounds": 5, "rows": 4, "cols": 4}))
    for name in (task.folder, f"{task.folder}-trap"):  # as another user would make them
        (nodes_disk / name).mkdir(mode=0o755)
    (nodes_disk / f"{task.folder}-link").symlink_to(nodes_disk)
    there = {*nodes_disk.iterdir()}
    with pytest.raises(PowerCutError):
        play_task(HOBBES, "node 1", replace(task, shared=Shared(Cutting(8))))
    (made,) = (
        folder for folder in nodes_disk.iterdir() if folder not in there and (folder / "runs.db").exists()
    )
    assert made.stat().st_mode & 0o777 == 0o700
    assert made.name.startswith(f"{task.folder}-")
    assert play_task(HOBBES, "node 1", task).error is None
    assert not made.exists()
    assert not list((nodes_disk / f"{task.folder}-trap").iterdir())


def test_a_node_without_the_key_or_with_another_version_says_so_in_one_line(opened: Store) -> None:
    with environment(OPENAI_API_KEY="canary-0123456789", OTHER_KEY="another"):
        task = task_of(opened, RunOptions("mining", 1, models="openai:gpt-5-mini", values={"rounds": 1}))
    assert dict(task.variables) == {"OPENAI_API_KEY": "canary-0123456789"}
    assert "canary" not in repr(task)
    without = play_task(HOBBES, "node 1", replace(task, variables={})).error
    assert isinstance(without, UsageError)
    assert str(without) == (
        "node 1: openai: models need OPENAI_API_KEY, or OPENAI_BASE_URL; `hobbes doctor` shows them"
    )
    older = play_task("0.1.0", "node 1", task).error
    assert isinstance(older, UsageError)
    assert str(older) == (
        f"node 1 has hobbes {HOBBES}, and this is hobbes 0.1.0; install the same version on all nodes"
    )


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Let every write beyond so many bytes of a file fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_node_with_a_full_disk_says_so_in_one_line_and_keeps_what_it_has(opened: Store) -> None:
    """The disk is full before the first turn, or later; then the other try needs fewer calls."""
    task = task_of(opened, RunOptions("mining", 4, values={"rounds": 30}))
    size = len(task.files["runs.db"])
    for room in (size - 1, size + 100_000):
        with at_most(room):
            failed = play_task(HOBBES, "node 1", task).error
        assert isinstance(failed, DiedError)
        assert re.fullmatch("node 1: cannot (store runs in|use) .*", str(failed))
    calls = Cutting(1000)
    assert play_task(HOBBES, "node 1", replace(task, shared=Shared(calls))).error is None
    assert 0 < calls.taken < 4 * 30


def test_a_cluster_that_cannot_be_played_on_is_told_in_one_line_and_nothing_begins(
    cli: Cli, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(on: str) -> str:
        error = cli("experiment", str(written(tmp_path)), "--on", on).exception
        assert isinstance(error, LabError)
        assert "\n" not in str(error)
        return str(error)

    def mismatch(*_: object, **__: object) -> None:
        raise RuntimeError("Version mismatch: The cluster was started with:\n    Ray: 2.9\n    Python: 3.10")

    assert told("cloud") == "--on cloud: write ray, auto or ray://HOST:PORT"
    monkeypatch.setattr("ray.init", mismatch)
    assert re.fullmatch(
        "--on auto: there is no cluster to play on: Version mismatch: The cluster was started with: Ray: 2.9 "
        r"Python: 3.10; see whether it runs, with Ray [\d.]+ and Python [\d.]+, or play without --on",
        told("auto"),
    )
    monkeypatch.delitem(sys.modules, "hobbes.lab.experiment.cluster")
    monkeypatch.setitem(sys.modules, "ray", None)
    assert told("ray") == "--on ray needs Ray; install it in the checkout: pip install -e '.[ray]'"
    with open_store(home) as store:
        assert store.figures.of_all_runs() == []
