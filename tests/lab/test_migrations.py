"""A run database of an earlier version is migrated, and its runs go on."""

# ruff: noqa: S608  names are ours

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hobbes.engine.record import Json
from hobbes.engine.turn import Table, TurnRecord
from hobbes.lab.play.playing import RunOptions, begin, go_on
from hobbes.lab.store import schema
from hobbes.lab.store.database import Store, open_store
from hobbes.lab.store.records import RECORD
from hobbes.lab.store.schema import view_of
from hobbes.lab.store.sqlite import Database
from hobbes.lab.store.texts import SHORT, prepare_connection
from tests.lab.play import played


def with_tables_of_the_record(connection: sqlite3.Connection) -> None:
    """Let there be tables in place of the views, as in earlier versions."""
    for table in TurnRecord.tables():
        connection.execute(f"create table earlier as select * from {table.name}")
        connection.execute(f"drop view {table.name}")
        connection.execute(f"alter table earlier rename to {table.name}")
    connection.execute("alter table turns drop column state")
    connection.execute("alter table turns add column state text")
    connection.execute("update turns set state = json_extract(record, '$.state')")
    connection.execute("delete from _sqlite_migrations where name = 'm011_views_of_the_record'")


def with_plain_turns(connection: sqlite3.Connection) -> None:
    """Let the records of turns be plain, as in earlier versions."""
    prepare_connection(connection)
    connection.execute(
        "create temp table plain as select packed_turns.rowid, turns.*"
        " from turns join packed_turns using (run, turn)"
    )
    connection.execute("drop view turns")
    connection.execute("drop table packed_turns")
    connection.execute(
        "create table turns (run text references runs(id), turn integer, record text, digest text,"
        " ledgers text, ended text,"
        f" state text generated always as (json_extract({RECORD}, '$.state')) virtual,"
        " primary key (run, turn))"
    )
    columns = "rowid, run, turn, record, digest, ledgers, ended"
    connection.execute(f"insert into turns ({columns}) select {columns} from plain")
    connection.execute("drop table plain")
    connection.execute("delete from _sqlite_migrations where name = 'm014_packed_turns'")


def with_plain_texts(connection: sqlite3.Connection) -> None:
    """Let texts be plain, as in earlier versions."""
    prepare_connection(connection)
    connection.execute("create table plain (hash text primary key, text text)")
    connection.execute("insert into plain select * from texts")
    connection.execute("drop view texts")
    connection.execute("drop table packed_texts")
    connection.execute("alter table plain rename to texts")
    connection.execute("create index idx_calls_run_outcome on calls(run, outcome)")
    connection.execute("delete from _sqlite_migrations where name = 'm012_packed_texts'")


def content(connection: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of each table of the record, and the states."""
    rows = {
        table.name: connection.execute(
            f"select * from {table.name} order by run, turn, {', '.join(table.key)}"
        ).fetchall()
        for table in TurnRecord.tables()
    }
    return rows | {"turns": connection.execute("select run, turn, state from turns order by 1, 2").fetchall()}


@pytest.fixture
def eventful(home: Path) -> Path:
    """A home with runs in which each table of the record has rows, and where all of them are tables."""
    values: dict[str, Json] = {"rounds": 10, "rows": 3, "cols": 3, "communication": True}
    with open_store(home) as store:
        for seed in (1, 2):
            played(store, RunOptions("mining", 3, seed, "policy:random?noise=0.3", values=values))
        played(store, RunOptions("nations", 3, values={"rounds": 2}))
    with closing(sqlite3.connect(home / "runs.db")) as connection, connection:
        with_plain_turns(connection)
        with_plain_texts(connection)
        with_tables_of_the_record(connection)
    return home


def test_the_views_of_the_record_have_the_rows_that_its_tables_had(eventful: Path) -> None:
    with closing(sqlite3.connect(eventful / "runs.db")) as connection:
        before = content(connection)
    assert all(before.values())
    with open_store(eventful) as store:
        assert content(store.db.conn) == before
        assert {name for name in store.db.table_names() if "not_in_record" in name} == set()


def test_plain_texts_stay_readable_beside_packed_ones(eventful: Path) -> None:
    with closing(sqlite3.connect(eventful / "runs.db")) as connection:
        before = dict(connection.execute("select hash, text from texts"))
    with open_store(eventful) as store:
        assert dict(store.db.execute("select hash, text from texts").fetchall()) == before
        run = played(store, RunOptions("mining", 3, values={"rounds": 2}))
        assert all(len(call.prompt.turn) > SHORT for call in store.calls(run.id, 1))
        kinds = dict(
            store.db.execute("select typeof(text), count(*) from packed_texts group by 1").fetchall()
        )
        assert kinds.keys() == {"text", "blob"}
        assert store.db.execute("pragma foreign_key_check").fetchall() == []


def test_rows_that_no_record_has_are_kept(eventful: Path) -> None:
    with sqlite3.connect(eventful / "runs.db") as connection:
        run, turn, *_ = connection.execute("select * from drops").fetchone()
        connection.execute("update drops set code = 'x' where run = ? and turn = ? and n = 0", [run, turn])
        connection.execute("insert into draws (run, turn, event) values ('gone', 1, 'claim')")
        connection.execute("update turns set record = '{' where run = ? and turn = 1", [run])
        ((state,),) = connection.execute("select state from turns where run = ? and turn = 1", [run])
    with open_store(eventful) as store:
        there = {name for name in store.db.table_names() if "not_in_record" in name}
        assert {"turns_not_in_record", "drops_not_in_record", "draws_not_in_record"} <= there
        rows = store.db.execute("select * from turns_not_in_record").fetchall()
        assert rows == [(run, 1, state)]
        rows = store.db.execute(
            "select run, turn, n, code from drops_not_in_record where code = 'x'"
        ).fetchall()
        assert rows == [(run, turn, 0, "x")]
        rows = store.db.execute("select run, event from draws_not_in_record").fetchall()
        assert ("gone", "claim") in rows


def test_a_migration_that_is_killed_in_its_middle_changes_nothing(
    eventful: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(table: Table) -> str:
        if table.name == "memories":
            raise KeyboardInterrupt
        return view_of(table)

    with closing(sqlite3.connect(eventful / "runs.db")) as connection:
        before, tables = content(connection), connection.execute("select * from sqlite_master").fetchall()
        with monkeypatch.context() as patched:
            patched.setattr(schema, "view_of", killed)
            with pytest.raises(KeyboardInterrupt):
                open_store(eventful).__enter__()
        assert connection.execute("select * from sqlite_master").fetchall() == tables
        assert content(connection) == before
    with open_store(eventful) as store:
        assert content(store.db.conn) == before


def test_a_new_home_whose_tables_are_not_all_created_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(_: Table) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(schema, "view_of", killed)
    with closing(Database(sqlite3.connect(":memory:"))) as new:
        with pytest.raises(KeyboardInterrupt):
            schema.migrate(new)
        assert not new.table_names()


@pytest.mark.parametrize("other", ["create view drops as select 1", "create table drops (code)"])
def test_a_view_of_the_record_that_was_replaced_is_made_again(other: str, home: Path) -> None:
    with open_store(home) as store:
        store.db.execute("drop view drops")
        store.db.execute(other)
    with open_store(home) as store:
        assert store.db.execute("select code from drops").fetchall() == []


@pytest.mark.parametrize("table", [table.name for table in TurnRecord.tables()])
def test_the_rows_of_a_run_are_found_without_the_records_of_other_runs(table: str, opened: Store) -> None:
    plan = opened.db.execute(f"explain query plan select * from {table} where run = 'x'")
    steps = [step for *_, step in plan if "turns" in step]
    assert steps
    assert all(step.startswith("SEARCH packed_turns") and "(run=?)" in step for step in steps)


def test_calls_of_the_first_version_were_sent_once_for_the_one_question(home: Path) -> None:
    request = RunOptions("mining", agents=2, values={"rounds": 2})
    with open_store(home) as opened:
        run = begin(opened, request)
        asyncio.run(go_on(opened, run, lambda _: None))
        calls = opened.attempts(run.id, 1)
    without_players = {
        agent: [call._replace(reply=call.reply._replace(player="")) for call in asked]
        for agent, asked in calls.items()
    }
    with sqlite3.connect(home / "runs.db") as connection:  # as the first version left it
        with_plain_turns(connection)
        with_plain_texts(connection)
        with_tables_of_the_record(connection)
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
