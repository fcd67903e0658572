"""The tables of one run for other tools: those of the run database, with texts in place of their hashes.

Further columns tell which call of each agent and turn counts, and which calls failed. Some tables are added.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hobbes.engine.measures import agent_turns_of
from hobbes.engine.names import did_you_mean
from hobbes.errors import MissingError
from hobbes.store.calls import by_turn
from hobbes.store.checked_rows import Row
from hobbes.store.history import StoredHistory, load_state
from hobbes.store.home import Store
from hobbes.store.record_views import VIEWS
from hobbes.store.recorded_run import Run
from hobbes.store.row_hashes import CALL_COLUMNS
from hobbes.store.schema import ADDRESS, agent_turns_columns, kinds_of
from hobbes.store.turns import TURNS

QUERIES = {
    "turns": "select run, turn, digest, ended, state, ledgers from turns where run = ? order by turn",
    "calls": f"select {', '.join(CALL_COLUMNS)} from calls where run = ? order by turn, agent, attempt",  # noqa: S608  names are ours
    **{
        view.name: f"select {', '.join(view.kinds)} from {view.name} where run = ?"  # noqa: S608  names are ours
        f" order by turn, {', '.join(view.key)}"
        for view in VIEWS
    },
    "measures": (
        "select run, name, scope, value, decisions, failures from measures where run = ? order by rowid"
    ),
}

TABLES = (*QUERIES, "scores", "notes")
"""The names of the tables of a run of any world."""

AGENT_TURNS = "agent_turns"
"""The name of the plain table of a run: a row for each agent and turn, as its world declares it."""


def tables_of(run: Run) -> tuple[str, ...]:
    """Return the names of the tables of a run."""
    return TABLES if run.world.measures.agent_turns is None else (*TABLES, AGENT_TURNS)


JSON_COLUMNS = {("turns", "state"), ("turns", "ledgers"), ("calls", "usage")} | {
    (view.name, column) for view in VIEWS for column, kind in view.kinds.items() if kind == "json"
}
"""The columns that hold JSON: values in jsonl, text in the other formats."""


@dataclass(frozen=True, slots=True)
class RunTable:
    """One table of a run: its columns, each with its type (str, int, float or bool), and its rows.

    The rows are read from the run database one by one, and only once.
    """

    name: str
    columns: Mapping[str, type]
    rows: Iterator[Row]

    def values(self) -> Iterator[Row]:
        """Yield the rows with the values of their JSON columns in place of the texts."""
        columns = [column for column in self.columns if (self.name, column) in JSON_COLUMNS]
        for row in self.rows:
            yield row | {column: json.loads(row[column]) for column in columns if row[column] is not None}


def table_of(store: Store, run: Run, name: str) -> RunTable:
    """Return a table of a run; raise MissingError, with the names of all tables, if there is none."""
    if name not in tables_of(run):
        hint = did_you_mean(name, tables_of(run), f"tables: {', '.join(tables_of(run))}")
        raise MissingError(f"there is no table {name!r}{hint}")
    if made := MADE.get(name):
        return made(store, run)
    types = kinds_of(store.connection, name)
    cursor = store.connection.execute(QUERIES[name], [run.id])
    columns = {column: types[column] for column, *_ in cursor.description}
    if name == "calls":
        rows = _with_what_counts(store, run, _with_texts(store, store.calls.rows(run.id)))
        return RunTable(name, {**columns, "decides": bool, "failed": bool}, rows)
    if name != "measures":
        store.turns.check(run)
    stored = (dict(zip(columns, row, strict=True)) for row in cursor)
    if name == "turns":
        stored = (row for row in stored if TURNS.values(row))
        counted = {"decisions": int, "failures": int}
        return RunTable(name, {**columns, **counted}, _with_decisions(store, run, stored))
    return RunTable(name, columns, stored)


def _with_decisions(store: Store, run: Run, rows: Iterator[Row]) -> Iterator[Row]:
    decided, failed = by_turn(store.calls.decisions(run.id))
    for row in rows:
        yield {**row, "decisions": decided[row["turn"]], "failures": failed[row["turn"]]}


def _with_texts(store: Store, rows: Iterator[Row]) -> Iterator[Row]:
    """Yield the rows of calls with the texts of their prompts in place of their hashes."""
    for row in rows:
        system, prompt = store.calls.read(row).prompt
        yield {column: row[column] for column in CALL_COLUMNS} | {"system": system, "prompt": prompt}


def _with_what_counts(store: Store, run: Run, rows: Iterator[Row]) -> Iterator[Row]:
    """Yield the rows of calls; each says whether it counts for its agent and turn, and whether it failed."""
    failed = {(d.turn, d.agent, d.attempt): d.failed for d in store.calls.decisions(run.id)}
    for row in rows:
        address = row["turn"], row["agent"], row["attempt"]
        yield {**row, "decides": address in failed, "failed": failed.get(address, False)}


def _agent_turns(store: Store, run: Run) -> RunTable:
    """Return what each agent did and has, turn by turn, by today's formulas and up to the last turn."""
    rows = (
        {"run": run.id, "turn": one.turn, "agent": one.agent, **one.values}
        for played in StoredHistory(store, run)
        for one in agent_turns_of(run.world.measures, played)
    )
    return RunTable(AGENT_TURNS, agent_turns_columns(run.world), rows)


def _scores(store: Store, run: Run) -> RunTable:
    rows = (
        {"run": run.id, "turn": turn.turn, "agent": agent, "score": score}
        for turn in store.turns.of(run)
        for agent, score in run.world.scores(load_state(run, turn.turn, turn.record.state)).items()
    )
    return RunTable("scores", {**ADDRESS, "agent": str, "score": int}, rows)


def _notes(store: Store, run: Run) -> RunTable:
    rows = ({**note.to_json(), "tags": " ".join(note.tags)} for note in store.notes.of(run.id))
    texts = {"tags": str, "note": str, "written": str}
    return RunTable("notes", {**ADDRESS, "agent": str, "event": int, **texts}, rows)


MADE: Mapping[str, Callable[[Store, Run], RunTable]] = {
    AGENT_TURNS: _agent_turns,
    "scores": _scores,
    "notes": _notes,
}
"""The tables that are not those of the run database."""
