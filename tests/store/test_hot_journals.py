"""Killed in the middle of a write, a process leaves a journal; whoever comes next rolls the write back."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import hobbes
from hobbes.show.web.server import site
from hobbes.store.home import open_store
from hobbes.store.notes import Place
from tests.conftest import Cli
from tests.pages import LOCAL
from tests.small_runs import mining

NOTE = "It broke its word."


def killed_in_a_write(file: Path) -> None:
    """Leave a database as a process does that is killed while it writes: half a transaction, and the journal.

    The copy of both files has no lock, as if the process were gone.
    """
    half = file.with_name("half")
    with closing(sqlite3.connect(file)) as writer:
        writer.execute("pragma cache_size = 1")  # so that pages go to the file before the commit
        writer.execute("begin")
        writer.execute("create table half (written)")
        writer.executemany("insert into half values (zeroblob(4000))", [()] * 20)
        for part in ("", "-journal"):
            shutil.copyfile(f"{file}{part}", f"{half}{part}")
        writer.rollback()
    for part in ("", "-journal"):
        Path(f"{half}{part}").rename(f"{file}{part}")
    with (
        closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as reader,
        pytest.raises(sqlite3.OperationalError, match="attempt to write a readonly database"),
    ):
        reader.execute("select * from sqlite_master").fetchall()


@pytest.fixture
def killed(home: Path) -> Path:
    """A home with a run and a note in which somebody was killed while writing another note."""
    with open_store(home) as store:
        run = mining(store)
        store.notes.keep(Place(run.id), tags=["kept"], text=NOTE)
        store.db.execute("pragma journal_mode = delete")  # the run database is one file
    killed_in_a_write(home / "notes.db")
    return home


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "--where", "tags=kept"),
        ("notes",),
        ("trace", "last"),
        ("trace", "last", "1", "miner-01"),
        ("note", "last", "--tag", "more"),
        ("export", "last", "--format", "csv", "--to", "out"),
    ],
    ids=" ".join,
)
def test_notes_that_a_killed_process_was_writing_are_those_before(
    words: tuple[str, ...], killed: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli(*words)
    assert done.exit_code == 0, done.exception
    with hobbes.open(killed) as reader:
        assert [note["note"] for note in reader.run().notes] == [NOTE]


def test_pages_and_python_read_notes_that_a_killed_process_was_writing(killed: Path) -> None:
    with TestClient(site(killed, "127.0.0.1"), base_url=LOCAL) as visitor:
        assert NOTE in visitor.get("/last").text
    killed_in_a_write(killed / "notes.db")
    with hobbes.open(killed) as reader:
        assert [note["note"] for note in reader.run().notes] == [NOTE]


def test_an_index_that_a_killed_process_was_writing_is_searched(killed: Path, cli: Cli) -> None:
    assert "miner-01" in cli("search", "claim").stdout
    killed_in_a_write(killed / "search.db")
    assert "miner-01" in cli("search", "claim").stdout
