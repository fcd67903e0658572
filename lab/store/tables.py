"""The tables of one run, as exports write them: those of the database, texts put in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.turn import TurnRecord
from lab.store.database import Run, Store

Row: TypeAlias = dict[str, Any]

QUERIES = {
    "turns": "select run, turn, digest, ended, state, ledgers from turns where run = ? order by turn",
    "calls": (
        "select run, turn, agent, attempt, question, tries, outcome, found_as, model, told.text as system,"
        " asked.text as prompt, answer, reasoning, error, tokens_in, tokens_out, milliseconds, arrived"
        " from calls join texts as told on told.hash = calls.system"
        " join texts as asked on asked.hash = calls.prompt where run = ? order by turn, agent, attempt"
    ),
    **{
        table.name: f"select run, turn, {', '.join(table.columns)} from {table.name}"  # noqa: S608  names are ours
        " where run = ? order by turn, rowid"
        for table in TurnRecord.tables()
    },
    "measures": (
        "select run, name, scope, value, decisions, failures from measures where run = ? order by rowid"
    ),
}

JSON_COLUMNS = {("turns", "state"), ("turns", "ledgers")} | {
    (table.name, column)
    for table in TurnRecord.tables()
    for column, kind in table.columns.items()
    if kind == "json"
}
"""The columns that hold JSON: values in jsonl, their text elsewhere."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows, and their columns with the type of each: str, int, float or bool."""

    name: str
    columns: Mapping[str, type]
    rows: list[Row]

    def wider(self, columns: Mapping[str, type], more: list[Row]) -> "Table":
        """Return the table with further columns."""
        rows = [{**row, **added} for row, added in zip(self.rows, more, strict=True)]
        return Table(self.name, {**self.columns, **columns}, rows)


def queried(store: Store, run: Run, name: str) -> Table:
    """Return a run's rows of a table of the database."""
    cursor = store.db.conn.execute(QUERIES[name], [run.id])
    types = store.db.table(name).columns_dict
    columns = {column: types[column] for column, *_ in cursor.description}
    return Table(name, columns, [dict(zip(columns, row, strict=True)) for row in cursor])
