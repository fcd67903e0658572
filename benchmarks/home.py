"""What a run takes on disk and in memory, and whether that grows with its length."""

import asyncio
import multiprocessing
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from lab.play.playing import RunOptions, begin, go_on
from lab.store.database import open_store

T = TypeVar("T")

SHORT, LONG = 50, 2000


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table: bytes per decision, and memory of a long run over a short one."""
    closed, playing = _apart(_bytes)
    short, long = (_apart(_megabytes, turns) for turns in (SHORT, LONG))
    return [
        ("bytes per decision of a closed home, mining, 20 agents x 200 turns", f"{closed:,.0f}", "<= 2,000"),
        ("  while it is played, with the files of the write-ahead log", f"{playing:,.0f}", "<= 4,000"),
        (f"memory at the end of {LONG} turns, mining, 10 agents, MB", f"{long:,.0f}", ""),
        (f"  over that at the end of {SHORT} turns", f"{long / short:.2f}", "<= 1.20"),
    ]


def _apart(measured: Callable[..., T], *arguments: object) -> T:
    """Return what a function returns in a process of its own, whose memory nothing else has used."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, arguments)


def _bytes() -> tuple[float, float]:
    """Return the bytes per decision of a home: closed, and the most at the end of a turn."""
    most = 0
    with tempfile.TemporaryDirectory() as folder:

        def size() -> int:
            return sum(file.stat().st_size for file in Path(folder).iterdir())

        def look(_: object) -> None:
            nonlocal most
            most = max(most, size())

        decisions = _play(Path(folder), 20, 200, look)
        return size() / decisions, most / decisions


def _megabytes(turns: int) -> float:
    """Return the most memory of this process, in megabytes, once it has played a run."""
    with tempfile.TemporaryDirectory() as folder:
        _play(Path(folder), 10, turns, lambda _: None)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    # Unlike that of getrusage, this figure starts anew when a process starts another program.
    return int(status["VmHWM"].split()[0]) / 1000


def _play(folder: Path, agents: int, turns: int, look: Callable[[object], None]) -> int:
    """Play a run and return how many decisions it had."""
    with open_store(folder) as home:
        options = RunOptions("mining", agents=agents, models="policy:guided", values={"rounds": turns})
        run = begin(home, options)
        asyncio.run(go_on(home, run, look))
        return sum(1 for _ in home.decisions(run.id))
