"""The turns of the runs of a home: the table `turns`."""

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import Json as JsonText

from hobbes.engine.memory import Memory
from hobbes.engine.record import Json, canonical, sha256
from hobbes.engine.turn import TurnRecord, views
from hobbes.store.checked_rows import Table, damage_error
from hobbes.store.recorded_run import Run
from hobbes.store.row_hashes import TURN_COLUMNS, turn_hash
from hobbes.store.schema import COUNTS, insertion

TURNS = Table(
    "turns",
    {"run": str, "turn": int, "digest": str, "ended": str},
    {"ledgers": JsonText[dict[str, Any]]},
    lambda row, problem: damage_error(row["run"], f", turn {row['turn']}", problem),
)
"""The columns of a turn beside its record, which the digests cover."""

STORED = (*TURN_COLUMNS, "row_hash")
"""The columns of a turn as it is stored; `state` is a part of the record."""

INSERT_TURN = insertion("insert or replace", "turns", STORED)
"""If a turn is stored again after a crash, its row replaces the first one."""


def hashed(*row: Json) -> tuple[Json, ...]:
    """Return the row of a turn, whose values are in the order of TURN_COLUMNS, with its hash behind them."""
    return (*row, turn_hash(row))


@dataclass(frozen=True)
class LoggedTurn:
    """A stored turn: its record and its ledgers as texts, and its digest in the hash chain."""

    run: str
    turn: int
    text: str
    """The record as the database stores it."""
    digest: str
    ledgers_text: str
    ended: str
    row_hash: str

    @property
    def is_changed(self) -> bool:
        """Whether the row is not as it was written."""
        row = (self.run, self.turn, self.text, self.digest, self.ledgers_text, self.ended)
        return turn_hash(row) != self.row_hash

    @cached_property
    def record(self) -> TurnRecord:
        """The record. Raise DamagedError if this hobbes cannot read it."""
        try:
            return TurnRecord.from_json(json.loads(self.text))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            problem = f"the column turns.record is damaged: {type(error).__name__} {error}"
            raise damage_error(self.run, f", turn {self.turn}", problem) from error

    @cached_property
    def ledgers(self) -> dict[str, Any]:
        """The world's ledgers. Raise DamagedError if they cannot be read."""
        row = {"run": self.run, "turn": self.turn, "ledgers": self.ledgers_text}
        ledgers: dict[str, Any] = TURNS.value(row, "ledgers")
        return ledgers


class Turns:
    """The turns of the runs of a home."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def of(self, run: Run, first: int = 0, last: int | None = None) -> Iterator[LoggedTurn]:
        """Yield the stored turns of a run in order, from the first to the last.

        Raise DamagedError at one that does not fit the chain of digests, was changed, or is not there.
        """
        digest = self._digest_of(run, first - 1) if first else ""
        due = first
        for turn in self.unchecked(run, first, last):
            if turn.turn != due or turn.digest != sha256(f"{run.digest_before(due, digest)}{turn.text}"):
                break
            if turn.is_changed:
                raise damage_error(run.id, f", turn {due}", "its row in the table turns was changed")
            yield turn
            due, digest = due + 1, turn.digest
        until = run.turns if last is None else min(run.turns, last + 1)
        if due < until:
            problem = "the column turns.record or turns.digest is damaged: the turn does not fit its digest"
            raise damage_error(run.id, f", turn {due}", problem)

    def check(self, run: Run) -> None:
        """Raise DamagedError if a turn is damaged: what SQL reads of records is not checked row by row."""
        for _ in self.of(run):
            pass

    def first_beyond(self, table: str, run: str, turns: int) -> int | None:
        """Return the first turn with rows in a table that is none of a run's first ones; None without any."""
        sql = f"select min(turn) from {table} where run = ? and not turn between 0 and ?"  # noqa: S608  names are ours
        (turn,) = self._connection.execute(sql, [run, turns - 1]).fetchone()
        return turn if turn is None else int(turn)

    def rows_unchecked(
        self, table: str, columns: Collection[str], run: str, turn: int
    ) -> set[tuple[Json, ...]]:
        """Return columns of the rows that a table has of a turn, as they are."""
        sql = f"select {', '.join(columns)} from {table} where run = ? and turn = ?"  # noqa: S608  names are ours
        return set(self._connection.execute(sql, (run, turn)))

    def counts(self, run: str) -> dict[str, int]:
        """Return the numbers of `rejected` and `corrected` parts of answers in the stored turns of a run."""
        sql = f"select {', '.join(COUNTS.values())} from turns where run = ?"  # noqa: S608  our own
        return dict(zip(COUNTS, self._connection.execute(sql, [run]).fetchone(), strict=True))

    def unchecked(self, run: Run, first: int = 0, last: int | None = None) -> Iterator[LoggedTurn]:
        """Yield the stored turns of a run in order, as they are."""
        sql = (
            f"select {', '.join(STORED)} from turns"  # noqa: S608  names are ours
            " where run = ? and turn between ? and ? order by turn"
        )
        return (
            LoggedTurn(*row)
            for row in self._connection.execute(sql, [run.id, first, run.turns - 1 if last is None else last])
        )

    def _digest_of(self, run: Run, turn: int) -> str:
        """Return the digest of a turn; empty if there is no such turn."""
        sql = "select digest from turns where run = ? and turn = ?"
        row = self._connection.execute(sql, [run.id, turn]).fetchone()
        return row[0] if row else ""

    def views_sent(self, run: Run, turn: int) -> Mapping[str, str]:
        """Return the view that each agent was shown in a turn, as text.

        Those of scripted policies are not stored, because they follow from the turn before.
        """
        world, setting = run.world, run.at(turn).setting
        state = world.setup(setting.config, setting.agents, setting.seed)
        memories: Mapping[str, Memory] = {}
        if turn:
            (last,) = self.of(run, turn - 1, turn - 1)
            state, memories = world.state.load(setting, last.record.state), last.record.memories
        return {agent: canonical(view) for agent, view in views(world, state, memories).items()}

    def copy(self, parent: Run, turns: int, run: str) -> str:
        """Copy the first turns of a run to its fork. Return the digest of the last one, empty without any.

        Raise DamagedError at a turn that was changed.
        """
        if not turns:
            return ""
        rows = (
            hashed(run, turn.turn, turn.text, turn.digest, turn.ledgers_text, turn.ended)
            for turn in self.of(parent, 0, turns - 1)
        )
        self._connection.executemany(INSERT_TURN, rows)
        return self._digest_of(parent, turns - 1)
