"""Commands in processes of their own that start at once: forks of a process that has imported hobbes.

A process that imports hobbes itself takes a second of processor time before it does anything.
"""

import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import NamedTemporaryFile

from hobbes import cli
from hobbes.experiment import games, worker_processes  # noqa: F401  it is imported before the first fork
from hobbes.experiment.worker_processes import CONTEXT

ROOT = Path(__file__).parents[1]


class Command:
    """A running command, with what tests use of `subprocess.Popen`."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        worker_processes.get_ready()
        reader, writer = CONTEXT.Pipe(duplex=False)
        with NamedTemporaryFile(delete=False) as file:
            self._errors = Path(file.name)
        weakref.finalize(self, self._errors.unlink)
        of_run = (arguments, dict(environment), writer, self._errors)
        self._process = CONTEXT.Process(target=_run, args=of_run)
        self._process.start()
        self.stdout = os.fdopen(os.dup(reader.fileno()), encoding="utf-8")
        writer.close()
        reader.close()

    @property
    def returncode(self) -> int | None:
        """The exit code, negative if a signal ended it; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once it has ended; raise subprocess.TimeoutExpired if it takes longer."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("hobbes", timeout or 0)
        return self._process.exitcode

    def communicate(self) -> tuple[str, str]:
        """Return what it prints until it ends, and its errors."""
        told = self.stdout.read()
        self.wait()
        return told, self._errors.read_text(encoding="utf-8")

    def send_signal(self, number: int) -> None:
        if self._process.exitcode is None and self._process.pid is not None:
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _run(arguments: Sequence[str], environment: Mapping[str, str], writer: Connection, errors: Path) -> None:
    """Be the command: with this environment, an output of its own, and Ctrl-C as a terminal sends it."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    os.dup2(writer.fileno(), 1)
    os.dup2(os.open(errors, os.O_WRONLY), 2)
    writer.close()
    sys.stdout, sys.stderr = os.fdopen(1, "w", encoding="utf-8"), os.fdopen(2, "w", encoding="utf-8")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    sys.argv = ["hobbes", *arguments]
    cli.main()
