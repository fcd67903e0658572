"""How long the commands take to start: their processor time beside that of `hobbes --version`."""

import os
import resource
import subprocess
import sys
import tempfile

REPEATS = 5

HOBBES = (sys.executable, "-m", "hobbes")

READERS = {
    "hobbes trace": ("trace", "last"),
    "hobbes trace, one card": ("trace", "last", "0", "miner-01"),
    "hobbes runs": ("runs",),
    "hobbes search": ("search", "gold"),
    "hobbes verify": ("verify", "last"),
    "hobbes view, its first page": (),
}

FIRST_PAGE = """\
import os
from pathlib import Path
from starlette.testclient import TestClient
from hobbes.show.web.server import site
with TestClient(site(Path(os.environ["HOBBES_HOME"]), "127.0.0.1"), base_url="http://127.0.0.1") as visitor:
    visitor.get("/").raise_for_status()
"""

RUN = ("run", "mining", "--rounds", "1", "--agents", "2", "--json")

LIBRARIES = "import langgraph.graph, langgraph.checkpoint.sqlite"
"""The imports that a run cannot do without."""


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table: of readers in times of `--version`, of a run in times of its imports."""
    with tempfile.TemporaryDirectory() as home:
        version = _milliseconds([*HOBBES, "--version"], home)
        run = _milliseconds([*HOBBES, *RUN], home)
        rows = [("milliseconds of processor time of `hobbes --version`", f"{version:.0f}", "")]
        for name, words in READERS.items():
            command = [*HOBBES, *words] if words else [sys.executable, "-c", FIRST_PAGE]
            goal = "" if name.endswith("verify") else "<= 3.5"
            rows.append((f"  times that: {name}", f"{_milliseconds(command, home) / version:.1f}", goal))
        libraries = _milliseconds([sys.executable, "-c", LIBRARIES], home)
    return [
        *rows,
        ("milliseconds of processor time to import LangGraph and its SQLite saver", f"{libraries:.0f}", ""),
        ("  times that: a run of scripted policies of one turn", f"{run / libraries:.1f}", "<= 1.3"),
    ]


def _milliseconds(command: list[str], home: str) -> float:
    """Return the least processor time that a command takes, of several repeats."""
    return min(_once(command, home) for _ in range(REPEATS))


def _once(command: list[str], home: str) -> float:
    before = _used()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "HOBBES_HOME": home})
    return (_used() - before) * 1000


def _used() -> float:
    """Return the seconds of processor time of all processes that this one has waited for."""
    of = resource.getrusage(resource.RUSAGE_CHILDREN)
    return of.ru_utime + of.ru_stime
