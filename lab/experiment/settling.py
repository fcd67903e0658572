"""What is done with the runs of an experiment that have finished."""

from hobbes.lab.experiment.gathering import gather, gathered_runs
from hobbes.lab.experiment.plan import Plan
from hobbes.lab.experiment.retention import Retention
from hobbes.lab.store.experiments import played_cells
from hobbes.lab.store.home import Store
from hobbes.lab.store.traces import drop_traces, with_traces


def apply_retention(store: Store, run: str, keep: Retention) -> None:
    """Gather what reports need of a run that has finished, and drop its traces unless they are kept."""
    if gather(store, run):
        _drop(store, run, keep)


def settle_again(store: Store, made: Plan, keep: Retention) -> None:
    """Drop the traces of runs that have finished before, in a call that kept them or was stopped."""
    cells = list(played_cells(store, made.file.name))
    left = with_traces(store, [cell.id for cell in cells])
    for arm in dict.fromkeys(cell.arm for cell in cells):
        of_arm = [cell for cell in cells if cell.arm == arm and cell.id in left]
        for run in sorted(gathered_runs(store, made.file.name, made.world, arm, of_arm)):
            _drop(store, run, keep)


def _drop(store: Store, run: str, keep: Retention) -> None:
    if not keep.keeps_traces(tainted=bool(store.figures.about(run)["tainted"])):
        drop_traces(store, run)
