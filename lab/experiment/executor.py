"""What plays the runs of an experiment: a port with two adapters, the processes of this machine and Ray."""

from concurrent.futures import Future
from typing import Any, Protocol

from hobbes.lab.errors import LabError
from hobbes.lab.play.playing import Shared
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import Run
from hobbes.nodes.caps import Caps, Spent


class DiedError(LabError):
    """Whatever played a run died, or could not play it. Another try may succeed. The message says why."""


class Ledger(Protocol):
    """What the runs of an experiment share: a budget, and the limits of the models that they ask."""

    def of(self, run: str) -> Shared:
        """Return what a run shares."""

    def leave(self, run: str) -> None:
        """Note that what played a run has died, so that no request of the run is under way."""

    def reached(self) -> str:
        """Return which cap is reached or cannot be enforced; empty if all allow another call."""


class Executor(Protocol):
    """What plays runs of a home, several at a time."""

    def ledger(self, caps: Caps, spent: Spent) -> Ledger:
        """Return what the runs share, with what has been spent so far."""

    def room(self) -> int:
        """Return how many more runs may begin now."""

    def submit(self, store: Store, run: Run, shared: Shared) -> "Future[Any]":
        """Begin to play a run to its end."""

    def ended(self, store: Store, run: str, future: "Future[Any]") -> None:
        """Take in a run that is not played any more.

        Raise HaltedRunError if it halted, DiedError if it should be tried again, another LabError if no run
        of the experiment can be played.
        """
