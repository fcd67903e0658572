"""Runs to be measured, and processes of their own to measure them in."""

import gc
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from lab.loop import play_out
from lab.play.playing import RunOptions, begin, go_on
from lab.store.database import Run, Store

T = TypeVar("T")


def apart(measured: Callable[..., T], *arguments: object) -> T:
    """Return what a function returns in a process of its own, whose memory nothing else has used.

    It collects garbage as rarely as this process does.
    """
    with multiprocessing.get_context("spawn").Pool(1, gc.set_threshold, gc.get_threshold()) as pool:
        return pool.apply(measured, arguments)


def play(
    home: Store,
    agents: int,
    turns: int,
    policy: str,
    on_turn: Callable[[object], None] = lambda _: None,
) -> Run:
    """Play a run of mining to its end, and return it."""
    models = f"policy:{policy}"
    run = begin(home, RunOptions("mining", agents=agents, models=models, values={"rounds": turns}))
    play_out(go_on(home, run, on_turn))
    return home.find(run.id)


def bytes_of(folder: Path) -> int:
    """Return the size of all files of a home."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
