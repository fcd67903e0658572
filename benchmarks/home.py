"""What a run takes on disk: bytes per decision."""

import tempfile
from pathlib import Path

from benchmarks._runs import bytes_of, play
from hobbes.store.home import open_store

AGENTS, TURNS = 20, 200


def measure() -> list[tuple[str, str, str]]:
    """Return the row of the table: bytes per decision of a closed home."""
    with tempfile.TemporaryDirectory() as folder:
        with open_store(Path(folder)) as home:
            run = play(home, AGENTS, TURNS, "guided")
            decisions = sum(1 for _ in home.calls.decisions(run.id))
        closed = bytes_of(Path(folder))
    what = f"bytes per decision of a closed home, mining, {AGENTS} agents x {TURNS} turns"
    return [(what, f"{closed / decisions:,.0f}", "<= 3,500")]
