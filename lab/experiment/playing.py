"""Play the cells of an experiment, each as an ordinary run: what `hobbes experiment` does."""

import asyncio
from typing import Any, Protocol

from lab.errors import HaltedRunError
from lab.experiment.plan import Cell, Plan
from lab.play.playing import go_on, write
from lab.store.database import Run, Store
from lab.store.experiments import add_cell, keep_experiment, played_cells, runs_of_cells
from nodes.state import TurnState


class Progress(Protocol):
    """What is told about the cells while they are played."""

    def on_cell(self, run: Run, /) -> None:
        """Take the run that is played next."""

    def on_turn(self, state: TurnState, /) -> None:
        """Take the state that this run starts from, and then the state after each turn."""

    def on_ended(self) -> None:
        """Take that this run has ended."""


def missing(store: Store, made: Plan) -> list[Cell]:
    """Return the cells whose runs have not been played to their end."""
    runs = runs_of_cells(store, made.file.name)
    ended = {cell for cell, (_, status) in runs.items() if status == "finished"}
    return [cell for cell in made.cells if (cell.arm, cell.seed) not in ended]


def tainted_cells(store: Store, made: Plan) -> int:
    """Return how many of the cells that have been played are tainted."""
    planned = {(cell.arm, cell.seed) for cell in made.cells}
    found = played_cells(store, made.file.name)
    return sum(cell.tainted for cell in found if (cell.arm, cell.seed) in planned)


def play(store: Store, made: Plan, content: dict[str, Any], progress: Progress) -> None:
    """Play the cells that are missing, each from where it stands.

    Raise HaltedRunError if a run halts; the cells played so far are kept.
    """
    keep_experiment(store, made.file.name, made.world.name, content)
    for cell in missing(store, made):
        run = _run_of(store, cell)
        progress.on_cell(run)
        try:
            asyncio.run(go_on(store, run, progress.on_turn))
        except HaltedRunError as error:
            raise HaltedRunError(f"{cell.name}: {error}; then play the experiment again") from error
        progress.on_ended()


def _run_of(store: Store, cell: Cell) -> Run:
    """Return the run of a cell; begin it if there is none yet."""
    found = runs_of_cells(store, cell.experiment).get((cell.arm, cell.seed))
    if found is not None:
        return store.find(found[0])
    with store.db.atomic():  # so that no run is left without its cell
        begun = write(store, cell.new, cell.name)
        add_cell(store, cell.experiment, cell.arm, cell.seed, begun.id)
    return begun
