"""The tables of one run for other tools: those of the run database, with texts in place of their hashes.

Further columns tell which call of each agent and turn counts, and which calls failed. Two tables are added.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.turn import TurnRecord
from lab.errors import MissingError
from lab.store.database import Run, Store, by_turn
from lab.store.history import scores

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

TABLES = (*QUERIES, "failures", "scores")
"""The names of the tables of a run."""

ADDRESS: Mapping[str, type] = {"run": str, "turn": int, "agent": str}
"""The first columns of the tables that are added."""

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

    def values(self) -> Iterator[Row]:
        """Yield the rows with the values of their JSON columns in place of the texts."""
        columns = [column for column in self.columns if (self.name, column) in JSON_COLUMNS]
        for row in self.rows:
            yield row | {column: json.loads(row[column]) for column in columns if row[column] is not None}


def table_of(store: Store, run: Run, name: str) -> RunTable:
    """Return a table of a run; raise MissingError, with the names of all tables, if there is none."""
    if name not in TABLES:
        raise MissingError(f"there is no table {name!r}; tables: {', '.join(TABLES)}")
    if name == "failures":
        return _failures(store, run)
    if name == "scores":
        return _scores(store, run)
    table = _stored(store, run, name)
    if name == "turns":
        decided, failed = by_turn(store.decisions(run.id))
        more = [{"decisions": decided[r["turn"]], "failures": failed[r["turn"]]} for r in table.rows]
        return table.with_columns({"decisions": int, "failures": int}, more)
    if name == "calls":
        counts = {(d.turn, d.agent, d.attempt): d for d in store.decisions(run.id)}
        found = [counts.get((r["turn"], r["agent"], r["attempt"])) for r in table.rows]
        more = [{"decides": d is not None, "failed": d is not None and d.failed} for d in found]
        return table.with_columns({"decides": bool, "failed": bool}, more)
    return table


def _stored(store: Store, run: Run, name: str) -> RunTable:
    """Return the rows of a run in a table of the run database."""
    cursor = store.db.conn.execute(QUERIES[name], [run.id])
    types = store.db.table(name).columns_dict
    columns = {column: types[column] for column, *_ in cursor.description}
    return RunTable(name, columns, [dict(zip(columns, row, strict=True)) for row in cursor])


def _failures(store: Store, run: Run) -> RunTable:
    """Return the failed calls among those that count."""
    return RunTable(
        "failures",
        {**ADDRESS, "attempt": int, "cause": str},
        [
            {"run": run.id, "turn": d.turn, "agent": d.agent, "attempt": d.attempt, "cause": d.outcome}
            for d in store.decisions(run.id)
            if d.failed
        ],
    )


def _scores(store: Store, run: Run) -> RunTable:
    """Return the score of each agent after each turn."""
    return RunTable(
        "scores",
        {**ADDRESS, "score": int},
        [
            {"run": run.id, "turn": turn, "agent": agent, "score": score}
            for turn, now in scores(store, run)
            for agent, score in now.items()
        ],
    )
