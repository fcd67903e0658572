"""What an error of SQLite means, and the connection to a run database, which tells damage in one line.

An error means damage to the file, or something else that a person can mend, such as a full disk, or a bug.
"""

import sqlite3
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from hobbes.errors import DamagedError

_P = ParamSpec("_P")
_T = TypeVar("_T")

DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""The errors that SQLite raises for a file with damaged bytes; it quotes the bytes of a damaged schema."""

DAMAGE_CODES = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
"""The codes of the errors that always mean damage."""

OUTER_CODES = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY}
"""The codes of the errors that come from the disk or from another process."""


def _code(error: Exception) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_damage(error: Exception) -> bool:
    """Return whether an error comes from damaged bytes for certain."""
    return isinstance(error, UnicodeDecodeError) or _code(error) in DAMAGE_CODES


def may_be_damage(error: Exception) -> bool:
    """Return whether an error may come from damaged bytes; in a schema, they may look like a bug.

    A damaged header may make a file read-only for SQLite.
    """
    return _code(error) not in OUTER_CODES


def is_bug(error: Exception) -> bool:
    """Return whether an error is one that no person can do anything about."""
    return not is_damage(error) and _code(error) not in OUTER_CODES | {sqlite3.SQLITE_READONLY}


def damaged_database(problem: object) -> DamagedError:
    """Return the error for a run database with damaged bytes, in one line: SQLite quotes damaged SQL."""
    told = f"runs.db is damaged: {' '.join(str(problem).split())}"
    return DamagedError(f"{told}; put back an earlier copy of it, or choose another folder with --home")


def _checked(method: Callable[Concatenate["_Cursor", _P], _T]) -> Callable[Concatenate["_Cursor", _P], _T]:
    """Return a method that raises DamagedError for an error that comes from damaged bytes."""

    @wraps(method)
    def call(cursor: "_Cursor", /, *args: _P.args, **options: _P.kwargs) -> _T:
        try:
            return method(cursor, *args, **options)
        except DAMAGE as error:
            if is_damage(error):
                raise damaged_database(error) from error
            raise

    return call


class _Cursor(sqlite3.Cursor):
    """A cursor of a `CheckedConnection`."""

    execute = _checked(sqlite3.Cursor.execute)
    executemany = _checked(sqlite3.Cursor.executemany)
    fetchone = _checked(sqlite3.Cursor.fetchone)
    fetchall = _checked(sqlite3.Cursor.fetchall)
    __next__ = _checked(sqlite3.Cursor.__next__)


class CheckedConnection(sqlite3.Connection):
    """A connection to a run database, which raises DamagedError wherever SQLite comes upon damaged bytes."""

    def execute(self, sql: str, values: Any = (), /) -> _Cursor:  # noqa: ANN401  as sqlite3 has it
        """Execute a statement and return its rows."""
        return self.cursor(_Cursor).execute(sql, values)

    def executemany(self, sql: str, rows: Any, /) -> _Cursor:  # noqa: ANN401  as sqlite3 has it
        """Execute a statement once for each row."""
        return self.cursor(_Cursor).executemany(sql, rows)
