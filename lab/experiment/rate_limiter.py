"""The limits of models over all runs of an experiment, also when several processes play them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock
from pydantic import TypeAdapter

from hobbes.engine.record import sha256
from hobbes.lab.experiment.budget import LOOK_SECONDS
from hobbes.nodes.limits import Limits, Place, Window

WINDOW = TypeAdapter(Window)


@dataclass(frozen=True, slots=True)
class SharedRateLimiter:
    """A rate limiter that counts the requests of an experiment in a folder that all its processes share.

    The system releases the lock of a process that dies. The requests that it had under way are ended by
    `leave`. Which process looks at the clock does not matter: it is the same one for the whole machine.
    """

    folder: Path
    run: str = ""
    """The run whose requests this process makes."""

    def of(self, run: str) -> "SharedRateLimiter":
        """Return the rate limiter for a run."""
        return replace(self, run=run)

    def begin(self, model: str, limits: Limits, tokens: int) -> Place | None:
        """Return the place of a request of about so many tokens; None if too many are under way."""
        with self._window(self._path(model)) as window:
            return window.begin(time.monotonic(), limits, tokens, self.run)

    def end(self, model: str, number: int, tokens: int) -> None:
        """Note that a request has ended, and the tokens that it had."""
        with self._window(self._path(model)) as window:
            window.end(time.monotonic(), number, tokens)

    def leave(self, run: str) -> None:
        """Note that the requests of a run are not under way any more: its process has died."""
        for path in self.folder.glob("*.json"):
            with self._window(path) as window:
                window.leave(run)

    def _path(self, model: str) -> Path:
        return self.folder / f"{sha256(model)}.json"

    @contextmanager
    def _window(self, path: Path) -> Iterator[Window]:
        """Yield the requests of a file, and keep what they are changed to. Meanwhile, others wait."""
        new = path.with_suffix(".new")
        with FileLock(path.with_suffix(".lock"), poll_interval=LOOK_SECONDS):
            if new.exists() and not path.exists():  # a process died between the last two lines
                new.rename(path)
            window = WINDOW.validate_json(path.read_bytes()) if path.exists() else Window()
            yield window
            new.write_bytes(WINDOW.dump_json(window))
            # To rename it onto the earlier file would make some file systems write both to the disk.
            path.unlink(missing_ok=True)
            new.rename(path)
