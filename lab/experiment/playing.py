"""Play the cells of an experiment, each as an ordinary run: what `hobbes experiment` does."""

import os
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from filelock import FileLock, Timeout

from hobbes.lab.errors import HaltedRunError, LabError, UsageError
from hobbes.lab.experiment.executor import DiedError, Executor, Ledger
from hobbes.lab.experiment.gathering import add_runs, spent_by
from hobbes.lab.experiment.plan import Cell, Plan
from hobbes.lab.experiment.retention import Retention
from hobbes.lab.experiment.settling import apply_retention, settle_again
from hobbes.lab.experiment.workers import ledger_in, most_processes, processes
from hobbes.lab.loop import play_out
from hobbes.lab.play.playing import go_on, write
from hobbes.lab.store.experiments import (
    add_cell,
    keep_experiment,
    played_cells,
    runs_of_cells,
    turns_of_runs,
)
from hobbes.lab.store.home import LOCK_SECONDS, Store
from hobbes.lab.store.prices import prices_of
from hobbes.lab.store.run import Run
from hobbes.lab.store.traces import with_traces
from hobbes.lab.temporary import temporary
from hobbes.nodes.caps import NO_CAPS, Caps, Spent
from hobbes.nodes.state import TurnState

LOOK_SECONDS = 0.5
"""How often the turns of runs that other processes play are looked up."""

CLUSTERS, CLIENT = ("ray", "auto"), "ray://"
"""Names of clusters, and how the address of one begins."""

MOST_FAILURES = 3
"""How often a cell is begun and dies, wherever it is played, before it is given up."""


class Progress(Protocol):
    """What is told about the cells while they are played."""

    def on_cell(self, run: Run, /) -> None:
        """Take a run that is played now; again if its process died."""

    def on_turn(self, run: str, turns: int, /) -> None:
        """Take how many turns of a run have been played."""

    def on_died(self, cell: str, why: str, /) -> None:
        """Take why a cell could not be played to its end, and is tried again."""

    def on_ended(self, run: str, /) -> None:
        """Take that a run has ended, or is given up."""


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


def play_experiment(  # noqa: PLR0913, PLR0917  how it is played is no part of what is played
    store: Store,
    made: Plan,
    content: dict[str, Any],
    progress: Progress,
    jobs: int | None = 1,
    caps: Caps = NO_CAPS,
    keep: Retention = Retention.all,
    on: str | None = None,
) -> None:
    """Play the cells that are missing, each from where it stands, as many at a time as `jobs` says.

    `on` names a Ray cluster (lab/experiment/cluster.py); without it, they are played by processes of this
    machine. By default, there are as many jobs as processors.

    When a run has finished, what reports need of it is gathered. Then `keep` says whether its traces stay.
    What was gathered becomes tables at the end, and also after an error.

    The caps hold over all cells, with what those have cost that were played before. Seconds cannot be capped.
    The limits of models hold over all cells that are played now. Raise HaltedRunError if a run halts or a cap
    is reached, LabError if a cell could not be played, however often it was tried, or if another process
    plays the experiment now; the cells played so far are kept.
    """
    elsewhere = _cluster(on, jobs) if on else None
    with _locked(store, made.file.name):
        keep_experiment(store, made.file.name, made.world.name, content)
        cells = missing(store, made)
        if keep is not Retention.all:
            settle_again(store, made, keep)
        spent = Spent() if caps == NO_CAPS else _spent(store, made)
        count = min(jobs or os.cpu_count() or 1, len(cells), most_processes())
        try:
            if elsewhere is None and count <= 1:
                with TemporaryDirectory(dir=temporary()) as folder:
                    ledger: Ledger = ledger_in(Path(folder), caps, spent)
                    with _told_of_caps(ledger):
                        _play_here(ledger, store, cells, _Settling(store, keep, progress))
            elif cells:
                with elsewhere or processes(count, keep) as executor:
                    told = _Settling(store, keep, progress) if elsewhere else progress
                    ledger = executor.ledger(caps, spent)
                    with _told_of_caps(ledger):
                        _play_in(executor, ledger, store, _longest_first(cells), told)
        except LabError:
            add_runs(store, made.file.name, made.world)
            raise
        add_runs(store, made.file.name, made.world)


@contextmanager
def _locked(store: Store, name: str) -> Iterator[None]:
    """Lock an experiment against other processes; the lock is released when this process ends.

    Otherwise, each of two processes would stop at the first run that the other one plays.
    """
    lock = FileLock(store.home / "locks" / f"experiment-{name}.lock", mode=0o644)
    try:
        lock.acquire(timeout=LOCK_SECONDS)
    except Timeout as error:
        raise LabError(f"experiment {name} is being played by another process; wait for it to end") from error
    try:
        yield
    finally:
        lock.release()


def _cluster(on: str, jobs: int | None) -> AbstractContextManager[Executor]:
    """Return an executor of a Ray cluster. Raise UsageError if there is no such thing, or no Ray."""
    if on not in CLUSTERS and not on.startswith(CLIENT):
        raise UsageError(f"--on {on}: write {', '.join(CLUSTERS)} or {CLIENT}HOST:PORT")
    try:
        from hobbes.lab.experiment.cluster import cluster  # noqa: PLC0415  slow to import, and an extra
    except ImportError as error:
        raise UsageError(
            f"--on {on} needs Ray; install it in the checkout: pip install -e '.[ray]'"
        ) from error
    return cluster(on, jobs)


def _spent(store: Store, made: Plan) -> Spent:
    """Return what the cells have cost so far."""
    total, prices = Spent(), prices_of(store.home)
    runs = dict(runs_of_cells(store, made.file.name).values())
    finished = {run for run, status in runs.items() if status == "finished"}
    dropped = finished - with_traces(store, finished)
    costs = [store.figures.spent(store.runs.find(run), prices) for run in runs if run not in dropped]
    costs += spent_by(store, made.file.name, made.world, dropped)
    for one in costs:
        total.calls += one.calls
        total.add(one.tokens, one.usd)
    return total


class _Settling:
    """Settles each run that has finished, and tells it on."""

    def __init__(self, store: Store, keep: Retention, progress: Progress) -> None:
        self._store, self._keep, self._progress = store, keep, progress
        self.on_cell = progress.on_cell
        self.on_turn = progress.on_turn
        self.on_died = progress.on_died

    def on_ended(self, run: str) -> None:
        """Take that a run has ended, or is given up."""
        if self._store.runs.find(run).status == "finished":
            apply_retention(self._store, run, self._keep)
        self._progress.on_ended(run)


@contextmanager
def _told_of_caps(ledger: Ledger) -> Iterator[None]:
    """Raise HaltedRunError of the experiment in place of that of the run that reached one of its caps."""
    try:
        yield
    except HaltedRunError as error:
        if reason := ledger.reached():
            raise HaltedRunError(
                f"{reason} by the experiment; play it again with a higher cap to go on"
            ) from error
        raise


def _play_here(ledger: Ledger, store: Store, cells: Sequence[Cell], progress: Progress) -> None:
    """Play cells in this process, one after the other."""
    for cell in cells:
        run = _run_of(store, cell)
        progress.on_cell(run)

        def on_turn(state: TurnState, run: Run = run) -> None:
            progress.on_turn(run.id, state["turn"])

        try:
            play_out(go_on(store, run, on_turn, shared=ledger.of(run.id)))
        except HaltedRunError as error:
            raise _halted(cell, error) from error
        progress.on_ended(run.id)


def _longest_first(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells, and of each seed the longest ones first: at the end, nobody waits long for the last.

    The seeds stay in their order, so that an experiment that stops has whole pairs.
    """
    places = {seed: place for place, seed in enumerate(dict.fromkeys(cell.seed for cell in cells))}

    def place(cell: Cell) -> tuple[int, int]:
        setting = cell.new.setting
        return places[cell.seed], -setting.config.rounds * len(setting.agents)

    return sorted(cells, key=place)


def _play_in(
    executor: Executor, ledger: Ledger, store: Store, cells: Sequence[Cell], progress: Progress
) -> None:
    """Play cells with an executor.

    After an error that another try cannot repair, no further cell begins, and those under way are played on:
    their answers may have been paid for.
    """
    waiting, played = deque(cells), dict[Future[Any], tuple[Cell, str]]()
    failures, lost = Counter[str](), list[str]()
    over: list[str] = []
    stopped: LabError | None = None
    while waiting or played or over:
        while waiting and executor.room() > 0:
            cell = waiting.popleft()
            run = _run_of(store, cell)
            progress.on_cell(run)
            played[executor.submit(store, run, ledger.of(run.id))] = cell, run.id
        while over:  # only now, since this may take a while and nobody should wait for it
            progress.on_ended(over.pop())
        ended, _ = wait(played, LOOK_SECONDS, FIRST_COMPLETED)
        _tell_turns(store, [run_id for _, run_id in played.values()], progress)
        for future in ended:
            cell, run_id = played.pop(future)
            error = _error_of(executor, store, cell, run_id, future)
            if isinstance(error, DiedError):
                ledger.leave(run_id)
                failures[cell.name] += 1
                if failures[cell.name] < MOST_FAILURES and not stopped:
                    progress.on_died(cell.name, str(error))
                    waiting.appendleft(cell)
                    continue
                lost.append(f"{cell.name} ({error})")
            elif error:
                stopped = stopped or error
                waiting.clear()
            over.append(run_id)
    if stopped:
        raise stopped
    if lost:
        raise LabError(
            f"these runs failed {MOST_FAILURES} times each: {', '.join(lost)}; all other runs have been "
            "played; play the experiment again to go on"
        )


def _tell_turns(store: Store, runs: Sequence[str], progress: Progress) -> None:
    """Tell how many turns of these runs have been played."""
    for run, turns in turns_of_runs(store, runs).items():
        progress.on_turn(run, turns)


def _error_of(
    executor: Executor, store: Store, cell: Cell, run: str, future: "Future[Any]"
) -> LabError | None:
    """Take in a run that is not played any more. Return the error with which it ended, if it did."""
    try:
        executor.ended(store, run, future)
    except HaltedRunError as error:
        return _halted(cell, error)
    except LabError as error:
        return error
    return None


def _halted(cell: Cell, error: HaltedRunError) -> HaltedRunError:
    """Return the error of a run that halted as one of the experiment."""
    return HaltedRunError(f"{cell.name}: {error}; then play the experiment again")


def _run_of(store: Store, cell: Cell) -> Run:
    """Return the run of a cell; begin it if there is none yet."""
    found = runs_of_cells(store, cell.experiment).get((cell.arm, cell.seed))
    if found is not None:
        return store.runs.find(found[0])
    with store.db.atomic():  # so that no run is left without its cell
        begun = write(store, cell.new, cell.name)
        add_cell(store, cell.experiment, cell.arm, cell.seed, begun.id)
    return begun
