"""A run database of an earlier version is migrated, and its runs go on."""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

from lab.play.playing import RunOptions, begin, go_on
from lab.store.database import open_store


def test_calls_of_the_first_version_were_sent_once_for_the_one_question(home: Path) -> None:
    request = RunOptions("mining", agents=2, values={"rounds": 2})
    with open_store(home) as opened:
        run = begin(opened, request)
        asyncio.run(go_on(opened, run, lambda _: None))
        calls = opened.attempts(run.id, 1)
    without_players = {
        agent: [replace(call, reply=replace(call.reply, player="")) for call in asked]
        for agent, asked in calls.items()
    }
    with sqlite3.connect(home / "runs.db") as connection:  # as the first version left it
        connection.execute("alter table memories rename to minds")
        connection.execute("alter table minds rename column memory to mind")
        connection.execute("alter table calls rename column found_as to stage")
        for column in (
            "record_version",
            "rules_version",
            "hobbes",
            "seal",
            "model_settings",
            "turn",
            "earlier",
            "parent",
            "prompts_hash",
        ):
            connection.execute(f"alter table runs drop column {column}")
        connection.execute("alter table calls drop column seal")
        for column in ("tries", "question", "player"):
            connection.execute(f"alter table calls drop column {column}")
        for column in ("caps", "observer_text", "question"):
            connection.execute(f"alter table runs drop column {column}")
        for column in ("decisions", "failures"):
            connection.execute(f"alter table measures drop column {column}")
        connection.execute("drop table cells")
        connection.execute("drop table experiments")
        connection.execute("delete from _sqlite_migrations where name != 'm001_runs_turns_and_their_rows'")
    with open_store(home) as opened:
        assert opened.attempts(run.id, 1) == without_players
        again = begin(opened, request)
        asyncio.run(go_on(opened, again, lambda _: None))
        assert opened.find(again.id).digest == opened.find(run.id).digest
