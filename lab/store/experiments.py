"""The tables of experiments: which run played which arm with which seed, and the measures of these runs."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lab.errors import MissingError
from lab.store.database import Store


@dataclass(frozen=True, slots=True)
class PlayedCell:
    """A run of an experiment that has been played to its end."""

    arm: str
    seed: int
    run: str
    """The name of the run."""
    digest: str
    tainted: bool
    measures: Mapping[str, Mapping[str, float | None]]
    """Scope (`run`, `first-half`, `second-half`) to name to value."""


def keep_experiment(store: Store, name: str, world: str, file: Mapping[str, Any]) -> None:
    """Store the file of an experiment, in place of an earlier one of this name."""
    with store.db.conn as connection:
        connection.execute(
            "insert into experiments (name, world, file, started) values (?, ?, ?, ?)"
            " on conflict (name) do update set file = excluded.file",
            (name, world, json.dumps(file, ensure_ascii=False), _now()),
        )


def experiment_files(store: Store) -> dict[str, dict[str, Any]]:
    """Return the files of all experiments by name, the newest first."""
    rows = store.db.table("experiments").rows_where(order_by="started desc, rowid desc")
    return {row["name"]: json.loads(row["file"]) for row in rows}


def experiment_file(store: Store, name: str) -> dict[str, Any]:
    """Return the file of an experiment; raise MissingError, with all names, if there is none."""
    files = experiment_files(store)
    if name not in files:
        known = f"there are: {', '.join(files)}" if files else "`hobbes experiment FILE.toml` plays one"
        raise MissingError(f"there is no experiment {name!r} in {store.home}; {known}")
    return files[name]


def world_of_experiment(store: Store, name: str) -> str | None:
    """Return the world that an experiment of this name was played in; None if there is none yet."""
    row = next(store.db.table("experiments").rows_where("name = ?", [name]), None)
    return row["world"] if row else None


def add_cell(store: Store, experiment: str, arm: str, seed: int, run: str) -> None:
    """Store which run plays a cell."""
    store.db.conn.execute(
        "insert into cells (experiment, arm, seed, run) values (?, ?, ?, ?)", (experiment, arm, seed, run)
    )


def runs_of_cells(store: Store, experiment: str) -> dict[tuple[str, int], tuple[str, str]]:
    """Return id and status of the runs that play the cells of an experiment, by arm and seed."""
    rows = store.db.conn.execute(
        "select arm, cells.seed, id, status from cells join runs on runs.id = cells.run where experiment = ?",
        [experiment],
    )
    return {(arm, seed): (run, status) for arm, seed, run, status in rows}


def run_names(store: Store) -> set[str]:
    """Return the names of all runs."""
    return {name for (name,) in store.db.conn.execute("select name from runs where name is not null")}


def played_cells(store: Store, experiment: str) -> Iterator[PlayedCell]:
    """Yield the cells of an experiment whose runs have finished."""
    rows = store.db.conn.execute(
        "select arm, cells.seed, name, digest, tainted, id from cells join runs on runs.id = cells.run"
        " where experiment = ? and status = 'finished'",
        [experiment],
    ).fetchall()
    for arm, seed, name, digest, tainted, run in rows:
        measures: dict[str, dict[str, float | None]] = {}
        for scope, measure, value in store.db.conn.execute(
            "select scope, name, value from measures where run = ?"
            " and scope in ('run', 'first-half', 'second-half')",
            [run],
        ):
            measures.setdefault(scope, {})[measure] = value
        yield PlayedCell(arm, seed, name, digest, bool(tainted), measures)


def tokens_per_call(store: Store, world: str) -> dict[str, tuple[float, float]]:
    """Return the mean tokens in and out of a call of each player that has answered in a world."""
    sql = (
        "select player, avg(tokens_in), avg(tokens_out) from calls join runs on runs.id = calls.run"
        " where runs.world = ? and tokens_in is not null and tokens_out is not null and player is not null"
        " group by player"
    )
    return {player: (a, b) for player, a, b in store.db.conn.execute(sql, [world])}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
