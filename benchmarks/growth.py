"""Whether a long run costs more per turn than a short one: time, memory and bytes, by the number of agents.

Each run is played by the policy `guided`, and verified, in a process of its own. The machine changes its
speed while the longest run is played, so runs of the fewest turns are played in between.
"""

import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from benchmarks._runs import apart, bytes_of, most_megabytes, play
from hobbes.nodes.turn_state import TurnState
from hobbes.prove.verification import verify
from hobbes.store.home import open_store

AGENTS = (2, 10, 100)
TURNS = (50, 500, 2000)
PARTS = 8
"""After each of so many parts of the longest run, another process plays a run of the fewest turns."""

REACH = 1.1
"""The figure of the longest run over that of the shortest that is aimed at."""


class Cost(NamedTuple):
    """What a run of some length cost."""

    milliseconds: float
    """Processor time per turn of playing the run, its end included."""
    beside: float
    """That of the runs of the fewest turns between its parts; NaN for a run that is not the longest."""
    megabytes: float
    """The most memory of the process that played and verified it."""
    kilobytes: float
    """Size of the closed home per turn."""


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table: the costs of each length, and those of the longest over the shortest."""
    rows = []
    for agents in AGENTS:
        costs = [apart(_cost, agents, turns) for turns in TURNS]
        lengths = " / ".join(f"{turns:,}" for turns in TURNS)
        rows.append((f"mining, {agents} agents, policy:guided, {lengths} turns", "", ""))
        shortest, longest = costs[0], costs[-1]
        for what, figures, growth in (
            (
                "milliseconds of processor time per turn",
                [cost.milliseconds for cost in costs],
                longest.milliseconds / longest.beside,
            ),
            (
                "megabytes of memory, played and verified",
                [cost.megabytes for cost in costs],
                longest.megabytes / shortest.megabytes,
            ),
            (
                "kilobytes per turn of the closed home",
                [cost.kilobytes for cost in costs],
                longest.kilobytes / shortest.kilobytes,
            ),
        ):
            rows.append((f"  {what}", " / ".join(f"{figure:.1f}" for figure in figures), ""))
            rows.append(("    longest over shortest", f"{growth:.2f}", f"<= {REACH:.2f}"))
    return rows


def _cost(agents: int, turns: int) -> Cost:
    """Return what a run costs beyond one of one turn, which has whatever every run needs once."""
    beside: list[float] = []

    def play_beside() -> None:
        if turns == max(TURNS):
            beside.append(apart(_milliseconds, agents))

    with tempfile.TemporaryDirectory() as folder:
        _play(folder, agents, 1)  # compiles and caches what later runs find
        empty = bytes_of(Path(folder))
        seconds_of_one = _play(folder, agents, 1)
        one = bytes_of(Path(folder))
        seconds = _play(folder, agents, turns, play_beside)
        whole = bytes_of(Path(folder))
        with open_store(Path(folder)) as home:
            for finding in verify(home, home.runs.find("last")):
                raise ValueError(finding)
    return Cost(
        milliseconds=(seconds - seconds_of_one) / (turns - 1) * 1000,
        beside=fmean(beside or [math.nan]),
        megabytes=most_megabytes(),
        kilobytes=((whole - one) - (one - empty)) / (turns - 1) / 1000,
    )


def _milliseconds(agents: int) -> float:
    """Return the processor time per turn of a run of the fewest turns."""
    turns = min(TURNS)
    with tempfile.TemporaryDirectory() as folder:
        _play(folder, agents, 1)
        return (_play(folder, agents, turns) - _play(folder, agents, 1)) / (turns - 1) * 1000


def _play(folder: str, agents: int, turns: int, beside: Callable[[], object] = lambda: None) -> float:
    """Play a run, and do something else after each of its parts.

    Return the seconds of processor time of playing it, without those of anything else.
    """
    elsewhere = 0.0

    def on_turn(state: TurnState) -> None:
        nonlocal elsewhere
        if state["turn"] and state["turn"] % max(1, turns // PARTS) == 0:
            began = time.process_time()
            beside()
            elsewhere += time.process_time() - began

    with open_store(Path(folder)) as home:
        began = time.process_time()
        play(home, agents, turns, "guided", on_turn)
        return time.process_time() - began - elsewhere
