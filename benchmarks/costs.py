"""What a turn of policies and a call to a model cost in processor time, here and in another checkout.

`make bench BEFORE=FOLDER` names the other one, which has a virtual environment of its own; both are measured
alternately. A run is played with `hobbes run`, so the other may be of any version. Two runs of different
lengths are played, and the difference of their times is divided, so the start of the process does not count.
"""

import os
import subprocess
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from benchmarks.wire import HOBBES, served

AGENTS, SHORT, REPEATS = 10, 10, 3

LOADS = {
    f"processor ms of a turn of {AGENTS} policies": ("policy:guided", 510, 1),
    "processor ms of a call over HTTP, turn included": ("openai:policy/guided", 110, AGENTS),
}
"""What is measured: the player of all agents, the turns of a long run, and the calls of a turn."""


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table: milliseconds of a turn and of a call, here, before, and the ratio."""
    before = os.environ.get("BEFORE")
    checkouts = [HOBBES, Path(before) / ".venv" / "bin" / "hobbes"] if before else [HOBBES]
    rows: list[tuple[str, str, str]] = []
    for what, (player, turns, calls) in LOADS.items():
        now, *there = (milliseconds / calls for milliseconds in _turns(checkouts, player, turns))
        rows.append((what, f"{now:.2f}", ""))
        for then in there:
            rows += [("  before", f"{then:.2f}", ""), ("  ratio", f"{now / then:.2f}", "")]
    return rows


def _turns(checkouts: list[Path], player: str, turns: int) -> list[float]:
    """Return the milliseconds of a turn in each checkout, from the least time of each length of a run."""
    repeats = [[_short_and_long(hobbes, player, turns) for hobbes in checkouts] for _ in range(REPEATS)]
    least = [[min(times) for times in zip(*runs, strict=True)] for runs in zip(*repeats, strict=True)]
    return [(long - short) * 1000 / (turns - SHORT) for short, long in least]


def _short_and_long(hobbes: Path, player: str, turns: int) -> tuple[float, float]:
    """Return the seconds of processor time of a short run and of a long one."""
    # Each checkout has its own server, which reads the prompts of its version.
    with served(0, hobbes) as url:
        return _seconds(hobbes, player, SHORT, url), _seconds(hobbes, player, turns, url)


def _seconds(hobbes: Path, player: str, rounds: int, url: str) -> float:
    """Return the seconds of processor time of a run."""
    run = f"run mining --agents {AGENTS} --rounds {rounds} --model {player} --json".split()
    with tempfile.TemporaryDirectory() as home:
        variables = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "HOBBES_HOME": home}
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run([hobbes, *run], env=os.environ | variables, capture_output=True, check=True)
        after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
