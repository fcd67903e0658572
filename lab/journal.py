"""A run's journal in the run database: what `graphs` writes while it plays."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from engine.record import sha256
from engine.reflection import REPORTS
from lab.records import Records, Run
from nodes.journal import Address, Call, Prompt, TurnRecord

Row: TypeAlias = tuple[Any, ...]


class RunJournal:
    """Writes a run's calls as they arrive and its turns as they end."""

    def __init__(self, records: Records, run: Run) -> None:
        self._records = records
        self._run = run.id
        # Answers of turns that were never logged: only after a crash are there any.
        self._waiting = records.answered_since(run.id, run.turns)
        self._kept: set[str] = set()

    def answered(self, address: Address, prompt: Prompt) -> Call | None:
        """Give the last call of this turn and agent, if it answers the same prompt."""
        if (address.turn, address.agent) not in self._waiting:
            return None
        call = self._records.calls(self._run, address.turn, address.agent)[0]
        return call if call.prompt == prompt else None

    def read(self, call: Call, outcome: str, stage: str) -> None:
        """Nothing to write: how a kept call was read stands beside it."""

    def keep(self, call: Call) -> None:
        """Write a call down in a transaction of its own."""
        reply, address = call.reply, call.address
        with self._records.db.conn as connection:
            connection.execute(
                f"insert or replace into calls values ({', '.join('?' * 17)})",  # noqa: S608  only marks
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
                ),
            )

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
                "update runs set turns = max(turns, ?), digest = ? where id = ?",
                (turn.turn + 1, turn.digest, self._run),
            )


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
