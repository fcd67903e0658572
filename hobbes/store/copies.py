"""Copy a run from one run database to another: with Ray, runs are played in homes of their own."""

import json
from sqlite3 import Connection

from hobbes.store.home import Store
from hobbes.store.runs import RUNS
from hobbes.store.schema import TEMPLATES, ensure_agent_turns, insertion

NOT_OF_THE_RUN = {"cells"}
"""Tables with a column `run` that do not describe it: which cell of an experiment it plays."""


def copy_run(source: Store, target: Store, run: str) -> None:
    """Copy a run with all its rows, in place of what the target has of it.

    `verify`, `trace`, `export` and reports find the same in the copy as in the run. A parent is not copied.
    The caller must ensure that nobody plays the run in the target meanwhile. Raise
    sqlite3.IntegrityError if another run of the target has its name.
    """
    with source.as_of_now(), target.db.atomic():
        _copy_texts(source, target, run)
        _copy_rows(source, target, "runs", "id", run)
        ensure_agent_turns(target.connection, source.runs.find(run).world)
        for table in tables_of_runs(source.connection):
            target.db.execute(f"delete from {table} where run = ?", [run])  # noqa: S608  names are ours
            _copy_rows(source, target, table, "run", run)


def tables_of_runs(connection: Connection) -> list[str]:
    """Return the tables whose rows belong to runs."""
    tables = connection.execute(
        "select name from sqlite_master where type = 'table'"
        " and exists (select 1 from pragma_table_info(sqlite_master.name) where name = 'run')"
    ).fetchall()
    return [table for (table,) in tables if table not in NOT_OF_THE_RUN]


def _copy_texts(source: Store, target: Store, run: str) -> None:
    row = source.runs.row_unchecked(run)
    stretches = [row, *(RUNS.value(row, "earlier") or ())]
    templates = {stretch[column] for stretch in stretches for column in TEMPLATES}
    texts = source.connection.execute(
        "select text from texts where hash in (select value from json_each(:templates))"
        " or hash in (select system from calls where run = :run)"
        " or hash in (select prompt from calls where run = :run)",
        {"templates": json.dumps(sorted(templates)), "run": run},
    )
    for (text,) in texts:
        target.runs.add_text(text)


def _copy_rows(source: Store, target: Store, table: str, key: str, run: str) -> None:
    columns = [
        name for (name,) in source.connection.execute("select name from pragma_table_info(?)", [table])
    ]
    names, insert = ", ".join(columns), insertion("insert", table, columns)
    if table == "runs":
        # If the target has the run, its row is updated in place, because the order of rows is that of runs.
        insert += (
            f" on conflict (id) do update set {', '.join(f'{name} = excluded.{name}' for name in columns)}"
        )
    rows = source.connection.execute(f"select {names} from {table} where {key} = ? order by rowid", [run])  # noqa: S608  names are ours
    target.connection.executemany(insert, rows)
