"""Processes that play runs, one after the other, in the same home."""

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path

from lab.experiment.gathering import gather
from lab.play.playing import go_on
from lab.store.database import open_store
from nodes.caps import Budget, Meter


class Worker:
    """A process that plays runs. If it dies, another one takes its place.

    It is a pool of one process, because of several processes in a pool all end when one dies.
    """

    def __init__(self, lifeline: Connection) -> None:
        self._lifeline = lifeline
        self._pool = self._started()

    def _started(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, get_context("spawn"), _prepare, (self._lifeline, gc.get_threshold()))

    def play(self, home: Path, run: str, budget: Budget | None) -> "Future[None]":
        """Play a run to its end. The future raises BrokenProcessPool if the process dies."""
        # The process is started here. It does not hear Ctrl-C, which is for this process: it ends the others.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            try:
                return self._pool.submit(play_run, home, run, budget)
            except BrokenProcessPool:
                self._pool.shutdown()
                self._pool = self._started()
                return self._pool.submit(play_run, home, run, budget)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def end(self) -> None:
        """Wait for the end of the process."""
        self._pool.shutdown()


@contextmanager
def workers(count: int) -> Iterator[list[Worker]]:
    """Yield workers. At the end, and also if this process is killed, they end, whatever they are doing."""
    lifeline, held = Pipe(duplex=False)
    started = [Worker(lifeline) for _ in range(count)]
    try:
        yield started
    finally:
        held.close()
        for worker in started:
            worker.end()
        lifeline.close()


def _prepare(lifeline: Connection, threshold: tuple[int, int, int]) -> None:
    """Prepare a new process: it collects garbage as rarely as its parent does, and ends with it."""
    gc.set_threshold(*threshold)
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()


def _end_with_parent(lifeline: Connection) -> None:
    """End this process when the other end of a pipe, which only its parent holds, is closed."""
    lifeline.poll(None)
    os._exit(1)


def play_run(home: Path, run: str, budget: Budget | None) -> None:
    """Play a run of a home to its end, and gather what reports of its experiment need of it."""

    def on_meter(meter: Meter) -> None:
        meter.budget = budget

    with open_store(home) as store:
        asyncio.run(go_on(store, store.find(run), lambda _: None, on_meter))
        gather(store, run)
