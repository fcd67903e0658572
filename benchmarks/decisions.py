"""Decisions per second of a whole run, with every answer and turn recorded and one checkpoint per turn.

A profile follows: which part of the program takes the time. Scripted policies answer at once, so this is what
the laboratory itself costs.
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

AGENTS, ROUNDS, REPEATS = 20, 200, 3
TARGET = 1_000
"""Decisions per second."""

PARTS = (
    ("SQLite: answers, turns, checkpoints", ("sqlite",)),
    ("waiting for the checkpoint's thread", ("select.",)),
    ("JSON", ("json",)),
    ("LangGraph and the event loop", ("langgraph", "langchain", "asyncio", "contextvars")),
    ("policies and their draws", ("polic", "engine/chance")),
    ("engine", ("/engine/", "pydantic", "dataclasses")),
    ("nodes", ("/nodes/", "/graphs/")),
    ("run database", ("/lab/",)),
)
"""The parts of the program, with texts that occur in a file's path or a C function's name.

A function belongs to the first part that matches.
"""

IN_C = "~"
"""The file that the profiler names for a function written in C."""

Function: TypeAlias = tuple[str, int, str]
"""A function as the profiler names it: file, line, name."""


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table: decisions per second, and each part's share of the time."""
    _play(3)  # a warm-up, so that imports are not measured
    seconds = min(_play(ROUNDS) for _ in range(REPEATS))
    what = f"decisions per second, all recorded: {AGENTS} agents x {ROUNDS} rounds, policy:guided"
    rate = (what, f"{AGENTS * ROUNDS / seconds:,.0f}", f">= {TARGET:,}")
    return [rate, *((f"  {part}", f"{share:.0%}", "") for part, share in _shares())]


def _play(rounds: int) -> float:
    """Play a run in a new home. Return the seconds that it took, without opening the database."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder)) as home:
        request = RunOptions("mining", agents=AGENTS, models="policy:guided", values={"rounds": rounds})
        run = begin(home, request)
        began = time.perf_counter()
        asyncio.run(go_on(home, run, lambda _: None))
        return time.perf_counter() - began


def _shares() -> list[tuple[str, float]]:
    """Return each part's share of the time of a profiled run, the largest first."""
    profile = cProfile.Profile()
    profile.runcall(_play, ROUNDS)
    spent: Counter[str] = Counter()
    functions: dict[Function, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # typeshed lacks it
    for function, (_, _, own, _, callers) in functions.items():
        if function[0] == IN_C and _part(function) == "the rest":
            # An unknown C function, such as len, counts as time of the functions that call it.
            for caller, (_, _, share, _) in callers.items():
                spent[_part(caller)] += share
        else:
            spent[_part(function)] += own
    return [(part, seconds / spent.total()) for part, seconds in spent.most_common()]


def _part(function: Function) -> str:
    """Return the part of the program that a function belongs to."""
    place = function[2] if function[0] == IN_C else function[0]
    return next((part for part, marks in PARTS if any(mark in place for mark in marks)), "the rest")
