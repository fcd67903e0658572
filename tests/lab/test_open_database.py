"""The run database is read by any SQLite client, with no function and no plugin of ours."""

import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hobbes.lab.play.playing import RunOptions
from hobbes.lab.store.home import Store
from tests.conftest import missing
from tests.lab.play import played

TABLES = ("runs", "turns", "calls", "texts", "measures", "experiments", "cells")
VIEWS = ("intents", "reports", "drops", "mends", "events", "draws", "messages", "memories")
NAMES = (*TABLES, *VIEWS)


@pytest.fixture
def client(opened: Store, home: Path) -> Iterator[sqlite3.Connection]:
    """A plain connection to a home in which nations was played with noise."""
    played(opened, RunOptions("nations", 3, models="policy:random?noise=0.3", values={"rounds": 4}))
    with closing(sqlite3.connect(home / "runs.db")) as connection:
        yield connection


def test_every_table_and_view_is_listed_and_answers_in_plain_sqlite3(client: sqlite3.Connection) -> None:
    listed = client.execute("select name from sqlite_master where type in ('table', 'view')")
    assert sorted(name for (name,) in listed) == sorted(NAMES)
    empty = {name for name in NAMES if not client.execute(f"select * from {name}").fetchall()}  # noqa: S608  ours
    assert empty == {"draws", "experiments", "cells"}
    assert client.execute("pragma foreign_key_check").fetchall() == []
    assert {kind for (kind,) in client.execute("select distinct typeof(record) from turns")} == {"text"}
    assert {kind for (kind,) in client.execute("select distinct typeof(text) from texts")} == {"text"}


def test_every_table_and_view_answers_in_the_shell(client: sqlite3.Connection, home: Path) -> None:
    shell = shutil.which("sqlite3") or missing("there is no shell sqlite3")
    for name in NAMES:
        (rows,) = client.execute(f"select count(*) from {name}").fetchone()  # noqa: S608  ours
        sql = f"select count(*) from (select * from {name})"  # noqa: S608  ours
        told = subprocess.run([shell, home / "runs.db", sql], capture_output=True, text=True, check=True)
        assert int(told.stdout) == rows


def test_the_view_of_a_scripted_policy_is_not_stored_and_is_shown_all_the_same(opened: Store) -> None:
    run = played(opened, RunOptions("mining", 2, values={"rounds": 3}))
    stored = {text for (text,) in opened.db.execute("select text from texts")}
    (call, _) = opened.calls.of_turn(run.id, 2)
    assert '"turn":2' in call.prompt.turn
    assert call.prompt.turn not in stored
