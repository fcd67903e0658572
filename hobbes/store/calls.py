"""The calls of the runs of a home: the table `calls`, with the texts of their prompts."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, Field, Json

from hobbes.engine.answer import DECISIONS, FoundAs, Outcome
from hobbes.engine.measures import ratio
from hobbes.engine.record import sha256
from hobbes.errors import DamagedError
from hobbes.graphs.database import named_rows
from hobbes.nodes.journal import (
    FOLLOW_UP_QUESTION,
    TURN_QUESTION,
    Address,
    Call,
    CallDetails,
    Prompt,
    ReasoningSource,
    Reply,
    is_program,
)
from hobbes.nodes.reading import deciding
from hobbes.store.checked_rows import Row, Table, damage_error
from hobbes.store.recorded_run import with_time_zone
from hobbes.store.row_hashes import CALL_COLUMNS, call_hash
from hobbes.store.runs import Runs
from hobbes.store.schema import insertion
from hobbes.store.turns import Turns

DECIDING = (
    "select run, turn, agent, max(attempt) as attempt, outcome from calls where run = ?"
    " and (question = 1 or question = 2 and outcome in (?, ?))"
    " group by turn, agent"
)
"""The SQL of nodes.reading.deciding; SQLite takes the other columns from the row of the maximum."""

CALL_TYPES: Mapping[str, Any] = {
    "question": Annotated[int, Field(ge=TURN_QUESTION, le=FOLLOW_UP_QUESTION)],
    "outcome": Annotated[str, AfterValidator(Outcome)],
    "found_as": Annotated[str, AfterValidator(FoundAs)],
    "reasoning_source": Annotated[str, AfterValidator(ReasoningSource)],
    **dict.fromkeys(("model", "system", "prompt", "answer", "reasoning", "error"), str),
    "arrived": Annotated[str, AfterValidator(with_time_zone)],
    **dict.fromkeys(("tries", "milliseconds"), int),
    **dict.fromkeys(("player", "finish_reason", "service_tier", "fingerprint", "provider_id"), str | None),
    **dict.fromkeys(("tokens_in", "tokens_out"), int | None),
    **dict.fromkeys(("tokens_cached", "tokens_cache_written", "tokens_reasoning"), int | None),
    "provider_usd": float | None,
}
"""The types of the columns of a call, except those that say which one it is."""

CALL_JSON: Mapping[str, Any] = {"usage": Json[dict[str, Any]] | None}
"""Those of its columns that hold JSON."""


def _damage_error(row: Mapping[str, Any], problem: str) -> DamagedError:
    return damage_error(
        row["run"], f", turn {row['turn']}, {row['agent']}, attempt {row['attempt']}", problem
    )


CALLS = Table(
    "calls",
    {"run": str, "turn": int, "agent": str, "attempt": int, **CALL_TYPES},
    CALL_JSON,
    _damage_error,
)

STORED = (*CALL_COLUMNS, "row_hash")
"""The columns of a call as it is stored."""

INSERT_CALL = insertion("insert", "calls", STORED)


class Decision(NamedTuple):
    """The outcome of the call that counts for an agent in a turn."""

    turn: int
    agent: str
    attempt: int
    outcome: str

    @property
    def failed(self) -> bool:
        """Whether the call failed, so that the default action was taken."""
        return self.outcome not in DECISIONS


def by_turn(decisions: Iterable[Decision]) -> tuple[Counter[int], Counter[int]]:
    """Return two counts by turn: of all decisions, and of the failed calls among them."""
    decided, failed = Counter[int](), Counter[int]()
    for decision in decisions:
        decided[decision.turn] += 1
        failed[decision.turn] += decision.failed
    return decided, failed


def failures_among(outcomes: Mapping[str, int]) -> Row:
    """Return the failed calls among those that count: `total`, `share` (None without calls), `by_cause`."""
    by_cause = {outcome: n for outcome, n in outcomes.items() if outcome not in DECISIONS}
    failed = sum(by_cause.values())
    return {"total": failed, "share": ratio(failed, sum(outcomes.values())), "by_cause": by_cause}


def columns_of_call(call: Call, arrived: str, hash_of: Callable[[str], str] = sha256) -> dict[str, Any]:
    """Return the columns of a call after those that say which one it is (`schema.CALL`)."""
    reply = call.reply
    return {
        "tries": reply.tries,
        "outcome": call.outcome,
        "found_as": call.found_as,
        "model": reply.model,
        "player": reply.player,
        "system": hash_of(call.prompt.system),
        "prompt": sha256(call.prompt.turn),
        "answer": reply.text,
        "reasoning": reply.reasoning,
        "reasoning_source": reply.reasoning_source,
        "error": reply.error,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        **reply.details._asdict(),
        "milliseconds": reply.milliseconds,
        "arrived": arrived,
    }


class Calls:
    """The calls of the runs of a home."""

    def __init__(self, connection: sqlite3.Connection, runs: Runs, turns: Turns) -> None:
        self._connection = connection
        self._runs = runs
        # Each call of a turn needs the views of all its agents, and a card also those of the turn before.
        self.views_sent = lru_cache(maxsize=2)(lambda run, turn: turns.views_sent(runs.find(run), turn))

    def of_turn(self, run: str, turn: int, agent: str | None = None) -> list[Call]:
        """Return the calls of a turn that count, one per agent, sorted by agent."""
        return [call for calls in self.attempts(run, turn, agent).values() if (call := deciding(calls))]

    def attempts(self, run: str, turn: int, agent: str | None = None) -> dict[str, list[Call]]:
        """Return all calls of a turn by agent, each agent's in the order of their attempts.

        Raise DamagedError at a damaged one.
        """
        calls: dict[str, list[Call]] = {}
        for row in self.rows(run, turn, agent):
            call = self.read(row)
            calls.setdefault(call.address.agent, []).append(call)
        return calls

    def turns_asked_otherwise(self, one: str, other: str) -> list[int]:
        """Return the turns in which a run was sent a prompt that another was not, as their hashes tell."""
        sent = "select turn, agent, question, system, prompt from calls where run = ?"
        sql = f"select distinct turn from ({sent} except {sent}) order by turn"  # noqa: S608  our own
        return [turn for (turn,) in self._connection.execute(sql, [one, other])]

    def rows(self, run: str, turn: int | None = None, agent: str | None = None) -> Iterator[Row]:
        """Yield the calls of a run, of one turn or of all, for `read`: by turn, agent and attempt.

        Raise DamagedError at one that was changed.
        """
        for row in self.rows_unchecked(run, turn, agent):
            if is_changed(row):
                raise _damage_error(row, "its row in the table calls was changed")
            yield row

    def rows_unchecked(self, run: str, turn: int | None = None, agent: str | None = None) -> Iterator[Row]:
        """Yield the calls of a run as they are, by turn, agent and attempt."""
        only = {"run": run, "turn": turn, "agent": agent}
        at = " and ".join(f"{column} = :{column}" for column, value in only.items() if value is not None)
        sql = f"select {', '.join(STORED)} from calls where {at} order by turn, agent, attempt"  # noqa: S608  names are ours
        return named_rows(self._connection, sql, only)

    def read(self, row: Row, known: Mapping[str, str] | None = None) -> Call:
        """Return the call of a row; raise DamagedError if it is damaged.

        `known` are texts by hash, which need not be read again.
        """
        CALLS.values(row)
        return self.call(row, known)

    def call(self, row: Row, known: Mapping[str, str] | None = None) -> Call:
        """Return the call of a row whose columns hold what they should."""
        outcome = Outcome(row["outcome"])
        failure = None if outcome in DECISIONS or outcome is Outcome.UNREADABLE else outcome
        return Call(
            Address(row["turn"], row["agent"], row["attempt"]),
            Prompt(self._text(row, "system", known), self._text(row, "prompt", known)),
            Reply(
                row["answer"],
                row["model"],
                row["reasoning"],
                failure,
                row["error"],
                row["tokens_in"],
                row["tokens_out"],
                row["milliseconds"],
                row["tries"],
                row["player"] or "",
                ReasoningSource(row["reasoning_source"]),
                CallDetails(*(row[column] for column in CallDetails._fields)),
            ),
            outcome,
            FoundAs(row["found_as"]),
            row["question"],
        )

    def _text(self, row: Row, column: str, known: Mapping[str, str] | None) -> str:
        """Return a text of a call's prompt. That of a program follows from the turn before."""
        name = row[column]
        if known and name in known:
            return known[name]
        if column == "prompt" and is_program(row["player"] or ""):
            return self.views_sent(row["run"], row["turn"]).get(row["agent"], "")
        return self._runs.text_of(CALLS, row, column)

    def attempts_since(self, run: str, turn: int) -> dict[tuple[int, str], int]:
        """Return the last stored attempt of each turn and agent, from this turn on."""
        sql = "select turn, agent, max(attempt) from calls where run = ? and turn >= ? group by turn, agent"
        return {(at, agent): attempt for at, agent, attempt in self._connection.execute(sql, [run, turn])}

    def decisions(self, run: str) -> Iterator[Decision]:
        """Yield the outcome of the call that counts, for each turn and agent.

        Raise DamagedError at an outcome that there is not.
        """
        for _, *row in self._connection.execute(DECIDING, [run, *sorted(DECISIONS)]):
            decision = Decision(*row)
            if decision.outcome not in {*Outcome}:
                problem = f"the column calls.outcome is damaged: there is no outcome {decision.outcome!r}"
                raise damage_error(run, f", turn {decision.turn}", problem)
            yield decision

    def counts(self, run: str) -> Counter[str]:
        """Count the calls of a run that count by their outcomes, in the order of turns and outcomes."""
        in_order = sorted((decision.turn, decision.outcome) for decision in self.decisions(run))
        return Counter(outcome for _, outcome in in_order)

    def failures(self, run: str) -> Row:
        """Count the failed calls of a run, one per agent and turn at most: the call that counts failed.

        The observer counts as an agent. `share` is the share of all decisions, None if there are none yet.
        """
        decisions = list(self.decisions(run))
        failed = [decision for decision in decisions if decision.failed]
        return {
            **failures_among(dict(Counter(decision.outcome for decision in decisions).most_common())),
            "by_turn": dict(Counter(decision.turn for decision in failed)),
            "by_agent": dict(Counter(decision.agent for decision in failed).most_common()),
        }

    def first_asked(self, run: str) -> dict[str, int]:
        """Return the first turn in which each agent was asked, in the order of these turns."""
        sql = "select agent, min(turn) from calls where run = ? group by agent order by 2, 1"
        return dict(self._connection.execute(sql, [run]).fetchall())

    def answered(self, run: str) -> set[str]:
        """Return the specs of the players that have answered a call of a run."""
        sql = "select distinct player from calls where run = ? and outcome in (?, ?) and player is not null"
        return {player for (player,) in self._connection.execute(sql, [run, *sorted(DECISIONS)])}

    def copy(self, parent: str, turns: int, run: str) -> None:
        """Copy the calls of the first turns of a run to its fork; raise DamagedError at a changed one."""
        copies = ({**row, "run": run} for turn in range(turns) for row in self.rows(parent, turn))
        rows = [{**copy, "row_hash": call_hash(copy)} for copy in copies]
        self._connection.executemany(INSERT_CALL, map(itemgetter(*STORED), rows))


def is_changed(row: Row) -> bool:
    """Return whether the row of a call is not as it was written."""
    try:
        return bool(row["row_hash"] != call_hash(row))
    except (TypeError, ValueError):  # damaged bytes can make of a value what no row is written with
        return True
