"""An experiment that several processes play is the one that a single process plays."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hobbes.lab.errors import HaltedRunError, LabError
from hobbes.lab.experiment import workers
from hobbes.lab.experiment.budget import SharedBudget
from hobbes.lab.experiment.file import read_experiment_file
from hobbes.lab.experiment.playing import play_experiment
from hobbes.lab.experiment.retention import Retention
from hobbes.lab.play.playing import Shared
from hobbes.lab.store.home import Store, open_store
from hobbes.lab.store.run import Run
from hobbes.nodes.caps import Caps, Spent
from tests.conftest import ROOT, Cli, Hobbes
from tests.lab.test_experiments import FILE, Quiet, planned, written
from tests.lab.test_kills import answers, watch

CALLS = 3 * 3 * 3 * 4
ONE_SEED = FILE.replace("seeds = 3", "seeds = 1")
SHORT = ONE_SEED.replace("rounds = 4", "rounds = 1")
play_run = workers.play_run


def test_two_processes_and_a_cap_end_with_the_bytes_of_one_process_and_none(
    cli: Cli, home: Path, small_experiment: Path, tmp_path: Path
) -> None:
    def documents(folder: Path) -> list[str]:
        forms = (("--json",), ("--format", "html"))
        return [cli("report", "small", *form, env={"HOBBES_HOME": str(folder)}).stdout for form in forms]

    def digests(folder: Path) -> list[str]:
        gathered = pq.read_table(folder / "gathered" / "small" / "runs", partitioning=None)
        return [str(row["digest"]) for row in gathered.to_pylist()]

    file = str(written(tmp_path))
    stopped = cli("experiment", file, "--jobs", "2", "--max-calls", "50").exception
    assert isinstance(stopped, HaltedRunError)
    assert str(stopped) == (
        "--max-calls 50 is reached by the experiment; play it again with a higher cap to go on"
    )
    assert 0 < len(answers(home)) <= 50
    assert "9 runs, " in cli("experiment", file, "--jobs", "2").stdout
    assert len(answers(home)) == CALLS
    one, other = documents(home), documents(small_experiment)
    assert all(one)
    assert one == other
    assert digests(home) == digests(small_experiment)


def test_an_experiment_that_another_process_plays_is_left_to_it(
    cli: Cli, opened: Store, tmp_path: Path
) -> None:
    class Second(Quiet):
        def on_cell(self, run: Run) -> None:
            super().on_cell(run)
            refused.append(str(cli("experiment", str(path), "--jobs", "1").exception))

    refused: list[str] = []
    path = written(tmp_path, ONE_SEED)
    _, content = read_experiment_file(path)
    play_experiment(opened, planned(opened, path), content, Second())
    assert refused == ["experiment small is being played by another process; wait for it to end"] * 3
    assert "3 runs, 0 of them" in cli("experiment", str(path), "--jobs", "1").stdout


def test_a_cap_holds_over_all_runs_and_all_times_that_the_experiment_is_played(
    cli: Cli, home: Path, tmp_path: Path
) -> None:
    file = str(written(tmp_path, ONE_SEED))
    for cap in (10, 10, 30):
        assert isinstance(cli("experiment", file, "--max-calls", str(cap)).exception, HaltedRunError)
        assert len(answers(home)) == cap
    assert "3 runs, " in cli("experiment", file, "--max-calls", str(CALLS // 3)).stdout
    assert len(answers(home)) == CALLS // 3


def test_what_calls_cost_counts_for_all_who_share_a_budget(tmp_path: Path) -> None:
    one, other = (SharedBudget(tmp_path / "spent", Caps(tokens=100, usd=2.0)) for _ in range(2))
    one.begin(Spent(5, 40, 0.5))
    assert (one.take(), other.take()) == ("", "")
    one.add(30, 1.5)
    assert other.take() == "--max-usd 2 is reached"
    other.add(None, 0.0)
    assert one.reached().startswith("--max-tokens 100 cannot be enforced")


def dies(home: Path, run: str, shared: Shared, keep: Retention) -> None:
    """Play a run; but the process dies in that of one arm each time, and in that of the other one once."""
    with open_store(home) as store:
        name = store.runs.find(run).name
    once = home / "once"
    if name == "small.immune.1" or not once.exists():
        if name == "small.open.1":
            once.touch()
        os._exit(1)
    play_run(home, run, shared, keep)


def test_the_cell_of_a_process_that_dies_is_played_again_and_reported_after_three_times(
    opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, SHORT + "null = false\n")
    _, content = read_experiment_file(path)
    monkeypatch.setattr(workers, "play_run", dies)
    progress = Quiet()
    with pytest.raises(
        LabError, match=r"^these runs failed 3 times each: small\.immune\.1 \(the process that played it died"
    ):
        play_experiment(opened, planned(opened, path), content, progress, jobs=2)
    assert sorted(map(str, progress.runs)) == ["small.immune.1"] * 3 + ["small.open.1"] * 2
    reason = "the process that played it died; see whether memory ran out"
    assert sorted(progress.died) == [f"small.immune.1: {reason}"] * 2 + [f"small.open.1: {reason}"]
    assert {run["name"]: run["status"] for run in opened.figures.of_all_runs()} == {
        "small.open.1": "finished",
        "small.immune.1": "unfinished",
    }
    monkeypatch.undo()
    play_experiment(opened, planned(opened, path), content, progress)
    assert {run["status"] for run in opened.figures.of_all_runs()} == {"finished"}


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose path is short enough for that of a socket in it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def test_a_killed_experiment_leaves_nothing_behind_that_the_next_one_does_not_remove(
    hobbes: Hobbes, home: Path, tmp_path: Path, short: Path
) -> None:
    environment = {"TMPDIR": str(short), "HOBBES_HOME": str(home)}
    long = written(tmp_path, ONE_SEED.replace("rounds = 4", "rounds = 5000"))
    with subprocess.Popen(
        [sys.executable, "-m", "hobbes.lab.cli", "experiment", str(long), "--jobs", "2"],
        cwd=ROOT,
        env={**os.environ, **environment},
        start_new_session=True,
        text=True,
    ) as player:
        watch(player, home, 30)
        used = Path(f"/proc/{player.pid}/maps").read_text()
        os.killpg(player.pid, signal.SIGKILL)  # also what would clean up after it
    assert "sem.mp-" not in used  # a semaphore, which the system would keep
    assert len(list(short.iterdir())) == 1
    other = written(tmp_path, SHORT.replace("small", "other"))
    assert "3 of them played now" in hobbes("experiment", str(other), env=environment).stdout
    assert not list(short.iterdir())


def test_as_many_processes_are_started_as_the_limit_of_open_files_allows(
    hobbes: Hobbes, tmp_path: Path
) -> None:
    limited = ("sh", "-c", 'ulimit -n 64; exec "$@"', "sh")
    file = written(tmp_path, FILE.replace("rounds = 4", "rounds = 1"))
    done = hobbes("experiment", str(file), "--jobs", "9", through=limited)
    assert "9 of them played now" in done.stdout, done.stderr
