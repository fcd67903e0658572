"""How long the commands take to start: their processor time beside that of `hobbes --version`."""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial

import httpx2

from benchmarks._runs import serving

REPEATS = 5

HOBBES = (sys.executable, "-m", "hobbes")

READERS = {
    "hobbes trace": ("trace", "last"),
    "hobbes trace, one card": ("trace", "last", "0", "miner-01"),
    "hobbes runs": ("runs",),
    "hobbes search": ("search", "gold"),
    "hobbes verify": ("verify", "last"),
}

RUN = ("run", "mining", "--rounds", "1", "--agents", "2", "--json")

LIBRARIES = "import langgraph.graph, langgraph.checkpoint.sqlite"
"""The imports that a run cannot do without."""


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table: of readers in times of `--version`, of a run in times of its imports."""
    with tempfile.TemporaryDirectory() as home:
        version = _milliseconds(partial(_finish, [*HOBBES, "--version"], home))
        run = _milliseconds(partial(_finish, [*HOBBES, *RUN], home))
        rows = [("milliseconds of processor time of `hobbes --version`", f"{version:.0f}", "")]
        for name, words in READERS.items():
            reader = _milliseconds(partial(_finish, [*HOBBES, *words], home))
            goal = "" if name.endswith("verify") else "<= 3.5"
            rows.append((f"  times that: {name}", f"{reader / version:.1f}", goal))
        page = _milliseconds(partial(_first_page, home))
        rows.append(("  times that: hobbes view, its first page", f"{page / version:.1f}", "<= 3.5"))
        libraries = _milliseconds(partial(_finish, [sys.executable, "-c", LIBRARIES], home))
    return [
        *rows,
        ("milliseconds of processor time to import LangGraph and its SQLite saver", f"{libraries:.0f}", ""),
        ("  times that: a run of scripted policies of one turn", f"{run / libraries:.1f}", "<= 1.3"),
    ]


def _finish(command: list[str], home: str) -> None:
    """Run a command to its end."""
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "HOBBES_HOME": home})


def _first_page(home: str) -> None:
    """Serve the pages of a home until one of them is there."""
    with serving([*HOBBES, "view", "--port", "0", "--home", home]) as url:
        httpx2.get(url, timeout=60).raise_for_status()


def _milliseconds(command: Callable[[], None]) -> float:
    """Return the least processor time of the processes that a command starts, of several repeats."""
    times = []
    for _ in range(REPEATS):
        before = _used()
        command()
        times.append((_used() - before) * 1000)
    return min(times)


def _used() -> float:
    """Return the seconds of processor time of all processes that this one has waited for."""
    of = resource.getrusage(resource.RUSAGE_CHILDREN)
    return of.ru_utime + of.ru_stime
