"""How long the commands take to start: milliseconds of processor time beyond a Python that does nothing."""

import os
import subprocess
import sys
import tempfile

REPEATS = 5

LIBRARIES = "import langgraph.graph, langgraph.checkpoint.sqlite"
"""The imports that a run cannot do without."""


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table: the help, a run of one turn, and the imports that it needs."""
    with tempfile.TemporaryDirectory() as home:
        nothing = _milliseconds([sys.executable, "-c", "pass"], home)
        shown = _milliseconds([sys.executable, "-m", "hobbes", "--help"], home)
        words = ["run", "mining", "--rounds", "1", "--agents", "2", "--json"]
        first = _milliseconds([sys.executable, "-m", "hobbes", *words], home)
        imported = _milliseconds([sys.executable, "-c", LIBRARIES], home)
    return [
        (
            "milliseconds of processor time of `hobbes --help`, beyond `python -c pass`",
            f"{shown - nothing:.0f}",
            "<= 150",
        ),
        ("  of a run of one turn", f"{first - nothing:.0f}", "<= 700"),
        ("    floor: import LangGraph and its SQLite saver", f"{imported - nothing:.0f}", ""),
    ]


def _milliseconds(command: list[str], home: str) -> float:
    """Return the least processor time that a command takes, of several repeats."""
    return min(_once(command, home) for _ in range(REPEATS))


def _once(command: list[str], home: str) -> float:
    before = os.times()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "HOBBES_HOME": home})
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return used * 1000
