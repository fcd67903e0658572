"""An experiment on a Ray cluster of three nodes is that of a single process, whatever is killed."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from hobbes.wire.recorder import in_thread
from tests.conftest import ROOT, Hobbes
from tests.play.test_kills import Player, Start
from tests.play.test_limits import CountingServer
from tests.play.test_models import table, write
from tests.small_experiment import undated
from tests.store.test_disk import small_disk

pytestmark = pytest.mark.soak

FILE = """
name = "small"
world = "mining"
rounds = 60
agents = 8
seeds = 4
model = "policy:guided?noise=0.3*6,policy:random*2"

[arms.open]

[arms.immune]
set = { immunity = 3 }

[compare]
baseline = "open"
"""
CELLS = 12
MODELS = """
name = "models"
world = "mining"
rounds = 2
agents = 20
seeds = 2
model = "alice"

[arms.open]

[arms.immune]
set = { immunity = 3 }

[compare]
null = false
"""
CANARY = "canary-of-a-key-0123456789"


class Nodes:
    """The cluster, in a process of its own."""

    def __init__(self, folder: Path, through: Sequence[str] = ()) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._process = subprocess.Popen(
            [*through, sys.executable, "-m", "tests.soak.three_nodes", str(folder)],
            cwd=ROOT,
            # With grpc's support of forks, the server for clients of Ray 2.60 crashes now and then.
            env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "GRPC_ENABLE_FORK_SUPPORT": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.places: dict[str, str] = json.loads(self._said(lambda line: line.startswith("{")))

    def kill_one(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("kill\n")
        self._process.stdin.flush()
        self._said(lambda line: line == "killed\n")

    def left(self) -> list[Path]:
        """What the runs have left on the disks."""
        return list(self._folder.glob("disk-*/hobbes-*"))

    def end(self) -> None:
        self._process.communicate()

    def _said(self, expected: Callable[[str], bool]) -> str:
        assert self._process.stdout is not None
        return next(line for line in self._process.stdout if expected(line))


@contextmanager
def three_nodes(folder: Path, through: Sequence[str] = ()) -> Iterator[Nodes]:
    started = Nodes(folder, through)
    try:
        yield started
    finally:
        started.end()


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    with three_nodes(tmp_path / "nodes") as started:
        yield started


def finished(home: Path) -> int:
    if not (home / "runs.db").exists():
        return 0
    with sqlite3.connect(f"file:{home / 'runs.db'}?mode=ro", uri=True) as connection:
        try:
            return int(
                connection.execute("select count(*) from runs where status = 'finished'").fetchone()[0]
            )
        except sqlite3.OperationalError:  # the tables are not there yet
            return 0


def wait_for(player: Player, home: Path, runs: int) -> None:
    while finished(home) < runs and player.poll() is None:
        try:
            player.wait(timeout=0.01)
        except subprocess.TimeoutExpired:
            continue


def report(hobbes: Hobbes, home: Path) -> list[str]:
    """The report of the experiment, as JSON and as a page."""
    env = {"HOBBES_HOME": str(home)}
    forms = (("--json",), ("--format", "html"))
    told = [undated(hobbes("report", "small", *form, env=env).stdout) for form in forms]
    assert all(told)
    assert json.loads(told[0])["cells"]
    return told


def test_an_experiment_on_three_nodes_of_which_one_is_killed_and_so_is_the_driver(
    tmp_path: Path, hobbes: Hobbes, process: Start, nodes: Nodes, tried: Callable[[str], None]
) -> None:
    def ended(home: Path, *words: str, env: dict[str, str] | None = None) -> list[str]:
        done = hobbes(
            "experiment", str(file), *words, env={"HOBBES_HOME": str(home), "HOBBES_JOBS": "", **(env or {})}
        )
        assert f"{CELLS} runs" in done.stdout, done.stderr
        assert finished(home) == CELLS
        return report(hobbes, home)

    file = tmp_path / "small.toml"
    file.write_text(FILE)
    whole = ended(tmp_path / "one", "--jobs", "1")
    assert ended(tmp_path / "two", "--jobs", "2") == whole

    there = {"RAY_ADDRESS": nodes.places["address"], "HOBBES_JOBS": ""}
    assert ended(tmp_path / "client", "--on", nodes.places["client"]) == whole
    assert nodes.left() == []

    killed = tmp_path / "killed"
    play = ("experiment", str(file), "--on", "auto")
    player = process(*play, env={**there, "HOBBES_HOME": str(killed)})
    wait_for(player, killed, 2)
    nodes.kill_one()
    wait_for(player, killed, 6)
    assert player.poll() is None, "it ended too early to be killed"
    player.kill()
    player.wait()
    played = finished(killed)
    assert ended(killed, "--on", "auto", env=there) == whole
    assert hobbes("verify", "small.immune.3", env={"HOBBES_HOME": str(killed)}).returncode == 0
    tried(f"{CELLS} runs in 4 ways; a node killed after 2 runs or more, the driver after {played}")


PLACES = 18
"""How many calls a model allows at once: six for each of three nodes."""


def test_limits_hold_over_a_cluster_and_keys_are_written_nowhere(
    tmp_path: Path, hobbes: Hobbes, nodes: Nodes, tried: Callable[[str], None]
) -> None:
    """The server holds its requests until all places are taken, or more come than there are."""
    home, file = tmp_path / "home", tmp_path / "models.toml"
    file.write_text(MODELS)
    counting = CountingServer(PLACES)
    with in_thread(counting.app()) as base:
        write(home, alice=table(base, "ALICE_KEY", f"parallel = {PLACES}"))
        done = hobbes(
            "experiment",
            str(file),
            "--yes",
            "--on",
            "auto",
            env={
                "RAY_ADDRESS": nodes.places["address"],
                "ALICE_KEY": CANARY,
                "HOBBES_HOME": str(home),
                "HOBBES_JOBS": "",
            },
        )
    assert "4 runs, 4 of them played now" in done.stdout, done.stderr
    assert counting.most == PLACES
    assert counting.failed == {503: 40, 500: 40}
    places = [tmp_path, Path(nodes.places["session"])]
    found = [
        path
        for place in places
        for path in place.rglob("*")
        if path.is_file() and CANARY.encode() in path.read_bytes()
    ]
    assert found == []
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
    assert not any(CANARY.encode() in command for command in commands)
    tried(f"4 runs with a model, {counting.most} calls at once at most; no trace of the key")


ROOM = "200k"
"""A disk on which the runs of a task can begin, and cannot all end."""

FULL = "(database or disk is full|No space left on device)"


def test_a_node_whose_disk_is_full_is_told_in_one_line_and_its_runs_are_played_the_next_time(
    tmp_path: Path,
    hobbes: Hobbes,
    home: Path,
    tried: Callable[[str], None],
) -> None:
    file, whole = tmp_path / "small.toml", tmp_path / "whole"
    file.write_text(FILE)
    hobbes("experiment", str(file), "--jobs", "1", env={"HOBBES_HOME": str(whole), "HOBBES_JOBS": ""})
    folder = tmp_path / "nodes"
    folder.mkdir()
    full = folder / "disk-1"
    with small_disk(full, ROOM) as disk, three_nodes(folder, disk.through) as nodes:
        env = {"RAY_ADDRESS": nodes.places["address"], "HOBBES_HOME": str(home), "HOBBES_JOBS": ""}
        stopped = hobbes("experiment", str(file), "--on", "auto", env=env)
        assert stopped.returncode == 1
        (line,) = filter(None, stopped.stderr.splitlines())
        assert re.match(rf"hobbes: node .*{FULL}", line), line
        played = finished(home)
        assert 0 < played < CELLS
        disk.make_room()
        done = hobbes("experiment", str(file), "--on", "auto", env=env)
    assert f"{CELLS} runs, {CELLS - played} of them played now" in done.stdout, done.stderr
    assert report(hobbes, home) == report(hobbes, whole)
    tried(f"{CELLS} runs on 3 nodes, of which one has a disk of {ROOM}; {CELLS - played} played later")
