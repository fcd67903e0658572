"""How fast two processes play, how fast an experiment of 1,000 runs is reported, and what a run takes."""

import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import httpx2

from benchmarks._runs import bytes_of
from hobbes.play.start import RunOptions, begin
from hobbes.show.web.server import server
from hobbes.store.home import open_store
from hobbes.store.policy_games import play_purely, with_turns
from hobbes.wire.recorder import run_server

ARMS, SEEDS, AGENTS, TURNS = 50, 20, 10, 200

REPORTED_TURNS = 30
"""The turns of the runs that are reported: as many as a report has points over time."""

FEW_SEEDS, REPEATS = 10, 3
"""How many seeds of two arms one process and two play, and how often."""

FILE = """
name = "many"
world = "mining"
rounds = {turns}
agents = {agents}
seeds = {seeds}
[compare]
null = false
[factors]
immunity = {immunity}
"""

Row = tuple[str, str, str]


def measure() -> list[Row]:
    """Return the rows of the table."""
    what = f"{ARMS * SEEDS:,} runs of mining, {AGENTS} agents x {REPORTED_TURNS} turns, in {ARMS} arms"
    rows: list[Row] = [(what, "", "")]
    with tempfile.TemporaryDirectory() as folder:
        home, file = Path(folder) / "home", Path(folder) / "many.toml"
        immunity = list(range(1, ARMS + 1))
        file.write_text(FILE.format(turns=REPORTED_TURNS, agents=AGENTS, seeds=SEEDS, immunity=immunity))
        _seconds(home, ["experiment", str(file)])
        for words, command in (
            ("to list experiments", ["experiments"]),
            ("to resume it: nothing is missing", ["experiment", str(file), "--jobs", "1"]),
            ("to report as JSON", ["report", "many", "--json"]),
            ("to report as HTML", ["report", "many", "--format", "html"]),
        ):
            rows.append((f"  seconds {words}", f"{_seconds(home, command):.1f}", "<= 5"))
        with run_server(server(home, "127.0.0.1")) as url, httpx2.Client(base_url=url, timeout=60) as client:
            for words, address in (
                ("of runs and experiments", "/"),
                ("of the experiment", "/experiments/many"),
            ):
                began = time.perf_counter()
                client.get(address).raise_for_status()
                rows.append((f"  seconds for the page {words}", f"{time.perf_counter() - began:.1f}", "<= 5"))
        rows.append(("  bytes per run", f"{bytes_of(home) / (ARMS * SEEDS):,.0f}", "<= 3,000"))
    return [*rows, *_without_a_graph(), *_baseline(), *_over_processes()]


def _without_a_graph() -> list[Row]:
    """Return how fast policies are played by the engine's steps alone, and how fast such a run is opened."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder)) as store:
        runs = [begin(store, RunOptions("mining", 20, seed, values={"rounds": TURNS})) for seed in (1, 2, 3)]
        played, opened = [], []
        for run in runs:
            began = time.process_time()
            play_purely(store, run)
            played.append(20 * TURNS / (time.process_time() - began))
            began = time.perf_counter()
            with_turns(store, store.runs.find(run.id))
            opened.append(time.perf_counter() - began)
    return [
        ("decisions per second without a graph, 20 agents x 200 turns", f"{max(played):,.0f}", ">= 12,000"),
        ("  seconds to open such a run", f"{min(opened):.2f}", "<= 1"),
    ]


def _baseline() -> list[Row]:
    """Return how long `mining-baseline` takes, 140 runs."""
    with tempfile.TemporaryDirectory() as folder:
        seconds = _seconds(Path(folder), ["experiment", "experiments/mining-baseline.toml"])
    return [("seconds for experiments/mining-baseline.toml", f"{seconds:.1f}", "<= 45")]


def _over_processes() -> list[Row]:
    """Return how long one process and two take for the same runs, and what this machine gains from two.

    The floor is two experiments that share nothing and are played at once, each by one process.
    """
    seconds: dict[str, list[float]] = defaultdict(list)
    with ThreadPoolExecutor(2) as threads:
        for _ in range(REPEATS):
            for way, at_once, jobs in (("one", 1, 1), ("two", 1, 2), ("apart", 2, 1)):
                began = time.perf_counter()
                list(threads.map(_play_few, [jobs] * at_once))
                seconds[way].append(time.perf_counter() - began)
    one, two, apart = (median(seconds[way]) for way in ("one", "two", "apart"))
    return [
        (f"  seconds for {2 * FEW_SEEDS} runs in one process, over two", f"{one:.1f}, {two:.1f}", ""),
        ("    ratio", f"{one / two:.2f}", ">= 1.80"),
        ("    floor: two experiments at once, by one process each", f"{2 * one / apart:.2f}", ""),
    ]


def _play_few(jobs: int) -> None:
    """Play two arms in a home of their own."""
    with tempfile.TemporaryDirectory() as folder:
        home, file = Path(folder) / "home", Path(folder) / "many.toml"
        file.write_text(FILE.format(turns=TURNS, agents=AGENTS, seeds=FEW_SEEDS, immunity="[1, 2]"))
        _seconds(home, ["experiment", str(file), "--keep", "all", "--jobs", str(jobs)])


def _seconds(home: Path, command: list[str]) -> float:
    """Return how long a command takes."""
    began = time.perf_counter()
    environment = {**os.environ, "HOBBES_HOME": str(home)}
    subprocess.run(
        [sys.executable, "-m", "hobbes", *command], check=True, capture_output=True, env=environment
    )
    return time.perf_counter() - began
