"""The tables of the run database, made with sqlite-utils.

The tables of a turn's record are views of the column `turns.record`, which `record_views` declares.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hobbes.engine.world import AnyWorld
from hobbes.errors import HobbesError
from hobbes.store.checked_connection import damaged_database, is_bug
from hobbes.store.command_line import command
from hobbes.store.record_views import RECORD, VIEWS

if TYPE_CHECKING:
    from sqlite_utils import Database

COUNTS = {
    "rejected": f"coalesce(sum(json_array_length({RECORD}, '$.drops')), 0)",
    "corrected": f"coalesce(sum(json_array_length({RECORD}, '$.mends')), 0)",
}
"""The columns of `runs` for rejections and corrections, each with the SQL that counts them in turns."""

TEMPLATES = ("system_template", "turn_template", "answer_schema")
"""The columns of `runs` for the templates of its prompts, which are stored when the run starts."""

SCHEMA_VERSION = 6
"""The version of the tables, which the file keeps as `pragma user_version`."""

CARRIED_OVER = SCHEMA_VERSION - 1
"""The version that `hobbes migrate` carries over."""

ADDRESS = {"run": str, "turn": int}
"""The first columns of a table whose rows belong to a turn."""

RUN = [("run", "runs", "id")]
"""The foreign key of a table whose rows belong to a run."""

CALL: Mapping[str, type] = {
    "tries": int,
    "outcome": str,
    "found_as": str,
    "model": str,
    "player": str,
    "system": str,
    "prompt": str,
    "answer": str,
    "reasoning": str,
    "reasoning_source": str,
    "error": str,
    "tokens_in": int,
    "tokens_out": int,
    "tokens_cached": int,
    "tokens_cache_written": int,
    "tokens_reasoning": int,
    "finish_reason": str,
    "service_tier": str,
    "fingerprint": str,
    "provider_id": str,
    "provider_usd": float,
    "usage": str,
    "milliseconds": int,
    "arrived": str,
}
"""The columns of a call after those that say which one it is, in the order in which they are hashed."""


def insertion(command: str, table: str, columns: Sequence[str]) -> str:
    """Return the SQL that inserts a row, whose values are in the order of the columns."""
    return f"{command} into {table} ({', '.join(columns)}) values ({', '.join('?' for _ in columns)})"


def for_writing(connection: sqlite3.Connection) -> "Database":
    """Return a database as sqlite-utils sees it. Only who writes it waits for that library."""
    from sqlite_utils import Database  # noqa: PLC0415  slow to import

    return Database(connection)


def create(connection: sqlite3.Connection) -> None:
    """Create the tables and views of a new run database, all or nothing."""
    with for_writing(connection).atomic() as db:
        _create_tables(db)
        for view in VIEWS:
            db.conn.execute(view.sql)
        db.conn.execute(f"pragma user_version = {SCHEMA_VERSION}")


def _create_tables(db: "Database") -> None:
    """Create the tables. They are strict: each column takes values of its type alone."""
    db.table("texts").create({"hash": str, "text": str}, pk="hash", strict=True)
    db.table("runs").create(
        {
            "id": str,
            "name": str,
            "world": str,
            "config": str,
            "agents": str,
            "seed": int,
            "models": str,
            "model_settings": str,
            "prompts": str,
            "prompts_hash": str,
            "lang": str,
            **dict.fromkeys(TEMPLATES, str),
            "observer_text": str,
            "status": str,
            "started": str,
            "ended": str,
            "turns": int,
            "digest": str,
            "outcomes": str,
            "scores": str,
            "ending": str,
            "tainted": int,
            **dict.fromkeys(COUNTS, int),
            "measures_version": int,
            "seconds": float,
            "error": str,
            "caps": str,
            "question": str,
            "servers": str,
            "parent": str,
            "turn": int,
            "earlier": str,
            "record_version": int,
            "rules_version": int,
            "hobbes": str,
            "column_hashes": str,
        },
        pk="id",
        strict=True,
        foreign_keys=[*((column, "texts", "hash") for column in TEMPLATES), ("parent", "runs", "id")],
        defaults={"turns": 0, "seconds": 0},
    )
    db.table("runs").create_index(["name"], unique=True)
    db.table("turns").create(
        {**ADDRESS, "record": str, "digest": str, "ledgers": str, "ended": str, "row_hash": str},
        pk=("run", "turn"),
        strict=True,
        foreign_keys=RUN,
    )
    db.conn.execute(
        "alter table turns add column state text"
        f" generated always as (json_extract({RECORD}, '$.state')) virtual"
    )
    db.table("calls").create(
        {**ADDRESS, "agent": str, "attempt": int, "question": int, **CALL, "row_hash": str},
        pk=(*ADDRESS, "agent", "attempt"),
        strict=True,
        foreign_keys=[*RUN, ("system", "texts", "hash")],  # no table has the prompts of policies
    )
    db.table("measures").create(
        {"run": str, "name": str, "scope": str, "value": float, "decisions": int, "failures": int},
        pk=("run", "name", "scope"),
        strict=True,
        foreign_keys=RUN,
    )
    db.table("reported").create(
        {"run": str, **dict.fromkeys(("winners", "measures", "over_time", "ratings"), str)},
        pk="run",
        strict=True,
        foreign_keys=RUN,
    )
    db.table("experiments").create(
        {"name": str, "world": str, "file": str, "started": str}, pk="name", strict=True
    )
    db.table("cells").create(
        {"experiment": str, "arm": str, "seed": int, "run": str},
        pk=("experiment", "arm", "seed"),
        strict=True,
        foreign_keys=[("experiment", "experiments", "name"), *RUN],
    )
    _create_tables_of_probes(db)
    db.table("plans").create(
        {"experiment": str, "kept": str, "plan": str, "hash": str, "why": str},
        pk=("experiment", "kept"),
        strict=True,
        foreign_keys=[("experiment", "experiments", "name")],
    )


def _create_tables_of_probes(db: "Database") -> None:
    asked = {"situations": str, "columns": str, "times": int}
    db.table("probes").create(
        {"name": str, "world": str, **asked, "started": str, "hobbes": str}, pk="name", strict=True
    )
    db.table("probe_answers").create(
        {"probe": str, "situation": int, "column": str, "number": int, "question": int, **CALL},
        pk=("probe", "situation", "column", "number", "question"),
        strict=True,
        foreign_keys=[
            ("probe", "probes", "name"),
            *((text, "texts", "hash") for text in ("system", "prompt")),
        ],
    )


def check_schema(connection: sqlite3.Connection, home: Path) -> bool:
    """Return whether the tables are there.

    Raise HobbesError if they are of another schema, DamagedError if they cannot be read.
    """
    try:
        ((schema,),) = connection.execute("pragma user_version")
        tables = connection.execute("select 1 from sqlite_master where type = 'table'").fetchone()
    except sqlite3.DatabaseError as error:
        if is_bug(error):  # these two statements have no bug: the file is damaged
            raise damaged_database(error) from error
        raise
    if schema == SCHEMA_VERSION:
        return True
    if not tables:
        return False
    migrate = command(home, "migrate")
    raise HobbesError(
        f"{home}/runs.db has schema {schema}, and this hobbes has schema {SCHEMA_VERSION}; "
        + (
            f"`{migrate}` carries it over"
            if schema == CARRIED_OVER
            else f"`{migrate}` carries over schema {CARRIED_OVER} only: choose another folder with --home"
        )
    )


def agent_turns_table(world: AnyWorld) -> str:
    """Return the name of the plain table of a world: a row for each agent and turn."""
    return f"agent_turns_{world.name}"


def agent_turns_columns(world: AnyWorld) -> dict[str, type]:
    """Return the columns of the plain table of a world, each with the type of its values."""
    table = world.measures.agent_turns
    if table is None:
        return {}
    further = {name: SQL_KINDS[kind.upper()] for name, kind in table.columns.items()}
    return {**ADDRESS, "agent": str, **further}


def has_agent_turns(connection: sqlite3.Connection, world: AnyWorld) -> bool:
    """Return whether the plain table of a world is there with the columns that it has today."""
    return kinds_of(connection, agent_turns_table(world)) == agent_turns_columns(world)


def ensure_agent_turns(connection: sqlite3.Connection, world: AnyWorld) -> None:
    """Create the plain table of a world. One with other columns is made anew, without its rows.

    Those rows were made by other formulas; `hobbes measure` makes them anew.
    """
    if world.measures.agent_turns is not None and not has_agent_turns(connection, world):
        for_writing(connection).table(agent_turns_table(world)).create(
            agent_turns_columns(world),
            pk=("run", "turn", "agent"),
            strict=True,
            foreign_keys=RUN,
            replace=True,
        )


SQL_KINDS: Mapping[str, type] = {"TEXT": str, "INTEGER": int, "REAL": float}
"""The types of SQL columns."""


def kinds_of(connection: sqlite3.Connection, name: str) -> dict[str, type]:
    """Return the columns of a table or a view, each with the type of its values."""
    for view in VIEWS:
        if view.name == name:
            return {column: int if kind == "integer" else str for column, kind in view.kinds.items()}
    return {
        column: SQL_KINDS[kind.upper()]
        for column, kind in connection.execute("select name, type from pragma_table_xinfo(?)", [name])
    }
