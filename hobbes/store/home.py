"""A home folder and its run database: one SQLite file that anyone can open (Datasette, pandas, DuckDB).

Everything is addressed by run, turn, agent and attempt. The rows of a turn are written in one transaction.
"""

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from filelock import BaseFileLock, FileLock, Timeout

from hobbes.errors import HobbesError, UsageError
from hobbes.files import check_path
from hobbes.graphs.database import BUSY_SECONDS, connect
from hobbes.store.calls import Calls
from hobbes.store.checked_connection import CheckedConnection, damaged_database, is_bug
from hobbes.store.command_line import command
from hobbes.store.figures import Figures
from hobbes.store.notes import NAME as NOTES
from hobbes.store.notes import Notes
from hobbes.store.runs import Runs, no_runs
from hobbes.store.schema import check_schema, create, for_writing
from hobbes.store.turns import Turns

CHECKPOINTS = "checkpoints.db"
"""The file of the checkpoints in a home."""

if TYPE_CHECKING:
    from sqlite_utils import Database

LOCK_SECONDS = 0.2
"""How long to wait for the lock of a run, which `Store.is_played` holds for a moment."""

PARTS = ("", "-wal", "-journal")
"""How the names of the files of a database end: the database, and what is not in it yet or not any more."""

UNWRITABLE = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO),
    *(errno.EEXIST, errno.EISDIR, errno.ELOOP),
}
"""Errors of the file system that are not bugs: the user can do something about them."""


class Store:
    """The open run database of a home folder: its runs, their turns, calls and figures, and its notes.

    `folder` has the files of the databases: it is the home, or a copy of one that is read-only.
    """

    def __init__(self, home: Path, folder: Path, connection: sqlite3.Connection) -> None:
        self.home = home
        self.folder = folder
        self.connection = connection
        self.runs = Runs(home, connection)
        self.turns = Turns(connection)
        self.notes = Notes(folder)
        self.calls = Calls(connection, self.runs, self.turns)
        self.figures = Figures(connection, self.runs, self.turns, self.calls)

    @cached_property
    def db(self) -> "Database":
        """The same connection as sqlite-utils sees it."""
        return for_writing(self.connection)

    def close(self) -> None:
        """Close the database."""
        self.connection.close()

    def check_pages(self) -> None:
        """Raise DamagedError if SQLite finds damage anywhere in the run database. The whole file is read."""
        ((problem,),) = self.connection.execute("pragma quick_check(1)")
        if problem != "ok":
            raise damaged_database(problem)

    def command(self, *words: object) -> str:
        """Return a `hobbes` command line for this home folder, quoted for a shell."""
        return command(self.home, *words)

    @contextmanager
    def as_of_now(self) -> Iterator[None]:
        """Read everything as of one moment, also while other processes write."""
        self.connection.execute("begin")
        try:
            yield
        finally:
            self.connection.rollback()

    def playing(self, run: str) -> AbstractContextManager[None]:
        """Lock a run against other processes."""
        return self.locked(run, f"run {run} is being played")

    @contextmanager
    def locked(self, name: str, words: str) -> Iterator[None]:
        """Hold a lock of the home against other processes; it is released when this process ends.

        Raise HobbesError if another one holds it; `words` say what that does.
        """
        try:
            held = self._lock(name).acquire(timeout=LOCK_SECONDS)
        except Timeout as error:
            raise HobbesError(f"{words} by another process; wait for it to end") from error
        with held:
            yield

    def _lock(self, name: str) -> BaseFileLock:
        return FileLock(self.home / "locks" / f"{name}.lock", mode=0o644)

    def is_played(self, run: str) -> bool:
        """Return whether a process is playing a run now."""
        lock = self._lock(run)
        try:
            with lock.acquire(timeout=0):
                return False
        except Timeout:
            return True
        except OSError:  # in a read-only home
            return False


@contextmanager
def open_store(home: Path, *, writes: bool = True) -> Iterator[Store]:
    """Open the run database of a home folder; create it if it is new.

    Without `writes`, runs are only read. Then a home that is missing or read-only is fine, and stays as it
    is: what it holds is read from a copy. Raise UsageError if it is no folder, HobbesError if it cannot be
    used.
    """
    if any(path.exists() and not path.is_dir() for path in (check_path(home, "home"), *home.parents)):
        raise UsageError(f"{home} is not a folder; choose another folder with --home")
    with nullcontext(home) if writes or is_writable(home) else _copy_of(home) as folder:
        yield from _open(home, folder)


def is_writable(home: Path) -> bool:
    """Return whether this process may write to the run database of a home."""
    effective = os.access in os.supports_effective_ids
    return all(os.access(path, os.W_OK, effective_ids=effective) for path in (home, home / "runs.db"))


@contextmanager
def _copy_of(home: Path) -> Iterator[Path]:
    """Yield a temporary folder with the databases of a home, as SQLite needs to write to read them."""
    with TemporaryDirectory() as folder:
        for name in (f"{database}{part}" for database in ("runs.db", NOTES) for part in PARTS):
            if (home / name).exists():
                shutil.copyfile(home / name, Path(folder) / name)
        yield Path(folder)


def _open(home: Path, folder: Path) -> Iterator[Store]:
    """Yield the store of a home folder, whose files are in `folder`."""
    try:
        (folder / "locks").mkdir(parents=True, exist_ok=True)
        with closing(connect(folder / "runs.db", factory=CheckedConnection)) as connection:
            # SQLite does not wait for another process that switches the same new file to WAL.
            with FileLock(folder / "locks" / "runs.lock", timeout=BUSY_SECONDS):
                exists = check_schema(connection, home)
                connection.execute("pragma journal_mode = wal")
                connection.execute("pragma synchronous = normal")
                if not exists:
                    create(connection)
            connection.execute("pragma foreign_keys = on")
            yield Store(home, folder, connection)
    except sqlite3.DatabaseError as error:
        if is_bug(error):
            raise
        raise HobbesError(
            f"cannot use {home}/runs.db or checkpoints.db: {error}; the answers are kept; "
            "free disk space if the disk is full, or choose another folder with --home"
        ) from error
    except OSError as error:
        if error.errno not in UNWRITABLE or error.filename is None:
            raise  # a bug, or an error of the output
        raise HobbesError(
            f"cannot store runs in {home}: {error}; choose another folder with --home"
        ) from error


def read_store(home: Path) -> Store:
    """Return the run database of a home folder for reading, to be closed by the caller; nothing is created.

    Raise MissingError if there is none, DamagedError if it is damaged, HobbesError if it cannot be read.
    """
    path = check_path(home, "home") / "runs.db"
    if not path.is_file():
        raise no_runs(home)
    # Garbage collection may close it in another thread.
    connection = connect(path, check_same_thread=False, factory=CheckedConnection)
    try:
        connection.execute("pragma query_only = on")
        if not check_schema(connection, home):
            raise no_runs(home)
    except (HobbesError, sqlite3.DatabaseError) as error:
        connection.close()
        if isinstance(error, HobbesError):
            raise
        raise HobbesError(f"cannot read {path}: {error}") from error
    return Store(home, home, connection)
