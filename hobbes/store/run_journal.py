"""The journal of a run in the run database: what `graphs` writes while the run is played."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import lru_cache
from operator import itemgetter
from typing import Any

from hobbes.engine.answer import ParsedAnswer
from hobbes.engine.measures import WorkedOut
from hobbes.engine.record import canonical, sha256
from hobbes.nodes.journal import Address, Call, Logged, Prompt, is_program, last_answer
from hobbes.store.calls import INSERT_CALL, STORED, columns_of_call
from hobbes.store.home import Store
from hobbes.store.recorded_run import PersonQuestion, Run
from hobbes.store.row_hashes import call_hash
from hobbes.store.runs import now, update_run
from hobbes.store.schema import insertion
from hobbes.store.turns import INSERT_TURN, hashed

INSERT_TEXT = insertion("insert or ignore", "texts", ("hash", "text"))


class RunJournal:
    """Writes a run's calls as they arrive and its turns as they end."""

    has_all = False

    def __init__(self, store: Store, run: Run) -> None:
        self._store = store
        self._run = run.id
        self._begun = run
        # Turns that have calls and no record exist only after a crash or a halt.
        self._attempts = store.calls.attempts_since(run.id, run.turns)
        self._arrived: list[Call] = []
        # The system text comes with every call of a model.
        self._hash_of = lru_cache(maxsize=2)(sha256)

    def answered(self, turn: int, agent: str, question: int, prompt: Prompt, spec: str) -> Call | None:
        """Return the last of the calls that answers, or None if it must be asked again."""
        if (turn, agent) not in self._attempts:
            return None
        calls = self._begun.kept_calls(self._store.calls.attempts(self._run, turn, agent)[agent])
        return last_answer(calls, question, prompt, spec)

    def free(self, turn: int, agent: str) -> Address:
        """Return the address of the next attempt."""
        return Address(turn, agent, self._attempts.get((turn, agent), 0) + 1)

    def read(self, call: Call, parsed: ParsedAnswer) -> None:
        """Do nothing: a stored call has its outcome already."""

    async def keep(self, *calls: Call) -> None:
        """Store calls, together with all that arrive in the same moment; none is ever overwritten."""
        self._arrived += calls
        try:
            await asyncio.sleep(0)  # all that has arrived gets its turn on the event loop
        finally:
            if self._arrived:  # another of these calls may have stored them all
                with self._store.connection:
                    self.insert(self._arrived)
                self._arrived = []

    def keep_answer(self, call: Call, question: PersonQuestion) -> bool:
        """Store a person's answer; once all have answered, the run stops waiting.

        Return whether the run still waited for this answer. If it did not, nothing is stored.
        """
        with self._store.connection as connection:
            questions = self._store.runs.find(self._run).questions
            if question not in questions:
                return False
            self.insert([call])
            left = [asdict(one) for one in questions if one != question]
            open_ones = {"question": json.dumps(left)} if left else {"status": "unfinished", "question": None}
            update_run(connection, self._run, open_ones)
            return True

    def keep_whole(
        self, turns: Iterable[tuple[int, str, str, str]], calls: Sequence[Call], found: WorkedOut
    ) -> None:
        """Store the turns (number, record, digest, ledgers), calls and figures of a finished run."""
        ended, connection = now(), self._store.connection
        with connection:
            connection.executemany(INSERT_TURN, (hashed(self._run, *turn, ended) for turn in turns))
            self.insert(calls)
            self._store.figures.keep_worked_out(self._begun, found)

    def _row(self, call: Call, arrived: str) -> dict[str, Any]:
        row = {
            "run": self._run,
            "turn": call.address.turn,
            "agent": call.address.agent,
            "attempt": call.address.attempt,
            "question": call.question,
            **columns_of_call(call, arrived, self._hash_of),
        }
        return {**row, "row_hash": call_hash(row)}

    def insert(self, calls: Sequence[Call]) -> None:
        """Insert calls, and the prompts that models and people were sent, in the caller's transaction."""
        arrived = now()
        rows = [self._row(call, arrived) for call in calls]
        texts = {row["system"]: call.prompt.system for row, call in zip(rows, calls, strict=True)}
        for row, call in zip(rows, calls, strict=True):
            if not is_program(call.reply.player):
                texts[row["prompt"]] = call.prompt.turn
        self._store.connection.executemany(INSERT_TEXT, texts.items())
        # Values by position are bound twice as fast as values by name.
        self._store.connection.executemany(INSERT_CALL, map(itemgetter(*STORED), rows))
        self._attempts |= {(row["turn"], row["agent"]): row["attempt"] for row in rows}

    def turn(self, turn: Logged) -> None:
        """Store a turn, and that the run has it, in one transaction."""
        number, record, digest, ledgers = turn
        with self._store.connection as connection:
            row = hashed(self._run, number, record.text, digest, canonical(ledgers), now())
            connection.execute(INSERT_TURN, row)
            connection.execute(
                "update runs set turns = max(turns, ?), digest = ?, status = 'unfinished', error = null"
                " where id = ?",
                (number + 1, digest, self._run),
            )
        self._attempts = {key: attempt for key, attempt in self._attempts.items() if key[0] > number}
