"""Temporary files: in one folder for each process, which is removed even if the process was killed."""

import os
import shutil
import stat
from contextlib import suppress
from functools import cache
from multiprocessing.util import get_temp_dir
from pathlib import Path
from threading import Lock

from filelock import FileLock, Timeout

LOCK = "hobbes.lock"
"""The file that a process locks in its folder as long as it lives."""

_AT_A_TIME = Lock()
"""Lets one thread at a time ask for the folder."""


def temporary() -> Path:
    """Return the folder for the temporary files of this process. It is removed when the process ends.

    The first call also removes the folders of processes that were killed. The folder is the one that
    multiprocessing makes for its socket, which is only for this user, and has a name that cannot be guessed.
    """
    folder = Path(get_temp_dir())
    with _AT_A_TIME:
        _hold(folder)
    return folder


def is_ours(folder: Path) -> bool:
    """Return whether a path is a folder of this user, closed to all others."""
    about = folder.lstat()
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o077


@cache
def _hold(folder: Path) -> FileLock | None:
    """Hold the lock of a folder until this process ends. A process that shares its parent's need not."""
    _remove_what_is_left(folder.parent)
    if (folder / LOCK).exists():
        return None
    lock = FileLock(folder / "new.lock")
    lock.acquire()
    (folder / "new.lock").rename(folder / LOCK)  # so that nobody finds it before it is held
    return lock


def _remove_what_is_left(parent: Path) -> None:
    """Remove the folders whose locks no process holds any more."""
    for lock in parent.glob(f"pymp-*/{LOCK}"):
        with suppress(Timeout, OSError):  # it is in use, or another process is removing it
            if is_ours(lock.parent):
                with FileLock(lock, timeout=0):
                    shutil.rmtree(lock.parent)
