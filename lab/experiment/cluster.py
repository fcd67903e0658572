"""Ray: the runs of an experiment are played on the nodes of a cluster, or of one that is started here."""

import logging
import os
import platform
import re
import socket
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from hobbes.lab.errors import LabError, UsageError
from hobbes.lab.experiment.executor import DiedError
from hobbes.lab.experiment.remote import Remote, Task, TaskResult, play_task
from hobbes.lab.play.playing import Shared
from hobbes.lab.store.run import HOBBES
from hobbes.nodes.caps import NO_CAPS, Caps, Spent, reached
from hobbes.nodes.limits import Limits, Place, Window
from hobbes.nodes.secrecy import safe_line

OBJECTS = 128 * 2**20
"""Bytes of memory for the runs that come back, on a cluster of this machine; Ray writes more to the disk."""


class SharedMeter:
    """What the runs of an experiment share, in the memory of one process of the cluster."""

    def __init__(self, caps: Caps, spent: Spent) -> None:
        self._caps, self._spent = caps, spent
        self._windows = defaultdict[str, Window](Window)

    def take(self) -> str:
        """Count one more call. Return which cap does not allow it, empty if all do."""
        reason = self.reached()
        self._spent.calls += not reason
        return reason

    def add(self, tokens: int | None, usd: float | None) -> None:
        """Add the cost of a call that has ended."""
        self._spent.add(tokens, usd)

    def reached(self) -> str:
        """Return which cap is reached or cannot be enforced; empty if all allow another call."""
        return reached(self._caps, self._spent)

    def begin(self, model: str, limits: Limits, tokens: int, run: str) -> Place | None:
        """Return the place of a request; None if too many are under way."""
        return self._windows[model].begin(time.monotonic(), limits, tokens, run)

    def end(self, model: str, number: int, tokens: int) -> None:
        """Note that a request has ended, and the tokens that it had."""
        self._windows[model].end(time.monotonic(), number, tokens)

    def leave(self, run: str) -> None:
        """Note that no request of a run is under way."""
        for window in self._windows.values():
            window.leave(run)


@dataclass(frozen=True, slots=True)
class RemoteBooks:
    """The budget and the rate limiter of a run, and the ledger of an experiment: one process answers all."""

    books: Any
    capped: bool
    run: str = ""

    def of(self, run: str) -> Shared:
        """Return what a run shares."""
        own = RemoteBooks(self.books, self.capped, run)
        return Shared(own if self.capped else None, own)

    def leave(self, run: str) -> None:
        """Note that what played a run has died, so that no request of the run is under way."""
        self._ask("leave", run)

    def take(self) -> str:
        """Count one more call. Return which cap does not allow it, empty if all do."""
        return str(self._ask("take"))

    def add(self, tokens: int | None, usd: float | None) -> None:
        """Add the cost of a call that has ended; None stands for what is unknown."""
        self._ask("add", tokens, usd)

    def reached(self) -> str:
        """Return which cap is reached or cannot be enforced; empty if all allow another call."""
        return str(self._ask("reached"))

    def begin(self, model: str, limits: Limits, tokens: int) -> Place | None:
        """Return the place of a request of about so many tokens; None if too many are under way."""
        place: Place | None = self._ask("begin", model, limits, tokens, self.run)
        return place

    def end(self, model: str, number: int, tokens: int) -> None:
        """Note that a request has ended, and the tokens that it had."""
        self._ask("end", model, number, tokens)

    def _ask(self, method: str, *arguments: object) -> Any:  # noqa: ANN401  what the method returns
        """Return what the process says. Raise LabError if it has died."""
        try:
            return ray.get(getattr(self.books, method).remote(*arguments))
        except RayError as error:
            raise LabError(
                f"the process that counts the calls of all runs does not answer: {_in_short(error)}; "
                "play the experiment again to go on"
            ) from error


@contextmanager
def cluster(on: str, jobs: int | None) -> Iterator[Remote]:
    """Yield an executor on the processors of a cluster; `jobs` is the most runs that are played at a time.

    `on` is `ray` for a cluster that is started here and ended with this process, `auto` for the one that this
    machine belongs to, or `ray://HOST:PORT`. Raise LabError if there is none.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    _connect(on, jobs)
    nodes = Nodes(jobs)
    try:
        yield Remote(nodes.submit, nodes.result, nodes.processors, _ledger)
    finally:
        ray.shutdown()


def _connect(on: str, jobs: int | None) -> None:
    """Start a cluster or join one. Raise LabError if that fails."""
    try:
        with warnings.catch_warnings(action="ignore"):  # what they say is in the error, too
            if on == "ray":
                ray.init(
                    "local",
                    num_cpus=jobs,
                    object_store_memory=OBJECTS,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )
            else:
                ray.init(on, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError) as error:
        said = safe_line(str(error).rpartition("Error: ")[2])  # without the traceback of the other machine
        raise LabError(
            f"--on {on}: there is no cluster to play on: {said}; see whether it runs, with "
            f"Ray {ray.__version__} and Python {platform.python_version()}, or play without --on"
        ) from error


@ray.remote
def _play(hobbes: str, task: Task) -> tuple[str, TaskResult]:
    """Return the node that has played a run, and how."""
    node: str = ray.get_runtime_context().get_node_id()
    return node, play_task(hobbes, f"node {socket.gethostname()}", task)


class Nodes:
    """The nodes of a cluster. One where a run could not be played, such as for a full disk, gets no more."""

    def __init__(self, jobs: int | None) -> None:
        self._jobs = jobs
        self._unfit = set[str]()

    def processors(self) -> int:
        """Return how many runs may be played at a time. Raise LabError if there is nothing that plays."""
        there = int(ray.cluster_resources().get("CPU", 0))  # type: ignore[no-untyped-call]
        if not there:
            raise LabError(
                "no node of the cluster has a processor; start one, then play the experiment again"
            )
        return min(there, self._jobs or there)

    def submit(self, task: Task) -> "Future[tuple[str, TaskResult]]":
        """Hand a task over to a node."""
        alive = _alive()
        unfit = alive & self._unfit
        others = {"label_selector": {"ray.io/node-id": f"!in({','.join(sorted(unfit))})"}}
        # Not tried again by Ray: whoever plays the experiment counts how often a run failed.
        play = _play.options(max_retries=0, **(others if unfit and unfit != alive else {}))
        future: Future[tuple[str, TaskResult]] = play.remote(HOBBES, task).future()
        return future

    def result(self, future: "Future[tuple[str, TaskResult]]") -> TaskResult:
        """Return how a run was played.

        Raise DiedError if what played it died, LabError if no node is left on which it could be played.
        """
        try:
            node, played = future.result()
        except RayTaskError as error:
            if isinstance(error.cause, ImportError):
                raise UsageError(
                    f"a node of the cluster has another hobbes or none; install hobbes {HOBBES} on all nodes"
                ) from error
            if isinstance(error.cause, RayError):
                raise DiedError(_in_short(error.cause)) from error
            raise
        except RayError as error:
            raise DiedError(_in_short(error)) from error
        if isinstance(played.error, DiedError):
            self._unfit.add(node)
            if _alive() <= self._unfit:
                raise LabError(
                    f"no node is left on which a run can be played: {played.error}; then play the experiment "
                    "again to go on"
                )
        return played


def _alive() -> set[str]:
    """Return the nodes of the cluster that can play runs."""
    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    return {node["NodeID"] for node in nodes if node["Alive"] and node["Resources"].get("CPU")}


def _in_short(error: Exception) -> str:
    """Return the first sentence of what Ray says of an error."""
    return re.split(r"\.\s", safe_line(str(error) or type(error).__name__))[0]


def _ledger(caps: Caps, spent: Spent) -> RemoteBooks:
    """Start the process that counts; if it is not on this machine, it is beside the one that it speaks to."""
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    books = ray.remote(SharedMeter).options(num_cpus=0, scheduling_strategy=here).remote(caps, spent)
    return RemoteBooks(books, caps != NO_CAPS)
