"""The figures of the runs of a home: results, costs and the table `measures`."""

import sqlite3
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hobbes.engine.answer import NO_ANSWER
from hobbes.engine.measures import AgentTurn, WorkedOut
from hobbes.engine.record import compact
from hobbes.engine.world import ending_of
from hobbes.errors import DamagedError
from hobbes.graphs.database import named_rows
from hobbes.nodes.caps import Spent
from hobbes.nodes.journal import REFUSED_NOTE, WRITTEN_BY_PEOPLE, CallDetails, PlayerKind, Reply
from hobbes.store.calls import CALLS, Calls, by_turn, failures_among
from hobbes.store.prices import usd
from hobbes.store.recorded_run import Run
from hobbes.store.runs import RUNS, Runs, check_row, now, update_run
from hobbes.store.schema import (
    TEMPLATES,
    agent_turns_columns,
    agent_turns_table,
    ensure_agent_turns,
    has_agent_turns,
)
from hobbes.store.turns import Turns

SILENT = f"tokens_in + tokens_out is null and outcome not in {tuple(sorted(o.value for o in NO_ANSWER))}"
"""SQL for the calls that were answered without a token count."""

MAY_COST = (
    f"not ifnull(player glob '{PlayerKind.POLICY}:*' or player glob '{PlayerKind.PYTHON}:*', false)"
    f" and outcome not in {tuple(sorted(o.value for o in NO_ANSWER))}"
)
"""SQL for the calls that may cost something: programs cost nothing, nor does a call without an answer."""

TOKENS = ("in", "out", "cached", "cache_written", "reasoning")
"""The kinds of tokens that are counted."""

NOT_LISTED = (*TEMPLATES, "observer_text", "earlier", "column_hashes")
"""Columns of a run that a list of runs does not have."""


class Figures:
    """The figures of the runs of a home."""

    def __init__(self, connection: sqlite3.Connection, runs: Runs, turns: Turns, calls: Calls) -> None:
        self._connection = connection
        self._runs = runs
        self._turns = turns
        self._calls = calls

    def result(self, run: Run) -> dict[str, Any]:
        """Return the results of a run, as `hobbes run --json` prints them."""
        row = self._runs.row(run.id)
        self._turns.check(run)
        outcomes = self.counts(run.id, "calls", "outcome")
        return {
            "run": run.id,
            **({"parent": run.parent, "turn": run.forked_at} if run.parent else {}),
            "world": run.world.name,
            "turns": run.turns,
            "digest": run.digest,
            "over": run.status == "finished",
            "scores": RUNS.value(row, "scores") or {},
            "calls": sum(outcomes.values()),
            "outcomes": outcomes,
            "failures": self._calls.failures(run.id),
            "drops": self.counts(run.id, "drops", "code"),
            "mends": self.counts(run.id, "mends", "code"),
            "tokens": self.tokens(run),
            "left_out": self.left_out(run.id),
            "usd": self.spent(run).usd,
            "seconds": run.seconds,
            "tainted": bool(row["tainted"]),
            "halted": row["error"] if run.status == "halted" else None,
        }

    def about(self, run: str) -> dict[str, Any]:
        """Return the columns of a run, without its prompt texts, and its failed calls."""
        return {**_columns(self._runs.row(run)), "failures": self._calls.failures(run)}

    def of_all_runs(self) -> list[dict[str, Any]]:
        """Return all runs, the newest first, each as `about` describes it; failures by cause alone.

        A damaged run has the status `damaged`, its error as `damage`, and no other facts.
        """
        return [self._about_any(row) for row in self._runs.rows()]

    def _about_any(self, row: dict[str, Any]) -> dict[str, Any]:
        try:
            check_row(row)
            about = _columns(row)
            outcomes = about["outcomes"]
            if outcomes is None:  # it has not finished
                outcomes = self._calls.counts(row["id"])
                about |= self._turns.counts(row["id"])
        except DamagedError as error:
            nothing = dict.fromkeys(column for column in row if column not in NOT_LISTED)
            known = {"id": row["id"], "name": row["name"], "status": "damaged", "damage": str(error)}
            return {**nothing, **known, "failures": failures_among({})}
        return {**about, "failures": failures_among(outcomes)}

    def of_measure(self, name: str) -> dict[str, float | None]:
        """Return a measure of each run that has it, by the run's id."""
        sql = (
            "select id, value from runs cross join measures on run = id and measures.name = :name"
            " and scope = 'run' union all"  # a run that kept no turns has its measures in its row of reported
            " select run, json_extract(measures, '$.\"' || :name || '\"[0]')"
            " from (select run, iif(json_valid(measures), measures, '{}') as measures from reported)"
            " where json_type(measures, '$.\"' || :name || '\"[0]') in ('real', 'integer', 'null')"
        )
        return dict(self._connection.execute(sql, {"name": name}).fetchall())

    def counts(self, run: str, table: str, column: str) -> dict[str, int]:
        """Count the rows of a run in a table by the values of a column."""
        sql = f"select {column}, count(*) from {table} where run = ? group by 1 order by 2 desc, 1"  # noqa: S608  names are ours
        return dict(self._connection.execute(sql, [run]).fetchall())

    def tokens(self, run: Run) -> dict[str, int | None]:
        """Return the sums of the tokens of a run's own calls, None if no call has a count.

        `cached` and `cache_written` are parts of `in`, `reasoning` is a part of `out`.
        `untold` is the number of answers without a token count. A fork did not pay for its parent's calls.
        """
        sums = ", ".join(f"sum(tokens_{kind})" for kind in TOKENS)
        sql = f"select {sums}, sum({SILENT}) from calls where run = ? and turn >= ?"  # noqa: S608  our own
        *counts, untold = self._connection.execute(sql, [run.id, run.forked_at]).fetchone()
        return {**dict(zip(TOKENS, counts, strict=True)), "untold": untold or 0}

    def left_out(self, run: str | None = None) -> dict[str, list[str]]:
        """Return how each player was asked whose server refused a parameter, such as `without temperature`.

        It is that of a run, or of all runs.
        """
        which = "run = ifnull(?, run) and error glob ?"
        sql = f"select distinct player, error from calls where {which} order by 1, 2"  # noqa: S608  our own
        found: dict[str, list[str]] = {}
        for player, error in self._connection.execute(sql, [run, f"sent *{REFUSED_NOTE}*"]):
            note = error.partition(REFUSED_NOTE)[0].removeprefix("sent ")
            found.setdefault(player, []).append(note)
        return found

    def spent(self, run: Run) -> Spent:
        """Return what a run has cost so far; unknown counts stay unknown.

        Answers that people wrote do not count, nor do the turns that a fork has from its parent.
        """
        paid = "run = ? and turn >= ? and model not in (?, ?)"
        values = [run.id, run.forked_at, *WRITTEN_BY_PEOPLE]
        ((calls,),) = self._connection.execute(f"select count(*) from calls where {paid}", values)  # noqa: S608  our own
        spent = Spent(calls, seconds=run.seconds)
        columns = ("run", "turn", "agent", "attempt", "player", "arrived", "model", "tokens_in", "tokens_out")
        sql = f"select {', '.join((*columns, *CallDetails._fields))} from calls where {paid} and {MAY_COST}"  # noqa: S608  our own
        for call in named_rows(self._connection, sql, values):
            into, out = call["tokens_in"], call["tokens_out"]
            details = CallDetails(*(call[name] for name in CallDetails._fields))
            reply = Reply("", call["model"], tokens_in=into, tokens_out=out, details=details)
            arrived = datetime.fromisoformat(CALLS.value(call, "arrived"))
            cost = usd(reply, run.model_settings.get(call["player"] or ""), arrived)
            spent.add(None if into is None or out is None else into + out, cost)
        return spent

    def measures(self, run: str) -> dict[str, float | None]:
        """Return the measures of the whole run: name to value."""
        sql = "select name, value from measures where run = ? and scope = 'run' order by rowid"
        return dict(self._connection.execute(sql, [run]).fetchall())

    def of_scopes(self, run: str) -> dict[tuple[str, str], tuple[float | None, int, int]]:
        """Return all measures by name and scope: value, number of decisions, number of failed calls."""
        sql = "select name, scope, value, decisions, failures from measures where run = ?"
        return {row[:2]: row[2:] for row in self._connection.execute(sql, [run])}

    def end_run(self, run: Run, columns: Mapping[str, str | float | None], found: WorkedOut) -> None:
        """Store the columns of a run that has finished, and the figures that follow from its turns."""
        with self._connection as connection:
            self.keep_worked_out(run, found)
            update_run(connection, run.id, columns)

    def keep_worked_out(self, run: Run, found: WorkedOut) -> None:
        """Store the measures of a run, whose calls are stored, and its rows of the plain table of its world.

        They take the place of earlier ones, in the transaction of the caller.
        """
        counts, connection = self.counts_of_scopes(run.id), self._connection
        in_order = sorted(found.measures, key=lambda one: (one.scope.startswith("turn/"), one.scope != "run"))
        connection.execute("delete from measures where run = ?", [run.id])
        connection.executemany(
            "insert into measures values (?, ?, ?, ?, ?, ?)",
            (
                (run.id, one.name, one.scope, one.value, *counts.get(one.scope, (None, None)))
                for one in in_order
            ),
        )
        if run.world.measures.agent_turns is not None:
            ensure_agent_turns(connection, run.world)
            table, columns = agent_turns_table(run.world), agent_turns_columns(run.world)
            connection.execute(f"delete from {table} where run = ?", [run.id])  # noqa: S608  names are ours
            connection.executemany(
                f"insert into {table} values ({', '.join(f':{column}' for column in columns)})",  # noqa: S608  names are ours
                (
                    {"run": run.id, "turn": one.turn, "agent": one.agent, **one.values}
                    for one in found.agent_turns
                ),
            )
        update_run(connection, run.id, {"measures_version": run.world.measures.version})

    def agent_turns(self, run: Run) -> list[AgentTurn]:
        """Return the stored rows of a run in the plain table of its world, by turn and agent.

        There are none if the table is missing, or has other columns than today.
        """
        declared = run.world.measures.agent_turns
        if declared is None or not has_agent_turns(self._connection, run.world):
            return []
        table = agent_turns_table(run.world)
        sql = f"select * from {table} where run = ? order by turn, agent"  # noqa: S608  names are ours
        rows = named_rows(self._connection, sql, [run.id])
        return [
            AgentTurn(row["turn"], row["agent"], {name: row[name] for name in declared.columns})
            for row in rows
        ]

    def counts_of_scopes(self, run: str) -> dict[str, tuple[int, int]]:
        """Return the number of decisions and of failed calls among them in each scope of a run's measures."""
        decided, failed = by_turn(self._calls.decisions(run))
        ((played,),) = self._connection.execute("select turns from runs where id = ?", [run])
        half = played // 2
        turns = {f"turn/{turn}": range(turn, turn + 1) for turn in range(played)}
        halves = {"first-half": range(half), "second-half": range(half, played)}
        return {
            scope: (sum(decided[turn] for turn in within), sum(failed[turn] for turn in within))
            for scope, within in {"run": range(played), **halves, **turns}.items()
        }


def _columns(row: dict[str, Any]) -> dict[str, Any]:
    columns = {column: RUNS.plain(row, column) for column in row if column not in NOT_LISTED}
    return {**columns, "tainted": None if row["tainted"] is None else bool(row["tainted"]), "damage": None}


def columns_at_end(
    run: Run,
    outcomes: Mapping[str, int],
    last: Any,  # noqa: ANN401  a world's own state
    counts: Mapping[str, int],
) -> dict[str, str | float | None]:
    """Return the columns of a run that has finished. It is tainted if too many of its calls failed.

    They follow from the outcomes of its calls that count, the state at its end, and its numbers of rejections
    and corrections.
    """
    most_failures = sum(outcomes.values()) * float(run.setting.config.taint_share)
    return {
        "status": "finished",
        "ended": now(),
        "outcomes": compact(outcomes),
        "scores": compact(run.world.scores(last)),
        "tainted": int(failures_among(outcomes)["total"] > most_failures),
        **counts,
        "ending": ending_of(run.world, last),
    }
