"""Runs to be measured, and processes of their own to measure them in."""

import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from hobbes.loop import play_out
from hobbes.nodes.turn_state import TurnState
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run

T = TypeVar("T")


def apart(measured: Callable[..., T], *arguments: object) -> T:
    """Return what a function returns in a process of its own, whose memory nothing else has used."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(measured, *arguments).result()


@contextmanager
def serving(command: Sequence[str]) -> Iterator[str]:
    """Run the command of a server in another process, and yield the URL that it prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None  # noqa: S101  it is a pipe
        try:
            yield server.stdout.readline().strip()
        finally:
            server.send_signal(signal.SIGINT)


def play(
    home: Store,
    agents: int,
    turns: int,
    policy: str,
    on_turn: Callable[[TurnState], None] = lambda _: None,
) -> Run:
    """Play a run of mining to its end, and return it."""
    models = f"policy:{policy}"
    run = begin(home, RunOptions("mining", agents=agents, models=models, values={"rounds": turns}))
    play_out(go_on(home, run, on_turn))
    return home.runs.find(run.id)


def bytes_of(folder: Path) -> int:
    """Return the size of all files of a home."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def most_megabytes() -> float:
    """Return the most memory that this process has had.

    Unlike the figure of getrusage, this one starts anew when a process starts another program.
    """
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1000
