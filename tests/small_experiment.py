"""A small experiment for tests: its file, and how it is planned, played and reported."""

import re
from pathlib import Path

from typer.testing import CliRunner

from hobbes.cli import app
from hobbes.experiment.experiment_file import read_experiment_file
from hobbes.experiment.games import Ways, play_experiment
from hobbes.experiment.plan import Cell, Plan, plan
from hobbes.play.side_by_side import Progress
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run

FILE = """
name = "small"
world = "mining"
rounds = 4
agents = 3
seeds = 3
model = "policy:guided?noise=0.3*2,policy:random*1"
set = { rows = 4, cols = 4 }

[arms.open]

[arms.immune]
set = { immunity = 3 }

[compare]
baseline = "open"
"""


def written(folder: Path, text: str = FILE) -> Path:
    path = folder / "small.toml"
    path.write_text(text, encoding="utf-8")
    return path


class Quiet(Progress):
    """Is told about runs, and notes which were played."""

    def __init__(self) -> None:
        self.runs: list[str | None] = []

    def on_cell(self, run: Run) -> None:
        self.runs.append(run.name)


def planned(store: Store, path: Path) -> Plan:
    return plan(store, path, read_experiment_file(path)[0])


def play_all(
    store: Store, path: Path, progress: Quiet | None = None, ways: Ways | None = None
) -> list[str | None]:
    """Play an experiment; return the names of the runs that were played."""
    file, content = read_experiment_file(path)
    watched = progress or Quiet()
    play_experiment(store, plan(store, path, file), content, watched, ways or Ways())
    return watched.runs


def cell(made: Plan, arm: str, seed: int) -> Cell:
    return next(one for one in made.cells if (one.arm, one.seed) == (arm, seed))


def undated(document: str) -> str:
    """Return a report without the moment at which its plan was frozen."""
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", "a date", document)


def documents(home: Path) -> list[str]:
    """Return the undated report of the experiment in a home, in two forms."""
    there = {"HOBBES_HOME": str(home)}
    forms = (("--json",), ("--format", "html"))
    told = (CliRunner().invoke(app, ["report", "small", *form], env=there).stdout for form in forms)
    return [undated(text) for text in told]
