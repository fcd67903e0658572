"""The traces of a run, which are its turns and calls, and what stays when they are deleted."""

from collections.abc import Collection

from hobbes.lab.store.home import Store


def with_traces(store: Store, runs: Collection[str]) -> set[str]:
    """Return those of these runs that have turns."""
    sql = "select exists (select 1 from turns where run = ?)"
    return {run for run in runs if store.db.conn.execute(sql, [run]).fetchone()[0]}


def drop_traces(store: Store, run: str) -> None:
    """Delete the turns and calls of a finished run, the measures of its turns, and texts of no other run.

    Its row in `runs` stays, and so do the measures of the run and its halves.
    """
    connection = store.db.conn
    # For each text, SQLite would look through all calls and runs for one that refers to it. Here they are
    # looked through once for all texts.
    connection.execute("pragma foreign_keys = off")
    try:
        with connection:
            connection.execute("drop table if exists temp.read")
            connection.execute(
                "create temp table read as select system as hash from calls where run = :run"
                " union select prompt from calls where run = :run",
                {"run": run},
            )
            connection.execute("delete from calls where run = ?", [run])
            connection.execute("delete from turns where run = ?", [run])
            connection.execute("delete from measures where run = ? and scope glob 'turn/*'", [run])
            connection.execute(_DELETE_TEXTS)
            connection.execute("drop table temp.read")
    finally:
        connection.execute("pragma foreign_keys = on")


_DELETE_TEXTS = (
    "delete from texts where hash in (select hash from temp.read) and hash not in ("
    "select system from calls union select prompt from calls"
    " union select system_template from runs union select turn_template from runs"
    " union select answer_schema from runs)"
)
"""SQL that deletes the texts that a run has read and that nothing refers to any more."""
