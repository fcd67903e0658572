"""Ray, the way beyond one machine: the runs of an experiment are played on the nodes of a cluster.

Each task plays a batch of runs, in a home of its own and in one event loop, with its share of the limits of
models and of the caps. Its runs are copied back when it has ended.
"""

import logging
import os
import platform
import re
import socket
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import ray
from ray.exceptions import RayError, RayTaskError

from hobbes.errors import HaltedRunError, HobbesError, UsageError
from hobbes.experiment.games import Ways, play_policies, runs_of
from hobbes.experiment.plan import Cell
from hobbes.nodes.caps import NO_CAPS, Budget, Caps, Spent
from hobbes.nodes.rate_limits import RateLimiter
from hobbes.nodes.secrecy import safe_line
from hobbes.play.playthrough import Shared
from hobbes.play.side_by_side import Progress, most_at_once, play_runs
from hobbes.play.start import chats_of
from hobbes.store.copies import copy_run
from hobbes.store.home import Store, open_store
from hobbes.store.policy_games import is_pure
from hobbes.store.recorded_run import HOBBES, Run
from hobbes.store.reported import keep_figures

OBJECTS = 128 * 2**20
"""Bytes of memory for the runs that come back, on a cluster of this machine; Ray writes more to the disk."""

RUNS = "runs.db"
"""What of a home is needed to play its runs."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Runs that one task plays. It is never written anywhere as a whole, since it has the keys."""

    runs: tuple[str, ...]
    database: bytes = field(repr=False)
    """The run database of a home that has these runs and their parents alone."""
    variables: Mapping[str, str] = field(repr=False)
    """The environment variables that models need."""
    ways: Ways
    """With its share of the caps."""
    tasks: int
    """How many tasks share the limits of models."""


class Played(NamedTuple):
    """How a batch was played: its run database, what it cost, and the error with which it stopped, if any."""

    rows: bytes
    spent: Spent
    error: HobbesError | None = None


def play_on(  # noqa: PLR0913, PLR0917  where, and all that `Play` takes
    address: str, store: Store, cells: Sequence[Cell], budget: Budget, ways: Ways, progress: Progress
) -> None:
    """Play cells on the nodes of a cluster, and copy them back. Raise HobbesError if one cannot be played."""
    if reason := budget.reached_cap():
        raise HaltedRunError(reason)
    runs = [*runs_of(store, cells)]
    errors: list[HobbesError] = []
    with _cluster(address, ways.jobs):
        tasks = _tasks(runs, ways)
        at_once = ways.at_once and max(1, ways.at_once // tasks)
        share = replace(ways, caps=_share(budget, tasks), at_once=at_once)
        batches = {}
        for place in range(tasks):
            of_task = runs[place::tasks]
            batches[_play.remote(HOBBES, _batch(store, of_task, share, tasks))] = of_task
            for run in of_task:
                progress.on_cell(run)
        while batches:
            (done,), _ = ray.wait([*batches])
            of_task = batches.pop(done)
            try:
                played = _result(done)
            except HobbesError as error:
                errors.append(error)
                continue
            _take_in(store, of_task, played.rows)
            budget.spent.calls += played.spent.calls
            budget.spent.add(played.spent.tokens, played.spent.usd)
            errors += [played.error] if played.error else []
            for run in of_task:
                progress.on_ended(run.id)
    if errors:
        raise errors[0]


@contextmanager
def _cluster(address: str, jobs: int | None) -> Iterator[None]:
    """Start a cluster or join one, and leave it at the end. Raise HobbesError if there is none.

    `ray` is one that is started here and ended with this process, `auto` the one that this machine belongs
    to, and `ray://HOST:PORT` one that is joined from outside.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    where, own = address, dict[str, Any]()
    if address == "ray":
        where, own = "local", {"num_cpus": jobs, "object_store_memory": OBJECTS, "include_dashboard": False}
    try:
        with warnings.catch_warnings(action="ignore"):  # what they say is in the error, too
            ray.init(where, log_to_driver=False, logging_level=logging.ERROR, **own)
    except (OSError, RuntimeError, ValueError) as error:
        said = safe_line(str(error).rpartition("Error: ")[2])  # without the traceback of the other machine
        raise HobbesError(
            f"--on {address}: found no cluster: {said}; check that it runs, with "
            f"Ray {ray.__version__} and Python {platform.python_version()}, or leave out --on"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _tasks(runs: Sequence[Run], ways: Ways) -> int:
    """Return how many tasks play the runs: one per processor, and none without a share of a limit.

    Raise HobbesError if there is nothing that plays.
    """
    processors = int(ray.cluster_resources().get("CPU", 0))  # type: ignore[no-untyped-call]
    if not processors:
        raise HobbesError("no node of the cluster has a processor; start one, then play the experiment again")
    models = [one for run in runs for one in chats_of(run).values()]
    limits = [limit for one in models for limit in (one.parallel, one.calls_per_minute) if limit]
    return min(processors, ways.jobs or processors, len(runs), *limits)


def _share(budget: Budget, tasks: int) -> Caps:
    caps, spent = budget.caps, budget.spent
    return Caps(
        None if caps.calls is None else (caps.calls - spent.calls) // tasks,
        None if caps.tokens is None else (caps.tokens - (spent.tokens or 0)) // tasks,
        None if caps.usd is None else (caps.usd - (spent.usd or 0.0)) / tasks,
    )


def _batch(store: Store, runs: Sequence[Run], ways: Ways, tasks: int) -> Batch:
    with tempfile.TemporaryDirectory() as folder:
        with open_store(Path(folder)) as target:
            for one in dict.fromkeys(one for run in runs for one in _with_parents(store, run.id)):
                copy_run(store, target, one)
        database = (Path(folder) / RUNS).read_bytes()
    keys = {settings.key_variable for run in runs for settings in chats_of(run).values()}
    # OpenAI's client reads its server, its key, its headers and its proxy from variables.
    names = [name for name in os.environ if keys and (name in keys or name.startswith("OPENAI_"))]
    variables = {name: os.environ[name] for name in names}
    return Batch(tuple(run.id for run in runs), database, variables, ways, tasks)


def _with_parents(store: Store, run: str) -> Iterator[str]:
    """Yield the ids of the runs from which a run was forked, the first of them first, and then its own."""
    if parent := store.runs.row(run)["parent"]:
        yield from _with_parents(store, parent)
    yield run


@ray.remote(max_retries=2)  # from where the runs stood at first, if a process or a node dies
def _play(hobbes: str, batch: Batch) -> Played:
    return play_batch(hobbes, f"node {socket.gethostname()}", batch)


def play_batch(hobbes: str, node: str, batch: Batch) -> Played:
    """Play the runs of a batch. `hobbes` is the version of whoever asks, `node` names this machine."""
    if hobbes != HOBBES:
        versions = f"{node} has hobbes {HOBBES}, and this is hobbes {hobbes}"
        return Played(b"", Spent(), UsageError(f"{versions}; install the same version on all nodes"))
    os.environ.update(batch.variables)
    budget, error = Budget(batch.ways.caps, Spent()), None
    try:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / RUNS).write_bytes(batch.database)
            try:
                _play_all(Path(folder), batch, budget)
            except HobbesError as failure:
                error = failure if isinstance(failure, HaltedRunError) else HobbesError(f"{node}: {failure}")
            return Played((Path(folder) / RUNS).read_bytes(), budget.spent, error)
    except OSError as failure:
        return Played(b"", Spent(), HobbesError(f"{node}: cannot store runs: {failure.strerror}"))


def _play_all(home: Path, batch: Batch, budget: Budget) -> None:
    ways, capped = batch.ways, batch.ways.caps != NO_CAPS
    with open_store(home) as store:
        runs = [store.runs.find(run) for run in batch.runs]
        policies = [] if capped else [run for run in runs if is_pure(run.world, run.setting, run.models)]
        play_policies(store, policies, 1, ways, Progress())
        others = [run for run in runs if run not in policies]
        at_once = ways.at_once or max(1, most_at_once(others) // batch.tasks)
        shared = Shared(budget if capped else None, RateLimiter(batch.tasks))
        if others:
            play_runs(store, others, at_once, shared, Progress(), partial(keep_figures, store))


def _take_in(store: Store, runs: Sequence[Run], rows: bytes) -> None:
    """Copy the runs of a batch from the run database that came back, if there is one."""
    if not rows:
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / RUNS).write_bytes(rows)
        with open_store(Path(folder)) as source:
            for run in runs:
                with store.playing(run.id):
                    copy_run(source, store, run.id)


def _result(task: "ray.ObjectRef[Played]") -> Played:
    """Return how a batch was played. Raise HobbesError if what played it died each time, or has no hobbes."""
    try:
        return ray.get(task)
    except RayTaskError as error:
        if isinstance(error.cause, ImportError):
            raise UsageError(
                f"a node of the cluster has another hobbes or none; install hobbes {HOBBES} on all nodes"
            ) from error
        raise
    except RayError as error:
        first = re.split(r"\.\s", safe_line(str(error) or type(error).__name__))[0]
        raise HobbesError(
            f"a task of the cluster died: {first}; play the experiment again to go on"
        ) from error
