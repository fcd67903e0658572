"""What a run takes on disk: bytes per decision."""

import tempfile
from pathlib import Path

from benchmarks._runs import bytes_of, play
from hobbes.store.home import open_store

AGENTS, TURNS = 20, 200


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table: bytes per decision of a closed home, and while the run is played."""
    most = 0
    with tempfile.TemporaryDirectory() as folder:

        def look(_: object) -> None:
            nonlocal most
            most = max(most, bytes_of(Path(folder)))

        with open_store(Path(folder)) as home:
            run = play(home, AGENTS, TURNS, "guided", look)
            decisions = sum(1 for _ in home.calls.decisions(run.id))
        closed = bytes_of(Path(folder))
    what = f"bytes per decision of a closed home, mining, {AGENTS} agents x {TURNS} turns"
    return [
        (what, f"{closed / decisions:,.0f}", "<= 3,500"),
        (
            "  while it is played, with the files of the write-ahead log",
            f"{most / decisions:,.0f}",
            "",
        ),
    ]
