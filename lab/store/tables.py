"""The tables of one run for exports: those of the run database, with texts in place of their hashes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.turn import TurnRecord
from lab.store.database import Run, Store

Row: TypeAlias = dict[str, Any]

QUERIES = {
    "turns": "select run, turn, digest, ended, state, ledgers from turns where run = ? order by turn",
    "calls": (
        "select run, turn, agent, attempt, question, tries, outcome, found_as, model, player,"
        " systems.text as system, prompts.text as prompt, answer, reasoning, error, tokens_in, tokens_out,"
        " milliseconds, arrived"
        " from calls join texts as systems on systems.hash = calls.system"
        " join texts as prompts on prompts.hash = calls.prompt where run = ? order by turn, agent, attempt"
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
"""The columns that hold JSON: values in jsonl, text in the other formats."""


@dataclass(frozen=True, slots=True)
class RunTable:
    """One table of a run: its columns, each with its type (str, int, float or bool), and its rows."""

    name: str
    columns: Mapping[str, type]
    rows: list[Row]

    def with_columns(self, columns: Mapping[str, type], values: list[Row]) -> "RunTable":
        """Return the table with more columns; `values` has their values, one dictionary per row."""
        rows = [{**row, **added} for row, added in zip(self.rows, values, strict=True)]
        return RunTable(self.name, {**self.columns, **columns}, rows)


def read_table(store: Store, run: Run, name: str) -> RunTable:
    """Return the rows of a run in a table of the run database."""
    cursor = store.db.conn.execute(QUERIES[name], [run.id])
    types = store.db.table(name).columns_dict
    columns = {column: types[column] for column, *_ in cursor.description}
    return RunTable(name, columns, [dict(zip(columns, row, strict=True)) for row in cursor])
