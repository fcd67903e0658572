"""Records of turns are compressed as SQLite's own functions do it, and others can read them."""

import json
import shutil
import sqlite3
import tomllib
import zlib
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pluggy
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hobbes.lab.play.playing import RunOptions
from hobbes.lab.store.database import Store, open_store
from hobbes.lab.store.records import SqlValue, compressed, packed, uncompressed, unpacked
from tests.conftest import ROOT, Cli
from tests.lab.play import mining, played
from tests.lab.test_migrations import with_plain_turns


@pytest.fixture
def connection(opened: Store, home: Path) -> Iterator[sqlite3.Connection]:
    """The database of a run of three turns, opened with sqlite3 alone."""
    played(opened, RunOptions("mining", 3, models="policy:random", values={"rounds": 3}, name="whole"))
    with closing(sqlite3.connect(home / "runs.db")) as found:
        yield found


@given(st.text())
def test_what_is_packed_is_unpacked(text: str) -> None:
    assert unpacked(*packed(text)) == text


@given(st.binary())
@example(b"ababacbbabbbbbbbcdbbdbb")  # zlib makes as many bytes of it
def test_bytes_that_zlib_cannot_shorten_stay_as_they_are(whole: bytes) -> None:
    assert uncompressed(compressed(whole), len(whole)) == whole
    assert len(compressed(whole)) <= len(whole)


LONG = compressed(b"a" * 999)


@pytest.mark.parametrize(
    ("stored", "size"),
    [(b"", 9), (b"x", 999), (LONG[:-4], 999), (LONG, 998), (LONG, 1 << 70), (LONG, None), (LONG, "999")],
)
def test_damaged_bytes_are_no_record(stored: bytes, size: SqlValue) -> None:
    assert uncompressed(stored, size) is None
    assert unpacked(stored, size) == stored


def test_records_take_a_quarter_in_the_format_of_sqlite_archives(
    connection: sqlite3.Connection, opened: Store
) -> None:
    rows = connection.execute("select record, size from packed_turns order by turn").fetchall()
    texts = [turn.text.encode() for turn in opened.turns(opened.find("whole").id)]
    assert [(zlib.decompress(record), size) for record, size in rows] == [(text, len(text)) for text in texts]
    assert sum(len(record) for record, _ in rows) < sum(map(len, texts)) / 4


def test_the_example_of_the_documents_reads_records_and_events(
    connection: sqlite3.Connection, opened: Store
) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such function: sqlar_uncompress"):
        connection.execute("select record from turns").fetchall()
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    (example,) = (part for part in page.split("```")[1::2] if "sqlar_uncompress" in part)
    exec(example.removeprefix("python"), {"connection": connection})  # noqa: S102  our own page
    turns = list(opened.turns(opened.find("whole").id))
    found = connection.execute("select record, state from turns order by turn").fetchall()
    assert [(record, json.loads(state)) for record, state in found] == [
        (turn.text, turn.record.state) for turn in turns
    ]
    events = connection.execute("select turn, event from events order by turn, n").fetchall()
    assert [(turn, json.loads(event)) for turn, event in events] == [
        (turn.turn, event.to_json()) for turn in turns for event in turn.record.events
    ]


@pytest.mark.parametrize("tool", ["datasette", "sqlite_utils"])
def test_the_plugin_lets_other_tools_read_records(tool: str, connection: sqlite3.Connection) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (module,) = project["entry-points"][tool].values()
    manager = pluggy.PluginManager(tool)
    manager.register(import_module(module))
    manager.hook.prepare_connection(conn=connection)
    assert connection.execute("select count(distinct turn) from events").fetchone() == (3,)


@pytest.mark.parametrize(
    "damage",
    [
        "record = substr(record, 1, length(record) - 4)",
        "record = x'789c' || zeroblob(9)",
        "record = cast('{}' as blob)",
        "record = 7",
        "size = size + 1",
        "size = 'many'",
    ],
)
def test_a_damaged_record_is_named_in_one_line_and_the_other_turns_are_shown(
    damage: str, connection: sqlite3.Connection, cli: Cli, tmp_path: Path
) -> None:
    with connection:
        connection.execute(f"update packed_turns set {damage} where turn = 1")  # noqa: S608  ours
    name = "turn 1: the column turns.record is damaged: "
    shown = cli("trace", "whole", "--json")
    assert [turn["turn"] for turn in json.loads(shown.stdout) if turn["digest"]] == [0, 2]
    (line,) = shown.stderr.splitlines()
    assert name in line
    assert name in cli("verify", "whole").stdout
    for form in ("jsonl", "html"):
        to = str(tmp_path / form)
        assert "damaged" in cli("export", "whole", "--format", form, "--to", to).stderr
    events = (tmp_path / "jsonl" / "events.jsonl").read_text().splitlines()
    assert {json.loads(event)["turn"] for event in events} == {0, 2}


def test_a_migration_packs_records_and_leaves_damaged_ones_as_they_are(
    opened: Store, home: Path, tmp_path: Path
) -> None:
    run = mining(opened)
    whole = [turn.text for turn in opened.turns(run.id)]
    opened.db.conn.execute("pragma wal_checkpoint(truncate)")
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    shutil.copyfile(home / "runs.db", earlier / "runs.db")
    with closing(sqlite3.connect(earlier / "runs.db")) as connection, connection:
        with_plain_turns(connection)
        for turn, value in enumerate(("x'ff'", "7", "'{'", "cast(x'7bff' as text)")):
            connection.execute(f"update turns set record = {value} where turn = ?", [turn])  # noqa: S608  ours
        connection.text_factory = bytes
        before = connection.execute("select rowid, record from turns order by turn").fetchall()
    with open_store(earlier) as store:
        turns = dict(store.readable_turns(run.id))
        assert [turn.text if turn else None for turn in turns.values()] == [None] * 4 + whole[4:]
        assert len(store.damage) == 4
        store.db.conn.text_factory = bytes
        both = "packed_turns join turns using (run, turn)"
        after = store.db.conn.execute(f"select packed_turns.rowid, turns.record from {both} order by turn")  # noqa: S608  ours
        assert after.fetchall() == before
