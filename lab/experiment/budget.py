"""The caps of an experiment, which hold over all its runs, also when several processes play them."""

import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from hobbes.nodes.caps import Caps, Spent, reached

SPENT = struct.Struct("3d")
"""Calls, tokens and dollars; a sum that is unknown is not a number."""

LOOK_SECONDS = 0.001
"""How often a process looks whether another one has released a lock, which it holds for less than that."""


@dataclass(frozen=True, slots=True)
class SharedBudget:
    """What the runs of an experiment may cost together, counted in a file that all its processes share.

    The system releases the lock of a process that dies, and what that process has counted stays counted.
    """

    path: Path
    caps: Caps

    def begin(self, spent: Spent) -> None:
        """Begin with what the experiment has cost so far."""
        self.path.write_bytes(_packed(spent))

    def take(self) -> str:
        """Count one more call. Return which cap does not allow it, empty if all do."""
        with self._spent() as spent:
            reason = reached(self.caps, spent)
            spent.calls += not reason
        return reason

    def add(self, tokens: int | None, usd: float | None) -> None:
        """Add the cost of a call that has ended; None stands for what is unknown."""
        with self._spent() as spent:
            spent.add(tokens, usd)

    def reached(self) -> str:
        """Return which cap is reached or cannot be enforced; empty if all allow another call."""
        with self._spent() as spent:
            return reached(self.caps, spent)

    @contextmanager
    def _spent(self) -> Iterator[Spent]:
        """Yield what has been spent, and keep what it is changed to. Meanwhile, other processes wait."""
        with (
            FileLock(f"{self.path}.lock", poll_interval=LOOK_SECONDS),
            self.path.open("r+b", buffering=0) as file,
        ):
            calls, tokens, usd = SPENT.unpack(file.read())
            spent = Spent(
                int(calls), None if math.isnan(tokens) else int(tokens), None if math.isnan(usd) else usd
            )
            yield spent
            file.seek(0)
            file.write(_packed(spent))


def _packed(spent: Spent) -> bytes:
    tokens, usd = (math.nan if sum_ is None else sum_ for sum_ in (spent.tokens, spent.usd))
    return SPENT.pack(spent.calls, tokens, usd)
