"""How many recorded calls are replayed in a second, and how fast SQLite alone reads that many texts."""

import tempfile
import time
from pathlib import Path

from benchmarks._floors import rows_per_second
from benchmarks._runs import play
from hobbes.loop import play_out
from hobbes.prove.replay import replay_run
from hobbes.store.home import open_store

AGENTS, TURNS, REPEATS = 20, 100, 3


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table: calls per second of a replay, and rows per second of SQLite."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder)) as home:
        run = play(home, AGENTS, TURNS, "guided")
        seconds = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            replayed = play_out(replay_run(home, run, reread=False))
            seconds.append(time.perf_counter() - began)
            if replayed.divergence:
                raise replayed.divergence
        floor = rows_per_second(Path(folder), AGENTS * TURNS)
    return [
        ("calls per second of a replay", f"{AGENTS * TURNS / min(seconds):,.0f}", ""),
        ("  floor: rows per second that SQLite reads one by one", f"{floor:,.0f}", ""),
    ]
