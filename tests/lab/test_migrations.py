"""A run database of an earlier version is migrated, and its runs go on."""

import asyncio
import sqlite3
from pathlib import Path

from lab.playing import Request, begin, go_on
from lab.records import records


def test_calls_of_the_first_version_were_sent_once_for_the_one_question(home: Path) -> None:
    request = Request("mining", agents=2, values={"rounds": 2})
    with records(home) as opened:
        run = begin(opened, request)
        asyncio.run(go_on(opened, run, lambda _: None))
        calls = opened.attempts(run.id, 1)
    with sqlite3.connect(home / "runs.db") as connection:  # as the first version left it
        connection.execute("alter table calls drop column tries")
        connection.execute("alter table calls drop column question")
        for column in ("caps", "observer_text", "question"):
            connection.execute(f"alter table runs drop column {column}")
        for column in ("decisions", "failures"):
            connection.execute(f"alter table measures drop column {column}")
        connection.execute("delete from _sqlite_migrations where name != 'm001_runs_turns_and_their_rows'")
    with records(home) as opened:
        assert opened.attempts(run.id, 1) == calls
        again = begin(opened, request)
        asyncio.run(go_on(opened, again, lambda _: None))
        assert opened.find(again.id).digest == opened.find(run.id).digest
