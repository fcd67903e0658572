"""Decisions per second of whole runs, with every answer and turn recorded and one checkpoint per turn.

A profile follows: which part of the program takes the time. Scripted policies answer at once, so this is what
the laboratory itself costs.
"""

import cProfile
import pstats
import tempfile
import time
from collections import Counter
from operator import truediv
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from benchmarks._floors import langgraph_decisions_per_second
from hobbes.loop import play_out
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import open_store

REPEATS = 9

LOADS = (
    ("mining", 10, 50, "policy:guided"),
    ("mining", 20, 200, "policy:guided"),
    ("nations", 4, 100, None),
    ("trust", 2, 100, "policy:copykitten"),
)
"""World, agents, turns and players of each run."""

PROFILED = LOADS[1]

REACH = {("mining", 10): 0.45, ("mining", 20): 0.60}
"""The share of the floor's speed that is aimed at."""

PARTS = (
    ("SQLite itself: answers, turns, checkpoints", ("sqlite",)),
    ("waiting", ("select.",)),
    ("JSON", ("json",)),
    ("LangGraph and the event loop", ("langgraph", "langchain", "asyncio", "contextvars")),
    ("policies and their draws", ("polic", "engine/chance")),
    ("engine", ("/engine/", "pydantic", "dataclasses")),
    ("nodes", ("/nodes/", "/graphs/")),
    ("hobbes' own code for storing: rows, hashes, compression", ("/hobbes/",)),
)
"""The parts of the program, with texts that occur in a file's path or a C function's name.

A function belongs to the first part that matches.
"""

IN_C = "~"
"""The file that the profiler names for a function written in C."""

Load: TypeAlias = tuple[str, int, int, str | None]
Function: TypeAlias = tuple[str, int, str]
"""A function as the profiler names it: file, line, name."""


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table: decisions per second of each load, and each part's share of the time."""
    rows = [("decisions per second, all recorded", "", "")]
    for load in LOADS:
        world, agents, turns, _ = load
        reach = REACH.get((world, agents))
        speeds, floors, costs = [], [], []
        for _ in range(REPEATS):  # the floor takes turns with the run: its speed depends on the moment
            began = time.process_time()
            speeds.append(_play(load))
            costs.append((time.process_time() - began) * 1000 / turns)
            if reach:
                floors.append(_floor(agents, turns))
        rows.append((f"  {world}, {agents} agents x {turns} turns", f"{median(speeds):,.0f}", ""))
        rows.append(("    processor time a turn, ms", f"{min(costs):.1f}", ""))
        if reach:
            floor, share = median(floors), median(map(truediv, speeds, floors))
            rows.append(("    floor: one LangGraph node, a checkpoint per turn", f"{floor:,.0f}", ""))
            rows.append(("    share of the floor", f"{share:.2f}", f">= {reach:.2f}"))
    return [*rows, *((f"  {part}", f"{share:.0%}", "") for part, share in _shares())]


def _floor(agents: int, turns: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return langgraph_decisions_per_second(agents, turns, Path(folder))


def _play(load: Load) -> float:
    """Play a run in a new home. Return its decisions per second, without the opening of the database."""
    world, agents, turns, models = load
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder)) as home:
        run = begin(home, RunOptions(world, agents=agents, models=models, values={"rounds": turns}))
        began = time.perf_counter()
        play_out(go_on(home, run, lambda _: None))
        seconds = time.perf_counter() - began
        return sum(1 for _ in home.calls.decisions(run.id)) / seconds


def _shares() -> list[tuple[str, float]]:
    """Return each part's share of the time of a profiled run, the largest first."""
    profile = cProfile.Profile()
    profile.runcall(_play, PROFILED)
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
