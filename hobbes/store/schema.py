"""The tables of the run database.

The tables of a turn's record are views of the column `turns.record`, which `record_views` declares.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from hobbes.engine.world import AnyWorld
from hobbes.errors import HobbesError
from hobbes.store.checked_connection import damaged_database, is_bug
from hobbes.store.command_line import command
from hobbes.store.record_views import RECORD, VIEWS

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

CALL: Mapping[str, str] = {
    "tries": "INTEGER",
    "outcome": "TEXT",
    "found_as": "TEXT",
    "model": "TEXT",
    "player": "TEXT",
    "system": "TEXT REFERENCES texts (hash)",
    "prompt": "TEXT",
    "answer": "TEXT",
    "reasoning": "TEXT",
    "reasoning_source": "TEXT",
    "error": "TEXT",
    "tokens_in": "INTEGER",
    "tokens_out": "INTEGER",
    "tokens_cached": "INTEGER",
    "tokens_cache_written": "INTEGER",
    "tokens_reasoning": "INTEGER",
    "finish_reason": "TEXT",
    "service_tier": "TEXT",
    "fingerprint": "TEXT",
    "provider_id": "TEXT",
    "provider_usd": "REAL",
    "usage": "TEXT",
    "milliseconds": "INTEGER",
    "arrived": "TEXT",
}
"""The columns of a call after those that say which one it is, in the order in which they are hashed."""


_CALL = ", ".join(f"{column} {kind}" for column, kind in CALL.items())

TABLES = f"""
CREATE TABLE texts (hash TEXT PRIMARY KEY, text TEXT) STRICT;
CREATE TABLE runs (
  id TEXT PRIMARY KEY, name TEXT, world TEXT, config TEXT, agents TEXT, seed INTEGER,
  models TEXT, model_settings TEXT, prompts TEXT, prompts_hash TEXT, lang TEXT,
  system_template TEXT REFERENCES texts (hash),
  turn_template TEXT REFERENCES texts (hash),
  answer_schema TEXT REFERENCES texts (hash),
  observer_text TEXT, status TEXT, started TEXT, ended TEXT, turns INTEGER DEFAULT 0, digest TEXT,
  outcomes TEXT, scores TEXT, ending TEXT, tainted INTEGER, rejected INTEGER, corrected INTEGER,
  measures_version INTEGER, seconds REAL DEFAULT 0, error TEXT, caps TEXT, question TEXT, servers TEXT,
  parent TEXT REFERENCES runs (id), turn INTEGER, earlier TEXT,
  record_version INTEGER, rules_version INTEGER, hobbes TEXT, column_hashes TEXT
) STRICT;
CREATE UNIQUE INDEX idx_runs_name ON runs (name);
CREATE TABLE turns (
  run TEXT REFERENCES runs (id), turn INTEGER,
  record TEXT, digest TEXT, ledgers TEXT, ended TEXT, row_hash TEXT,
  state TEXT GENERATED ALWAYS AS (json_extract({RECORD}, '$.state')) VIRTUAL,
  PRIMARY KEY (run, turn)
) STRICT;
CREATE TABLE calls (
  run TEXT REFERENCES runs (id), turn INTEGER, agent TEXT, attempt INTEGER,
  question INTEGER, {_CALL}, row_hash TEXT,
  PRIMARY KEY (run, turn, agent, attempt)
) STRICT;
CREATE TABLE measures (
  run TEXT REFERENCES runs (id), name TEXT, scope TEXT, value REAL, decisions INTEGER, failures INTEGER,
  PRIMARY KEY (run, name, scope)
) STRICT;
CREATE TABLE reported (
  run TEXT PRIMARY KEY REFERENCES runs (id), winners TEXT, measures TEXT, over_time TEXT, ratings TEXT
) STRICT;
CREATE TABLE experiments (name TEXT PRIMARY KEY, world TEXT, file TEXT, started TEXT) STRICT;
CREATE TABLE cells (
  experiment TEXT REFERENCES experiments (name), arm TEXT, seed INTEGER, run TEXT REFERENCES runs (id),
  PRIMARY KEY (experiment, arm, seed)
) STRICT;
CREATE TABLE probes (
  name TEXT PRIMARY KEY, world TEXT, situations TEXT, columns TEXT, times INTEGER, started TEXT, hobbes TEXT
) STRICT;
CREATE TABLE probe_answers (
  probe TEXT REFERENCES probes (name), situation INTEGER, column TEXT, number INTEGER,
  question INTEGER, {_CALL},
  PRIMARY KEY (probe, situation, column, number, question),
  FOREIGN KEY (prompt) REFERENCES texts (hash)
) STRICT;
CREATE TABLE plans (
  experiment TEXT REFERENCES experiments (name), kept TEXT, plan TEXT, hash TEXT, why TEXT,
  PRIMARY KEY (experiment, kept)
) STRICT;
"""
"""The SQL of the tables. Each column takes values of its type alone; prompts of policies are in no table."""


def insertion(command: str, table: str, columns: Sequence[str]) -> str:
    """Return the SQL that inserts a row, whose values are in the order of the columns."""
    return f"{command} into {table} ({', '.join(columns)}) values ({', '.join('?' for _ in columns)})"


def create(connection: sqlite3.Connection) -> None:
    """Create the tables and views of a new run database, all or nothing."""
    views = ";".join(view.sql for view in VIEWS)
    connection.executescript(f"BEGIN; {TABLES} {views}; PRAGMA user_version = {SCHEMA_VERSION}; COMMIT")


def check_schema(connection: sqlite3.Connection, home: Path) -> bool:
    """Return whether the tables are there.

    Raise HobbesError if they are of another schema, DamagedError if they cannot be read.
    """
    try:
        ((schema,),) = connection.execute("pragma user_version")
        tables = connection.execute("select 1 from sqlite_master where type = 'table'").fetchone()
    except sqlite3.DatabaseError as error:
        if is_bug(error):  # in these statements there is none
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
    declared = world.measures.agent_turns
    if declared is not None and not has_agent_turns(connection, world):
        name = agent_turns_table(world)
        columns = ", ".join(f'"{column}" {kind.upper()}' for column, kind in declared.columns.items())
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(
            f"CREATE TABLE {name} (run TEXT REFERENCES runs (id), turn INTEGER, agent TEXT, {columns},"
            " PRIMARY KEY (run, turn, agent)) STRICT"
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
