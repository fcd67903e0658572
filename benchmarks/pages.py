"""How fast and how large the pages of a long run are, whether their process grows, and the page in a file."""

import tempfile
import time
from pathlib import Path
from statistics import median

import httpx2

from benchmarks._runs import apart, play
from hobbes.show.exports import export
from hobbes.show.web.server import server
from hobbes.store.home import open_store
from hobbes.wire.recorder import run_server

AGENTS, TURNS = 20, 500
REQUESTS = 1_000
FILES = ((4, 8, 1.5, ""), (20, 100, 12.0, "<= 15"))
"""Agents and turns of runs that are written as a file, with the most megabytes and seconds."""

ADDRESSES = (
    "/",
    "/RUN",
    "/RUN/diary",
    "/RUN/diary?event=raid",
    "/RUN/250.html",
    "/RUN/250/miner-03",
    "/search?q=raid",
    "/compare?a=RUN&b=OTHER",
)
Row = tuple[str, str, str]


def measure() -> list[Row]:
    """Return the rows of the table: each page, any turn, growth, and files."""
    with tempfile.TemporaryDirectory() as folder:
        with open_store(Path(folder)) as home:
            runs = [play(home, AGENTS, TURNS, policy).id for policy in ("guided", "guided?noise=0.05")]
        return [*apart(_served, folder, *runs), *apart(_files, folder)]


def _served(folder: str, run: str, other: str) -> list[Row]:
    """Return how long pages take over HTTP and how long they are, and what a thousand leave in memory."""
    with (
        run_server(server(Path(folder), "127.0.0.1")) as url,
        httpx2.Client(base_url=url, timeout=60) as client,
    ):

        def seconds(address: str) -> float:
            began = time.perf_counter()
            client.get(address).raise_for_status()
            return time.perf_counter() - began

        def kilobytes(address: str) -> float:
            with client.stream("GET", address) as response:
                return sum(map(len, response.iter_raw())) / 1000

        rows: list[Row] = [(f"pages of mining, {AGENTS} agents x {TURNS} turns", "", "")]
        for shown in ADDRESSES:
            address = shown.replace("RUN", run).replace("OTHER", other)
            seconds(address)  # fills the caches
            took = median(seconds(address) for _ in range(5))
            rows.append((f"  milliseconds for {shown}", f"{1000 * took:.0f}", "<= 500"))
            rows.append(("    its kilobytes, compressed", f"{kilobytes(address):.1f}", "<= 40"))
        turns = [seconds(f"/{run}/{turn}.html") for turn in range(0, TURNS, 5)]
        before = _megabytes()
        for turn in range(REQUESTS):
            seconds(f"/{run}/{turn % TURNS}.html")
        left = _megabytes() - before
        return [
            *rows,
            ("  milliseconds for the slowest turn", f"{1000 * max(turns):.0f}", "<= 50"),
            (f"  megabytes that {REQUESTS:,} more turns leave in memory", f"{left:.1f}", "<= 5"),
        ]


def _files(folder: str) -> list[Row]:
    """Return how long a run takes to be written as a page, and how large it is."""
    rows: list[Row] = [("a run as a page in a file", "", "")]
    for agents, turns, most, time_limit in FILES:
        to = Path(folder) / f"{agents}.html"
        with open_store(Path(folder)) as home:
            run = play(home, agents, turns, "guided")
            began = time.perf_counter()
            export(home, run, "page", to)
            took = time.perf_counter() - began
        rows.append((f"  seconds for {agents} agents x {turns} turns", f"{took:.1f}", time_limit))
        rows.append(("    its megabytes", f"{to.stat().st_size / 1e6:.2f}", f"<= {most:g}"))
    return rows


def _megabytes() -> float:
    """Return the memory of this process."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * 4096 / 2**20
