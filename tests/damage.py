"""A home with a row in every table, damage to any column of it, and all that reads a home."""
# ruff: noqa: S608  names are ours

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from hobbes.cli import app
from hobbes.engine.record import Json
from hobbes.nodes.caps import NO_CAPS
from hobbes.nodes.turn_state import TurnState
from hobbes.play.fork import ForkOptions, fork
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.probe.situations import pick
from hobbes.store.home import open_store
from hobbes.store.notes import Place
from tests.small_experiment import play_all, written
from tests.small_probes import asked, heeding, variant
from tests.small_runs import go, played

WHOLE, OTHER, FORK, WAITING, STOPPED, TALK = "whole", "other", "forked", "waiting", "stopped", "talk"
"""Runs: played to the end, forked with another setting, waiting for a person, stopped, played by a model."""

PROBE, EXPERIMENT = "asked", "small"


class StoppedError(Exception):
    """The run is stopped here."""


def whole_home(home: Path) -> None:
    """Play, fork, probe, note and index, so that every table has a row; all rows are in the files."""

    def stop(state: TurnState) -> None:
        if state["turn"] == 2:
            raise StoppedError

    def options(name: str, models: str = "policy:random?noise=0.4", world: str = "mining") -> RunOptions:
        values: dict[str, Json] = {"rounds": 3, **({"rows": 3, "cols": 2} if world == "mining" else {})}
        return RunOptions(world, 2, models=models, values=values, name=name)

    with open_store(home) as store:
        run = played(store, options(WHOLE))
        played(store, options(OTHER))
        go(store, fork(store, run, ForkOptions(1, values={"immunity": 1}, name=FORK), NO_CAPS))
        assert go(store, begin(store, options(WAITING, "human*1,policy:guided"))).status == "waiting"
        with pytest.raises(StoppedError):
            asyncio.run(go_on(store, begin(store, options(STOPPED)), stop))
        with heeding():
            talk = played(store, options(TALK, "openai:any", "trust"))
            situations = [*pick(store, talk, range(2), ["unit-a"], None)]
            prompts = [variant(home, "Be peaceful.")]
            asked(store, name=PROBE, situation=situations, prompts=prompts, times=2)
        play_all(store, written(home))
        store.notes.keep(Place(run.id, 1, "miner-01"), tags=["a"], text="noted")
        assert CliRunner().invoke(app, ["search", "the", "--home", str(home)]).exit_code == 0
        store.db.execute("pragma journal_mode = delete")


DATABASES = ("runs.db", "notes.db", "search.db")


class Damage(NamedTuple):
    """A value in a column of a row."""

    database: str
    table: str
    column: str
    row: int
    """The number of the row, from 0."""
    value: object


def columns_of(home: Path) -> list[tuple[str, str, str]]:
    """Return each column of each table: its database, its table, its name."""
    found = []
    for database in DATABASES:
        with closing(sqlite3.connect(home / database)) as db:
            tables = db.execute(
                "select name from sqlite_master where type = 'table' and sql not like '%virtual%'"
            )
            for (table,) in tables.fetchall():
                if not table.startswith(("words", "sqlite", "code", "queue")):
                    columns = db.execute("select name from pragma_table_info(?)", [table])
                    found += [(database, table, column) for (column,) in columns]
    return found


def spoil(home: Path, damage: Damage) -> bool:
    """Put a value into a column, whatever its type. Return whether the row changed."""
    with closing(sqlite3.connect(home / damage.database)) as db:
        db.execute("pragma ignore_check_constraints = on")
        row = f"select rowid from {damage.table} order by rowid limit 1 offset {damage.row}"
        try:
            changed = db.execute(
                f"update {damage.table} set {damage.column} = ? where rowid = ({row})", [damage.value]
            )
            db.commit()
        except (sqlite3.IntegrityError, sqlite3.OperationalError):
            return False
        return changed.rowcount > 0
