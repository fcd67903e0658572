"""What a turn of policies and a call to a model cost in processor time, here and in another checkout.

`make bench BEFORE=FOLDER` names the other one, which has a virtual environment of its own; both are measured
alternately. A run is played with `hobbes run`, so the other may be of any version. Two runs of different
lengths are played, and the difference of their times is divided, so the start of the process does not count.
"""

import os
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.wire import HOBBES, served

AGENTS, SHORT, LONG, REPEATS = 10, 10, 60, 5
PLAYERS = ("policy:guided", "openai:policy/guided")


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table: milliseconds of a turn and of a call, here, before, and the ratio."""
    before = os.environ.get("BEFORE")
    checkouts = [HOBBES, Path(before) / ".venv" / "bin" / "hobbes"] if before else [HOBBES]
    repeats = [[_milliseconds(hobbes) for hobbes in checkouts] for _ in range(REPEATS)]
    whats = (
        f"processor ms of a turn of {AGENTS} policies",
        "processor ms of a call over HTTP, turn included",
    )
    rows: list[tuple[str, str, str]] = []
    for number, what in enumerate(whats):
        now, *there = (
            median(repeat[checkout][number] for repeat in repeats) for checkout in range(len(checkouts))
        )
        rows.append((what, f"{now:.2f}", ""))
        for then in there:
            rows += [("  before", f"{then:.2f}", ""), ("  ratio", f"{now / then:.2f}", "")]
    return rows


def _milliseconds(hobbes: Path) -> tuple[float, float]:
    """Return the milliseconds of processor time of a turn of policies, and of a call to a model."""
    # Each checkout has its own server, which reads the prompts of its version.
    with served(0, hobbes) as url:
        server = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
        policies, models = (_turn(hobbes, player, server) for player in PLAYERS)
    return policies, models / AGENTS


def _turn(hobbes: Path, model: str, server: dict[str, str]) -> float:
    """Return the milliseconds of a turn, apart from the start of the process."""
    short, long = (_seconds(hobbes, model, rounds, server) for rounds in (SHORT, LONG))
    return (long - short) * 1000 / (LONG - SHORT)


def _seconds(hobbes: Path, model: str, rounds: int, server: dict[str, str]) -> float:
    """Return the seconds of processor time of a run."""
    run = f"run mining --agents {AGENTS} --rounds {rounds} --model {model} --json".split()
    with tempfile.TemporaryDirectory() as home:
        before = os.times()
        subprocess.run(
            [hobbes, *run], env={**os.environ, **server, "HOBBES_HOME": home}, capture_output=True, check=True
        )
        after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system
