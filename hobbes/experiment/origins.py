"""Experiments that branch: their arms fork the same recorded runs, which take the place of seeds."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from hobbes.engine.names import did_you_mean
from hobbes.engine.world import AnyWorld
from hobbes.errors import UsageError
from hobbes.experiment.experiment_file import Base, ExperimentFile, From, parse
from hobbes.store.experiment_tables import cells_of, experiment_file, experiment_names
from hobbes.store.history import state_before
from hobbes.store.home import Store
from hobbes.store.marked_turns import plain_records
from hobbes.store.policy_games import with_turns
from hobbes.store.recorded_run import Run

FIRST = "first "
"""What stands before the name of an event."""


def with_bases(
    store: Store, path: Path, file: ExperimentFile, content: dict[str, Any]
) -> tuple[ExperimentFile, dict[str, Any]]:
    """Return an experiment file and its content with the runs that its arms fork, if it names some.

    Raise UsageError if there are none, or if they are of another world than the file says.
    """
    if file.origin is None:
        return file, content
    try:
        runs = list(_runs(store, file.name, file.origin))
        world = _world(file, runs)
        bases, left_out = _bases(store, file, runs)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    found = {**content["from"], "bases": [one.model_dump() for one in bases], "left_out": left_out}
    whole = {**content, "world": world.name, "from": found}
    return parse(whole), whole


def _runs(store: Store, experiment: str, origin: From) -> Iterator[Run]:
    """Yield the runs that are meant, the oldest first. Raise ValueError for a name that none has."""
    own = {cell.id for cell in cells_of(store, experiment).values()}
    rows = [row for row in reversed(store.runs.rows()) if row["id"] not in own]
    for pattern in origin.runs:
        if not any(_is_meant(row, pattern) for row in rows):
            names = [row["name"] or row["id"] for row in rows]
            raise ValueError(
                f"[from] runs: no run is called {pattern!r}"
                + did_you_mean(pattern, names, "`hobbes runs` lists the runs of the home")
            )
    for row in rows:
        if any(_is_meant(row, pattern) for pattern in origin.runs):
            yield with_turns(store, store.runs.find(row["id"]))


def _is_meant(row: Mapping[str, Any], pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in (row["id"], row["name"]) if name)


def _world(file: ExperimentFile, runs: list[Run]) -> AnyWorld:
    """Return the world of all runs. Raise ValueError if they have several, or another one than the file."""
    worlds = {run.world.name: run.world for run in runs}
    if len(worlds) > 1:
        raise ValueError(f"[from] runs: runs of {' and '.join(sorted(worlds))}; choose runs of one world")
    (world,) = worlds.values()
    if file.world not in {"", world.name}:
        raise ValueError(f"world: the runs in [from] are of {world.name}, not of {file.world}; leave it out")
    return world


def _bases(store: Store, file: ExperimentFile, runs: list[Run]) -> tuple[list[Base], list[str]]:
    """Return the runs that can be forked where the file says, and why the others cannot.

    A run keeps the number that it had when the experiment was called before; others get the next ones.
    Raise ValueError if there is no such event, or if no run can be forked there.
    """
    origin = file.origin or From(runs=[], turn=0)
    known = {}
    if file.name in experiment_names(store) and (before := parse(experiment_file(store, file.name)).origin):
        known = {base.run: base.number for base in before.bases}
    bases, left_out = [], []
    for run in runs:
        name, turn = run.label, _turn(store, run, origin)
        if turn is None:
            left_out.append(f"{name}: there is no {str(origin.turn).removeprefix(FIRST)} in it")
        elif turn > run.turns or run.world.over(state_before(store, run, turn)):
            left_out.append(f"{name}: it did not reach turn {turn}")
        else:
            number = known.setdefault(run.id, max(known.values(), default=0) + 1)
            bases.append(Base(number=number, run=run.id, name=name, turn=turn))
    if not bases:
        raise ValueError(f"[from] turn: no run can be forked there; {left_out[0]}")
    return sorted(bases, key=lambda base: base.number), left_out


def _turn(store: Store, run: Run, origin: From) -> int | None:
    """Return the turn at which a run is forked, None if it lacks the event."""
    if isinstance(origin.turn, int):
        return origin.turn
    name = origin.turn.removeprefix(FIRST)
    telling = run.world.telling
    if name not in telling.event_names:
        raise ValueError(
            f"[from] turn: {run.world.name} has no event {name!r}"
            + did_you_mean(name, telling.event_names, f"events: {', '.join(telling.event_names)}")
        )
    events = ((turn, event) for turn, record in plain_records(store, run) for event in record["events"])
    return next((turn for turn, event in events if telling.is_called(name, event)), None)
