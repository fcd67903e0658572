"""A run's journal in the run database: what `graphs` writes while it plays."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from engine.record import sha256
from engine.reflection import REPORTS
from lab.records import Records, Run
from nodes.journal import Address, Call, Prompt, TurnRecord
from nodes.reading import DECISIONS, deciding

Row: TypeAlias = tuple[Any, ...]


class RunJournal:
    """Writes a run's calls as they arrive and its turns as they end."""

    def __init__(self, records: Records, run: Run) -> None:
        self._records = records
        self._run = run.id
        # Of turns that were never logged: only after a crash or a halt are there any, when a run is taken up.
        self._attempts = records.attempts_since(run.id, run.turns)
        # A run that halted on failures asks again; in any other they stay what they were.
        self._failures_count = run.status != "halted" and run.setting.config.on_failure != "halt"
        self._kept: set[str] = set()

    def answered(self, turn: int, agent: str, question: int, prompt: Prompt) -> Call | None:
        """Give the last call to this question, if it answers the same prompt and its failure counts."""
        if (turn, agent) not in self._attempts:
            return None
        calls = self._records.attempts(self._run, turn, agent)[agent]
        counts = deciding(calls)
        if not self._failures_count and counts is not None and counts.outcome not in DECISIONS:
            return None
        asked = (call for call in reversed(calls) if (call.question, call.prompt) == (question, prompt))
        return next(asked, None)

    def free(self, turn: int, agent: str) -> Address:
        """Give the attempt after all that were kept."""
        return Address(turn, agent, self._attempts.get((turn, agent), 0) + 1)

    def read(self, call: Call, outcome: str, stage: str) -> None:
        """Nothing to write: how a kept call was read stands beside it."""

    def keep(self, call: Call) -> None:
        """Write a call down in a transaction of its own; none is ever written over."""
        reply, address = call.reply, call.address
        with self._records.db.conn as connection:
            connection.execute(
                f"insert into calls values ({', '.join('?' * 18)})",  # noqa: S608  only marks
                (
                    self._run,
                    address.turn,
                    address.agent,
                    address.attempt,
                    call.outcome,
                    call.stage,
                    reply.model,
                    self._text(call.prompt.system),
                    self._text(call.prompt.turn),
                    reply.text,
                    reply.reasoning,
                    reply.error,
                    reply.tokens_in,
                    reply.tokens_out,
                    reply.milliseconds,
                    _now(),
                    reply.tries,
                    call.question,
                ),
            )
        self._attempts[address.turn, address.agent] = address.attempt

    def _text(self, text: str) -> str:
        """Keep a text, once; the system text comes with every call."""
        name = sha256(text)
        if name not in self._kept:
            self._records.text_hash(text)
            self._kept.add(name)
        return name

    def turn(self, turn: TurnRecord) -> None:
        """Write a turn and all its rows in one transaction."""
        record = turn.record
        rows: dict[str, list[Row]] = {
            "turns": [
                (as_json(record["state"]), as_json(record), turn.digest, as_json(turn.ledgers), _now())
            ],
            **rows_of(record),
        }
        with self._records.db.conn as connection:
            for table, values in ((table, values) for table, values in rows.items() if values):
                marks = ", ".join("?" * (2 + len(values[0])))
                connection.executemany(
                    f"insert or replace into {table} values ({marks})",  # noqa: S608  table names are ours
                    [(self._run, turn.turn, *value) for value in values],
                )
            connection.execute(
                "update runs set turns = max(turns, ?), digest = ?, status = 'unfinished', error = null"
                " where id = ?",
                (turn.turn + 1, turn.digest, self._run),
            )
        self._attempts = {key: attempt for key, attempt in self._attempts.items() if key[0] > turn.turn}


def rows_of(record: Mapping[str, Any]) -> dict[str, list[Row]]:
    """Give the rows that tell a turn's record, by table, each without its run and turn."""
    return {
        "intents": [(agent, as_json(intent)) for agent, intent in record["intents"].items()],
        "drops": [
            (n, d["agent"], d["stage"], d["code"], as_json(d["said"]), d["detail"])
            for n, d in enumerate(record["drops"])
        ],
        "mends": [
            (n, m["agent"], m["stage"], m["code"], as_json(m["said"]), as_json(m["kept"]))
            for n, m in enumerate(record["mends"])
        ],
        "events": [(n, e["type"], e["agent"], as_json(e)) for n, e in enumerate(record["events"])],
        "draws": [
            (n, d["event"], as_json(d["subject"]), as_json(d["participants"]), d["digest"], d["winner"])
            for n, d in enumerate(record["draws"])
        ],
        "reports": [
            (rater, ratee, kind, score)
            for rater, intent in record["intents"].items()
            for kind in REPORTS
            for ratee, score in intent["reflection"][kind].items()
        ],
        "messages": [
            (n, event["agent"], event.get("to", "all"), event["text"])
            for n, event in enumerate(event for event in record["events"] if event["type"] == "message")
        ],
        "minds": [(agent, as_json(mind)) for agent, mind in record["minds"].items()],
    }


def as_json(value: object) -> str:
    """Give the text of a JSON value, readable in any language."""
    return json.dumps(value, ensure_ascii=False)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
