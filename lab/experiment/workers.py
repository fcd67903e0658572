"""Processes on this machine that play runs, one after the other, in the same home."""

import os
import resource
import sys
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

from hobbes.lab.experiment.budget import SharedBudget
from hobbes.lab.experiment.executor import DiedError
from hobbes.lab.experiment.forks import CONTEXT, get_ready
from hobbes.lab.experiment.rate_limiter import SharedRateLimiter
from hobbes.lab.experiment.retention import Retention
from hobbes.lab.experiment.settling import apply_retention
from hobbes.lab.loop import play_out
from hobbes.lab.play.playing import Shared, go_on
from hobbes.lab.store.home import Store, open_store
from hobbes.lab.store.run import Run
from hobbes.lab.temporary import temporary
from hobbes.nodes.caps import NO_CAPS, Caps, Spent

FILES_OF_PROCESS = 3
"""How many files this process has open for each one that it has started: a socket and two pipes."""

FILES_OF_REST = 20
"""How many files this process opens beside them at most, while it starts one or gathers what was played."""


@dataclass(frozen=True, slots=True)
class FileLedger:
    """What the runs of an experiment share, in files of this machine."""

    budget: SharedBudget | None
    limiter: SharedRateLimiter

    def of(self, run: str) -> Shared:
        """Return what a run shares."""
        return Shared(self.budget, self.limiter.of(run))

    def leave(self, run: str) -> None:
        """Note that what played a run has died, so that no request of the run is under way."""
        self.limiter.leave(run)

    def reached(self) -> str:
        """Return which cap is reached or cannot be enforced; empty if all allow another call."""
        return self.budget.reached() if self.budget else ""


def most_processes() -> int:
    """Return how many processes can play runs: at least one, and few enough for the limit of open files."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return sys.maxsize
    left = allowed - len(os.listdir("/dev/fd")) - FILES_OF_REST  # noqa: PTH208  counted, not opened
    return max(1, left // FILES_OF_PROCESS)


def ledger_in(folder: Path, caps: Caps, spent: Spent) -> FileLedger:
    """Return what the runs share, in files of a folder."""
    budget = None
    if caps != NO_CAPS:
        budget = SharedBudget(folder / "spent", caps)
        budget.begin(spent)
    return FileLedger(budget, SharedRateLimiter(folder))


class Worker:
    """A process that plays runs. If it dies, another one takes its place.

    It is no pool, whose semaphores would stay behind if all processes were killed at once: the system closes
    a pipe by itself.
    """

    def __init__(self, lifeline: Connection, keep: Retention) -> None:
        self._lifeline = lifeline
        self._keep = keep
        self._waiting = ThreadPoolExecutor(1)
        self._start()

    def _start(self) -> None:
        """Start the process."""
        self._tasks, theirs = Pipe()
        self._process = CONTEXT.Process(target=_work, args=(theirs, self._lifeline, dict(os.environ)))
        self._process.start()
        theirs.close()

    def submit(self, home: Path, run: str, shared: Shared) -> "Future[None]":
        """Play a run to its end. The future raises DiedError if the process dies."""
        return self._waiting.submit(self._carry_out, play_run, home, run, shared, self._keep)

    def _carry_out(self, *task: object) -> None:
        """Have the process call a function with arguments, and wait for its end."""
        if not self._process.is_alive():
            self._tasks.close()
            self._start()
        try:
            self._tasks.send(task)
            error: Exception | None = self._tasks.recv()
        except (EOFError, OSError) as death:
            self._process.join()
            raise DiedError("the process that played it died; see whether memory ran out") from death
        if error:
            raise error

    def end(self) -> None:
        """Wait for the end of the process."""
        self._waiting.shutdown()
        self._process.join()
        self._tasks.close()


class Processes:
    """Plays runs in processes of this machine."""

    def __init__(self, folder: Path, workers: list[Worker]) -> None:
        self._folder = folder
        self._free = workers
        self._busy: dict[Future[None], Worker] = {}

    def ledger(self, caps: Caps, spent: Spent) -> FileLedger:
        """Return what the runs share, with what has been spent so far."""
        return ledger_in(self._folder, caps, spent)

    def room(self) -> int:
        """Return how many more runs may begin now."""
        return len(self._free)

    def submit(self, store: Store, run: Run, shared: Shared) -> "Future[None]":
        """Begin to play a run to its end."""
        worker = self._free.pop()
        future = worker.submit(store.home, run.id, shared)
        self._busy[future] = worker
        return future

    def ended(self, _store: Store, _run: str, future: "Future[None]") -> None:
        """Take in a run that is not played any more. Raise its error, DiedError if its process died."""
        self._free.append(self._busy.pop(future))
        future.result()


@contextmanager
def processes(count: int, keep: Retention) -> Iterator[Processes]:
    """Yield an executor with so many processes, which settle what they play.

    They end with this process, whatever they do, also if it is killed.
    """
    get_ready()
    lifeline, held = Pipe(duplex=False)
    workers = [Worker(lifeline, keep) for _ in range(count)]
    try:
        with TemporaryDirectory(dir=temporary()) as folder:
            yield Processes(Path(folder), list(workers))
    finally:
        held.close()
        for worker in workers:
            worker.end()
        lifeline.close()


def _work(tasks: Connection, lifeline: Connection, variables: dict[str, str]) -> None:
    """Carry out the tasks that arrive, in a process of its own, and send back what each raised, or None."""
    _prepare(lifeline, variables)
    with suppress(EOFError):  # the parent has ended
        while True:
            call, *arguments = tasks.recv()
            try:
                call(*arguments)
            except Exception as error:  # noqa: BLE001  the parent raises it
                error.add_note(traceback.format_exc())  # which it would lose on its way
                tasks.send(error)
            else:
                tasks.send(None)


def _prepare(lifeline: Connection, variables: dict[str, str]) -> None:
    """Prepare a new process, which plays many runs, and ends with its parent.

    Its environment is that of its parent now, and not when the process was started that it is a fork of.
    """
    os.environ.clear()
    os.environ.update(variables)
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()


def _end_with_parent(lifeline: Connection) -> None:
    """End this process when the other end of a pipe, which only its parent holds, is closed."""
    lifeline.poll(None)
    os._exit(1)


def play_run(home: Path, run: str, shared: Shared, keep: Retention) -> None:
    """Play a run of a home to its end, gather what reports need of it, and keep what `keep` says."""
    with open_store(home) as store:
        play_out(go_on(store, store.runs.find(run), lambda _: None, shared=shared))
        apply_retention(store, run, keep)
