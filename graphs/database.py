"""How every database of a home is opened: the runs, the notes, the index of texts and the checkpoints."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BUSY_SECONDS = 30.0
"""How long to wait while another process writes."""


def connect(
    path: Path, *, check_same_thread: bool = True, factory: type[sqlite3.Connection] = sqlite3.Connection
) -> sqlite3.Connection:
    """Return a connection to a database; the file is created if there is none.

    It may write, also for those who only read: a process that was killed while it wrote leaves a journal,
    which SQLite cannot roll back otherwise. It reads damaged bytes, too: what is made of them is no value
    that was written.
    """
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, check_same_thread=check_same_thread, factory=factory
    )
    connection.text_factory = lambda stored: stored.decode(errors="replace")
    return connection


def named_rows(
    connection: sqlite3.Connection, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()
) -> Iterator[dict[str, Any]]:
    """Return the rows that a query finds, each with the values by the names of its columns."""
    cursor = connection.execute(sql, values)
    names = [name for name, *_ in cursor.description]
    return (dict(zip(names, row, strict=True)) for row in cursor)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all or nothing; what begins within another transaction is part of it."""
    if connection.in_transaction:
        yield
        return
    with connection:
        connection.execute("begin")
        yield
