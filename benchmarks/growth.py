"""Whether a long run costs more per turn than a short one: time, memory and bytes, by the number of agents.

Each run is played by the policy `guided`, and verified, in a process of its own.
"""

import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from benchmarks._runs import apart, bytes_of, play
from lab.proof.verifying import faults
from lab.store.database import open_store

AGENTS = (2, 10, 100)
TURNS = (50, 500, 2000)
SHORT = 200
"""A run is repeated if it has at most so many turns, because it is over so soon; the mean counts."""

REACH = 1.1
"""The figure of the longest run over that of the shortest that is aimed at."""


class Cost(NamedTuple):
    """What a run of some length cost."""

    milliseconds: float
    """Processor time per turn of playing the run, its end included."""
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
        for what, figures in (
            ("milliseconds of processor time per turn", [cost.milliseconds for cost in costs]),
            ("megabytes of memory, played and verified", [cost.megabytes for cost in costs]),
            ("kilobytes per turn of the closed home", [cost.kilobytes for cost in costs]),
        ):
            rows.append((f"  {what}", " / ".join(f"{figure:.1f}" for figure in figures), ""))
            rows.append(("    longest over shortest", f"{figures[-1] / figures[0]:.2f}", f"<= {REACH:.2f}"))
    return rows


def _cost(agents: int, turns: int) -> Cost:
    """Return what a run costs beyond one of one turn, which has whatever every run needs once."""
    with tempfile.TemporaryDirectory() as folder:
        _play(folder, agents, 1)  # compiles and caches what later runs find
        empty = bytes_of(Path(folder))
        seconds_of_one = _play(folder, agents, 1)
        one = bytes_of(Path(folder))
        seconds = _play(folder, agents, turns)
        whole = bytes_of(Path(folder))
        again = [_play(folder, agents, turns) for _ in range(SHORT // turns)]
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return Cost(
        milliseconds=(fmean([seconds, *again]) - seconds_of_one) / (turns - 1) * 1000,
        # Unlike that of getrusage, this figure starts anew when a process starts another program.
        megabytes=int(status["VmHWM"].split()[0]) / 1000,
        kilobytes=((whole - one) - (one - empty)) / (turns - 1) / 1000,
    )


def _play(folder: str, agents: int, turns: int) -> float:
    """Play a run and verify it. Return the seconds of processor time of playing it."""
    with open_store(Path(folder)) as home:
        began = time.process_time()
        run = play(home, agents, turns, "guided")
        seconds = time.process_time() - began
        for fault in faults(home, run):
            raise ValueError(fault)
    return seconds
