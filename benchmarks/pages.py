"""How fast the pages of a long run are, and whether their process grows."""

import gzip
import tempfile
import time
from pathlib import Path
from statistics import median

import httpx2

from benchmarks._runs import apart, play
from hobbes.show.web.server import server
from hobbes.store.home import open_store
from hobbes.wire.recorder import run_server

AGENTS, TURNS = 20, 500
REQUESTS = 1_000
Row = tuple[str, str, str]


def measure() -> list[Row]:
    """Return the rows of the table: the first page, any turn, and growth."""
    with tempfile.TemporaryDirectory() as folder:
        with open_store(Path(folder)) as home:
            run = play(home, AGENTS, TURNS, "guided").id
        rows: list[Row] = [(f"pages of mining, {AGENTS} agents x {TURNS} turns", "", "")]
        return [*rows, *apart(_served, folder, run)]


def _served(folder: str, run: str) -> list[Row]:
    """Return how long pages take over HTTP, and what a thousand of them leave in memory."""
    with (
        run_server(server(Path(folder), "127.0.0.1")) as url,
        httpx2.Client(base_url=url, timeout=60) as client,
    ):

        def seconds(address: str) -> float:
            began = time.perf_counter()
            client.get(address).raise_for_status()
            return time.perf_counter() - began

        first, again = seconds(f"/{run}"), median(seconds(f"/{run}") for _ in range(5))
        compressed = len(gzip.compress(client.get(f"/{run}").content)) / 1000
        turns = [seconds(f"/{run}/{turn}.html") for turn in range(0, TURNS, 5)]
        before = _megabytes()
        for turn in range(REQUESTS):
            seconds(f"/{run}/{turn % TURNS}.html")
        return [
            ("  kilobytes of the page of the run, compressed", f"{compressed:.1f}", "<= 40"),
            ("  milliseconds for the first page of the run", f"{1000 * first:.0f}", "<= 1,000"),
            ("    for the page again, median", f"{1000 * again:.0f}", "<= 500"),
            ("    for a turn, median", f"{1000 * median(turns):.0f}", "<= 50"),
            ("    for the slowest turn", f"{1000 * max(turns):.0f}", "<= 50"),
            (
                f"  megabytes that {REQUESTS:,} more turns leave in memory",
                f"{_megabytes() - before:.1f}",
                "<= 5",
            ),
        ]


def _megabytes() -> float:
    """Return the memory of this process."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * 4096 / 2**20
