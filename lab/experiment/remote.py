"""Runs that are played where the home cannot be reached: each in a home of its own, and then copied back."""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hobbes.lab.errors import HaltedRunError, LabError, UsageError
from hobbes.lab.experiment.executor import DiedError, Ledger
from hobbes.lab.loop import play_out
from hobbes.lab.play.playing import Shared, chats_of, go_on, halted
from hobbes.lab.store.copying import copy_run
from hobbes.lab.store.home import Store, open_store
from hobbes.lab.store.run import HOBBES, Run
from hobbes.lab.temporary import is_ours, temporary
from hobbes.nodes.caps import Caps, Spent

OF_OPENAI = "OPENAI_"
"""How the environment variables begin that OpenAI's client reads: server, key, headers, proxy."""

RUNS, PRICES = "runs.db", "prices.toml"
"""What of a home is needed to play one of its runs, and to know what that costs."""


@dataclass(frozen=True, slots=True)
class Task:
    """A run that is to be played. It is never written anywhere as a whole, since it has the keys."""

    run: str
    folder: str
    """How the name of the folder where it is played begins, which says from where the run goes on."""
    files: Mapping[str, bytes]
    variables: Mapping[str, str]
    """The environment variables that models need."""
    shared: Shared

    def __repr__(self) -> str:
        """Return the task without its keys."""
        return f"Task({self.run})"


class TaskResult(NamedTuple):
    """How a run was played: its run database, and the error with which it stopped, if it did."""

    rows: bytes
    error: LabError | None = None


def play_task(hobbes: str, node: str, task: Task) -> TaskResult:
    """Play a run to its end. `hobbes` is the version of whoever asks, `node` names this machine.

    If the task was begun before on this machine, it goes on from there. Its folder is kept until it ends.
    """
    if hobbes != HOBBES:
        versions = f"{node} has hobbes {HOBBES}, and this is hobbes {hobbes}"
        return TaskResult(b"", UsageError(f"{versions}; install the same version on all nodes"))
    os.environ.update(task.variables)
    home = _temporary()
    try:
        home = _home_of(task)
        error = _play(home, task)
        rows = (home / RUNS).read_bytes()
    except UsageError as wrong:
        return TaskResult(b"", UsageError(f"{node}: {wrong}"))
    except LabError as failure:
        return TaskResult(b"", DiedError(f"{node}: {failure}"))
    except OSError as failure:
        return TaskResult(b"", DiedError(f"{node}: cannot store runs in {home}: {failure.strerror}"))
    shutil.rmtree(home)
    return TaskResult(rows, error)


def _temporary() -> Path:
    """Return the folder for temporary files of this machine, even if its disk is full.

    `tempfile.gettempdir` would choose another folder then, and the run would not be found there next time.
    """
    return Path(os.environ.get("TMPDIR", "/tmp"))  # noqa: S108  where nothing is said


def _home_of(task: Task) -> Path:
    """Return the home of a task: where this user began it on this machine, or else a new one.

    Nobody else can guess its name or open it.
    """
    for begun in _temporary().glob(f"{task.folder}-*"):
        if is_ours(begun):
            return begun
    new = Path(tempfile.mkdtemp(prefix="hobbes-new-", dir=_temporary()))
    try:
        for name, content in task.files.items():
            (new / name).write_bytes(content)
        # Only now, so that no half of it is found if this process dies.
        return new.rename(new.with_name(new.name.replace("hobbes-new", task.folder)))
    except OSError:
        shutil.rmtree(new)
        raise


def _play(home: Path, task: Task) -> HaltedRunError | None:
    """Play a run of a home to its end. Return the error if it halts."""
    with open_store(home) as store:
        try:
            play_out(go_on(store, store.runs.find(task.run), lambda _: None, shared=task.shared))
        except HaltedRunError as error:
            return error
    return None


class Remote:
    """An executor that plays each run somewhere else.

    `submit` hands a task over, and `result` returns what came of it, or raises DiedError. `processors`
    returns how many tasks can be carried out at a time.
    """

    def __init__(
        self,
        submit: "Callable[[Task], Future[Any]]",
        result: "Callable[[Future[Any]], TaskResult]",
        processors: Callable[[], int],
        ledger: Callable[[Caps, Spent], Ledger],
    ) -> None:
        self._submit = submit
        self._result = result
        self._processors = processors
        self._under_way = 0
        self.ledger = ledger

    def room(self) -> int:
        """Return how many more runs may begin now."""
        return self._processors() - self._under_way

    def submit(self, store: Store, run: Run, shared: Shared) -> "Future[Any]":
        """Begin to play a run to its end."""
        calls = sum(store.figures.counts(run.id, "calls", "outcome").values())
        folder = f"hobbes-{run.id}-{calls}"
        future = self._submit(Task(run.id, folder, _files(store, run.id), _variables(run), shared))
        self._under_way += 1
        return future

    def ended(self, store: Store, run: str, future: "Future[Any]") -> None:
        """Take in a run that is not played any more."""
        self._under_way -= 1
        played = self._result(future)
        if played.rows:
            _take_in(store, run, played.rows)
        if isinstance(played.error, HaltedRunError):
            raise halted(store, run)
        if played.error:
            raise played.error


def _files(store: Store, run: str) -> dict[str, bytes]:
    """Return the files of a home that has this run alone, by their names."""
    with tempfile.TemporaryDirectory(dir=temporary()) as folder:
        with open_store(Path(folder)) as target:
            copy_run(store, target, run)
        files = {RUNS: (Path(folder) / RUNS).read_bytes()}
    if (prices := store.home / PRICES).exists():
        files[PRICES] = prices.read_bytes()
    return files


def _take_in(store: Store, run: str, rows: bytes) -> None:
    """Copy a run from a run database that came back."""
    with tempfile.TemporaryDirectory(dir=temporary()) as folder:
        (Path(folder) / RUNS).write_bytes(rows)
        with open_store(Path(folder)) as source, store.playing(run):
            copy_run(source, store, run)


def _variables(run: Run) -> dict[str, str]:
    """Return the environment variables that the models of a run need."""
    if not (chats := chats_of(run)):
        return {}
    keys = {settings.key_variable for settings in chats.values()}
    return {name: value for name, value in os.environ.items() if name in keys or name.startswith(OF_OPENAI)}
