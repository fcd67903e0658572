"""Decisions a second of a whole run in process, every answer and turn recorded, a checkpoint a turn.

And a profile: which part of the program the time is spent in. A run of policies waits for no model, so this
is what the laboratory itself costs.
"""

import asyncio
import cProfile
import pstats
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, TypeAlias

from lab.play.playing import RunOptions, begin, go_on
from lab.store.database import open_store

AGENTS, ROUNDS, GOES = 20, 200, 3
WANTED = 1_000

PARTS = (
    ("SQLite: answers, turns, checkpoints", ("sqlite",)),
    ("waiting for the checkpoint's thread", ("select.",)),
    ("JSON", ("json",)),
    ("LangGraph and the event loop", ("langgraph", "langchain", "asyncio", "contextvars")),
    ("policies and their luck", ("polic", "engine/chance")),
    ("engine", ("/engine/", "pydantic", "dataclasses")),
    ("nodes", ("/nodes/", "/graphs/")),
    ("run database", ("/lab/",)),
)
"""The parts of the program, each known by marks in a file's path or a C function's name; the first counts."""

IN_C = "~"

Function: TypeAlias = tuple[str, int, str]
"""A function as the profiler names it: file (`~` for one written in C), line, name."""


def measure() -> list[tuple[str, str, str]]:
    """Give decisions a second, and each part's share of the time."""
    _play(3)
    seconds = min(_play(ROUNDS) for _ in range(GOES))
    what = f"decisions a second, all recorded: {AGENTS} agents x {ROUNDS} rounds, policy:guided"
    rate = (what, f"{AGENTS * ROUNDS / seconds:,.0f}", f">= {WANTED:,}")
    return [rate, *((f"  {part}", f"{share:.0%}", "") for part, share in _shares())]


def _play(rounds: int) -> float:
    """Play a run in a home of its own; give the seconds that it took, without opening the database."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder)) as home:
        request = RunOptions("mining", agents=AGENTS, models="policy:guided", values={"rounds": rounds})
        run = begin(home, request)
        began = time.perf_counter()
        asyncio.run(go_on(home, run, lambda _: None))
        return time.perf_counter() - began


def _shares() -> list[tuple[str, float]]:
    """Profile a run; give each part's share of the time, the largest first."""
    profile = cProfile.Profile()
    profile.runcall(_play, ROUNDS)
    spent: Counter[str] = Counter()
    functions: dict[Function, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # typeshed lacks it
    for function, (_, _, own, _, callers) in functions.items():
        if function[0] == IN_C and _part(function) == "the rest":
            # What is written in C is its callers' time.
            for caller, (_, _, share, _) in callers.items():
                spent[_part(caller)] += share
        else:
            spent[_part(function)] += own
    return [(part, seconds / spent.total()) for part, seconds in spent.most_common()]


def _part(function: Function) -> str:
    """Name the part of the program that a function belongs to."""
    place = function[2] if function[0] == IN_C else function[0]
    return next((part for part, marks in PARTS if any(mark in place for mark in marks)), "the rest")
