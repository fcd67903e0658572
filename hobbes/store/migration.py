"""`hobbes migrate`: a run database of the schema before this one is carried over, where it stands."""

import sqlite3
from pathlib import Path

from filelock import FileLock
from sqlite_utils import Database

from hobbes.errors import HobbesError, MissingError
from hobbes.graphs.database import BUSY_SECONDS, connect
from hobbes.store.checked_connection import DAMAGE, is_bug
from hobbes.store.row_hashes import TURN_COLUMNS, turn_hash
from hobbes.store.schema import CARRIED_OVER, SCHEMA_VERSION

DROPPED_COLUMNS = (
    "spells",
    *("told", "model_settings", "left_out", "calls", "usd", "tokens_in", "tokens_out"),
    *("tokens_cached", "tokens_cache_written", "tokens_reasoning"),
)
"""The columns that the table `reported` has no more: they follow from the calls and the turns."""


def migrate(home: Path) -> int:
    """Carry the run database of a home over from the schema before this one; return how many runs it has.

    It happens in one transaction: if it is killed, or the disk is full, the home is as it was. Each turn gets
    the hash of what its row holds now. The formulas of the figures are not known, and the plain tables are
    left to `hobbes measure`. Raise HobbesError if the database has another schema, is damaged, or cannot be
    written.
    """
    path = home / "runs.db"
    if not path.is_file():
        raise MissingError(f"there is no run database in {home}; name its folder with --home")
    try:
        (home / "locks").mkdir(exist_ok=True)
        with FileLock(home / "locks" / "runs.lock", timeout=BUSY_SECONDS):
            db = Database(connect(path))
            try:
                return _carry_over(db, home)
            finally:
                db.conn.close()
    except (*DAMAGE, OSError) as error:
        if isinstance(error, sqlite3.Error) and is_bug(error):
            raise
        raise HobbesError(f"cannot carry over {path}, which is as it was: {error}") from error


def _carry_over(db: Database, home: Path) -> int:
    """Change the tables of a database to those of this schema, all or nothing."""
    ((schema,),) = db.execute("pragma user_version")
    if schema == SCHEMA_VERSION:
        raise HobbesError(f"{home}/runs.db has schema {schema} already")
    if schema != CARRIED_OVER:
        raise HobbesError(
            f"{home}/runs.db has schema {schema}, and only schema {CARRIED_OVER} can be carried over"
        )
    db.execute("pragma journal_mode = wal")  # whoever reads meanwhile sees the database as it was
    with db.atomic():
        db.execute("alter table runs add column measures_version integer")
        db.execute("alter table runs add column servers text")
        db.execute("alter table turns add column row_hash text")
        for column in DROPPED_COLUMNS:
            db.execute(f"alter table reported drop column {column}")
        turns = db.execute(f"select {', '.join(TURN_COLUMNS)} from turns")  # noqa: S608  names are ours
        hashes = [(turn_hash(row), *row[:2]) for row in turns]
        db.conn.executemany("update turns set row_hash = ? where run = ? and turn = ?", hashes)
        for view in db.view_names():
            if view.startswith("agent_turns_"):  # they are tables now
                db.execute(f"drop view {view}")
        db.execute(f"pragma user_version = {SCHEMA_VERSION}")
        return db.table("runs").count
