"""The tables of experiments: which run played which arm with which seed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Json
from typing_extensions import TypedDict  # pydantic refuses typing.TypedDict before Python 3.12

from hobbes.engine.names import did_you_mean
from hobbes.engine.record import sha256
from hobbes.errors import DamagedError, MissingError
from hobbes.graphs.database import named_rows
from hobbes.store.checked_rows import Table
from hobbes.store.home import Store
from hobbes.store.runs import now


class PlannedGames(TypedDict):
    """The plan of an experiment as it is stored: its file, and the prompts and players of each arm."""

    file: dict[str, Any]
    prompts: dict[str, str]
    models: dict[str, list[str]]


def damaged_file(name: object, problem: str) -> DamagedError:
    """Return the error for the row of an experiment that cannot be used."""
    return DamagedError(f"experiment {name!r}: {problem}; `hobbes experiment FILE.toml` stores it again")


def damaged_plan(name: object, problem: str) -> DamagedError:
    """Return the error for a plan of an experiment that cannot be used."""
    return DamagedError(f"experiment {name!r}: {problem}; put back an earlier copy of runs.db")


EXPERIMENTS = Table(
    "experiments",
    dict.fromkeys(("name", "world", "started"), str),
    {"file": Json[dict[str, Any]]},
    lambda row, problem: damaged_file(row["name"], problem),
)

PLANS = Table(
    "plans",
    {**dict.fromkeys(("experiment", "kept", "hash"), str), "why": str | None},
    {"plan": Json[PlannedGames]},
    lambda row, problem: damaged_plan(row["experiment"], problem),
)


@dataclass(frozen=True, slots=True)
class BegunCell:
    """A run of an experiment that has begun."""

    arm: str
    seed: int
    id: str
    """The id of the run."""
    run: str
    """The name of the run, or its id if it has lost its name."""
    status: str
    turns: int
    digest: str
    tainted: bool

    @property
    def finished(self) -> bool:
        """Whether it has been played to its end."""
        return self.status == "finished"


def keep_experiment(store: Store, name: str, world: str, file: Mapping[str, Any]) -> None:
    """Store the file of an experiment, in place of an earlier one of this name."""
    with store.connection as connection:
        connection.execute(
            "insert into experiments (name, world, file, started) values (?, ?, ?, ?)"
            " on conflict (name) do update set file = excluded.file",
            (name, world, json.dumps(file, ensure_ascii=False), now()),
        )


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """The plan of an experiment, frozen at its first game."""

    kept: str
    """When, in UTC."""
    plan: PlannedGames
    hash: str


def keep_plan(store: Store, name: str, plan: Mapping[str, Any]) -> None:
    """Store the plan of an experiment."""
    text = json.dumps(plan, ensure_ascii=False)  # the order of the arms counts
    with store.connection as connection:
        connection.execute("insert into plans values (?, ?, ?, ?, null)", (name, now(), text, sha256(text)))


def kept_plan(store: Store, name: str) -> KeptPlan | None:
    """Return the frozen plan of an experiment, None if none was kept. Raise DamagedError."""
    # The others are amendments, which hobbes once kept.
    sql = "select * from plans where experiment = ? and why is null order by rowid desc"
    row = next(named_rows(store.connection, sql, [name]), None)
    if row is None:
        return None
    plan = PLANS.values(row)["plan"]
    if sha256(row["plan"]) != row["hash"]:
        raise damaged_plan(name, f"its plan of {row['kept']} was changed in the table plans")
    return KeptPlan(row["kept"], plan, row["hash"])


def experiment_names(store: Store) -> list[str]:
    """Return the names of all experiments, the newest first."""
    rows = store.connection.execute("select name from experiments order by started desc, rowid desc")
    return [name for (name,) in rows]


def experiment_file(store: Store, name: str) -> dict[str, Any]:
    """Return the file of an experiment.

    Raise MissingError, with all names, if there is none, DamagedError if what is stored is not a file.
    """
    row = next(named_rows(store.connection, "select * from experiments where name = ?", [name]), None)
    if row is None:
        names = experiment_names(store)
        known = f"there are: {', '.join(names)}" if names else "`hobbes experiment FILE.toml` plays one"
        hint = did_you_mean(name, names, known)
        raise MissingError(f"there is no experiment {name!r} in {store.home}{hint}")
    file: dict[str, Any] = EXPERIMENTS.values(row)["file"]
    return file


def world_of_experiment(store: Store, name: str) -> str | None:
    """Return the world that an experiment of this name was played in; None if there is none yet."""
    row = next(named_rows(store.connection, "select * from experiments where name = ?", [name]), None)
    world: str | None = EXPERIMENTS.value(row, "world") if row else None
    return world


def add_cell(store: Store, experiment: str, arm: str, seed: int, run: str) -> None:
    """Store which run plays a cell."""
    store.connection.execute("insert into cells values (?, ?, ?, ?)", (experiment, arm, seed, run))


def cells_of(store: Store, experiment: str) -> dict[tuple[str, int], BegunCell]:
    """Return the cells of an experiment whose runs have begun, by arm and seed."""
    rows = store.connection.execute(
        "select arm, cells.seed, id, ifnull(name, id), status, turns, digest, ifnull(tainted, 0)"
        " from cells join runs on runs.id = cells.run where experiment = ?",
        [experiment],
    )
    return {
        (arm, seed): BegunCell(arm, seed, run, name, status, turns, digest, bool(tainted))
        for arm, seed, run, name, status, turns, digest, tainted in rows
    }


def run_names(store: Store) -> set[str]:
    """Return the names of all runs."""
    return {name for (name,) in store.connection.execute("select name from runs where name is not null")}


def tokens_per_call(store: Store, world: str) -> dict[str, tuple[float, float, float]]:
    """Return the mean tokens in, out and cached of a call of each player that has answered in a world."""
    sql = (
        "select player, avg(tokens_in), avg(tokens_out), avg(ifnull(tokens_cached, 0))"
        " from calls join runs on runs.id = calls.run"
        " where runs.world = ? and tokens_in is not null and tokens_out is not null and player is not null"
        " group by player"
    )
    return {player: tuple(means) for player, *means in store.connection.execute(sql, [world])}


def cells_of_runs(store: Store) -> dict[str, tuple[str, str]]:
    """Return experiment and arm of each run that plays a cell, by the run's id."""
    cells = store.connection.execute("select run, experiment, arm from cells")
    return {run: (experiment, arm) for run, experiment, arm in cells}
