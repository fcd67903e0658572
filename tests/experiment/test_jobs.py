"""However an experiment is played, and wherever it is stopped, it ends in the same report."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hobbes.errors import HaltedRunError, HobbesError, UsageError
from hobbes.experiment.experiment_file import read_experiment_file
from hobbes.experiment.games import play_experiment
from hobbes.experiment.worker_processes import in_processes
from hobbes.nodes.caps import Budget, Caps, Spent
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from tests.conftest import ROOT, Cli
from tests.half_of import half
from tests.play.test_kills import answers, watch
from tests.play.test_limits import HoldingServer
from tests.play.test_models import server, table, write
from tests.small_experiment import FILE, Quiet, documents, planned, written

CALLS = 3 * 3 * 3 * 4
AT_ONCE = 8
"""Calls at once: more than the three agents of a game."""
ONE_SEED = FILE.replace("seeds = 3", "seeds = 1")


@pytest.mark.parametrize(
    "ways",
    [
        (("--jobs", "2"),),
        (("--jobs", "2", "--keep", "all"),),
        (("--max-calls", "50", "--at-once", "3"), ("--jobs", "1")),
        (("--max-calls", "50"), ("--max-calls", "1000")),
    ],
)
def test_an_experiment_ends_in_the_same_report_however_it_is_played(
    ways: tuple[tuple[str, ...], ...], cli: Cli, home: Path, whole: list[str], tmp_path: Path
) -> None:
    file = str(written(tmp_path))
    for way in ways[:-1]:
        stopped = cli("experiment", file, *way).exception
        assert isinstance(stopped, HaltedRunError)
        assert str(stopped) == (
            "--max-calls 50 is reached by the experiment; play it again with a higher cap to go on"
        )
        assert 0 < len(answers(home)) <= 50
    assert "9 runs, " in cli("experiment", file, *ways[-1]).stdout
    assert documents(home) == whole


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


def test_dollars_of_games_side_by_side_are_capped_together_and_nothing_is_asked_twice(
    cli: Cli, home: Path, tmp_path: Path
) -> None:
    """A call costs 100 tokens x 1,000 dollars per million = 0.1; those under way at the cap are paid too."""
    holding = HoldingServer(AT_ONCE)
    with server(holding.app()) as (base, requests):
        price = "price = { input = 1000, output = 1000 }"
        write(home, alice=table(base, more=f"parallel = {AT_ONCE}\n{price}"))
        file = str(written(tmp_path, FILE.replace("policy:guided?noise=0.3*2,policy:random*1", "alice")))
        stopped = cli("experiment", file, "--yes", "--max-usd", "2.05", "--at-once", "4").exception
        assert str(stopped).startswith("--max-usd 2.05 is reached by the experiment")
        assert holding.most == AT_ONCE, "the games were not played side by side"
        assert 21 <= len(answers(home)) < 21 + AT_ONCE
        assert "9 runs, " in cli("experiment", file, "--yes", "--max-usd", "20", "--at-once", "4").stdout
    assert len(answers(home)) == len(requests) == CALLS


def test_what_calls_cost_counts_for_all_who_share_a_budget() -> None:
    budget = Budget(Caps(tokens=100, usd=2.0), Spent(5, 40, 0.5))
    assert budget.reached_cap() == ""
    budget.spent.add(30, 1.5)
    assert budget.reached_cap() == "--max-usd 2 is reached"
    budget.spent.add(None, 0.0)
    assert budget.reached_cap().startswith("--max-tokens 100 cannot be enforced")


def test_what_processes_return_arrives_and_so_does_an_error_or_a_death() -> None:
    assert sorted(in_processes(half, range(0, 12, 2), 2)) == [0, 1, 2, 3, 4, 5]
    with pytest.raises(HobbesError, match="3 is refused"):
        list(in_processes(half, [2, 3, 4], 2))
    with pytest.raises(HobbesError, match=r"^run 5: the process that played it died; see whether mem"):
        list(in_processes(half, [2, 5, 4], 2))


def test_a_killed_experiment_leaves_no_semaphore_behind_which_the_system_would_keep(
    home: Path, tmp_path: Path
) -> None:
    long = written(tmp_path, ONE_SEED.replace("rounds = 4", "rounds = 5000"))
    with subprocess.Popen(
        [sys.executable, "-m", "hobbes", "experiment", str(long), "--jobs", "2", "--keep", "all"],
        cwd=ROOT,
        env={**os.environ, "HOBBES_HOME": str(home)},
        start_new_session=True,
        text=True,
    ) as player:
        watch(player, home, 30)
        used = Path(f"/proc/{player.pid}/maps").read_text()
        os.killpg(player.pid, signal.SIGKILL)  # also what would clean up after it
    assert "sem.mp-" not in used


def test_a_cluster_of_no_such_name_is_refused_in_one_line(cli: Cli, tmp_path: Path) -> None:
    refused = cli("experiment", str(written(tmp_path)), "--on", "moon").exception
    assert isinstance(refused, UsageError)
    assert str(refused) == "--on moon: write ray, auto or ray://HOST:PORT"
