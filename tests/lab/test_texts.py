"""Texts of prompts are packed, and anybody can read them."""

import sqlite3
import tomllib
import zlib
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pluggy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hobbes.lab.play.playing import RunOptions
from hobbes.lab.store.database import Store, open_store
from hobbes.lab.store.texts import SHORT, TEXTS_PER_BASE, Texts, packed, prepare_connection, unpacked
from tests.conftest import ROOT, Cli
from tests.lab.play import played

TURNS = 40
"""So many that 2 agents need several bases."""


@pytest.fixture
def connection(opened: Store, home: Path) -> Iterator[sqlite3.Connection]:
    """The database of a run, opened with sqlite3 alone."""
    played(opened, RunOptions("mining", 2, models="policy:random", values={"rounds": TURNS}, name="whole"))
    with closing(sqlite3.connect(home / "runs.db")) as found:
        yield found


@given(st.text(), st.text())
def test_what_is_packed_is_unpacked(text: str, base: str) -> None:
    assert unpacked(packed(text, base), packed(base)) == text
    assert unpacked(packed(text), None) == text


@pytest.mark.parametrize("damaged", [b"", b"x", packed("a" * 999)[:-4], packed("a", "b"), "text", 7, None])
def test_damaged_bytes_are_no_text(damaged: object) -> None:
    assert unpacked(damaged, None) is None


def test_long_texts_take_a_quarter_and_a_base_has_no_base(connection: sqlite3.Connection) -> None:
    rows = connection.execute(
        "select hash, text, base from packed_texts where typeof(text) = 'blob'"
    ).fetchall()
    assert len(rows) == 2 * TURNS > TEXTS_PER_BASE
    bases = {name for name, _, base in rows if base is None}
    assert bases == {base for *_, base in rows} - {None}
    assert len(bases) == 3
    prepare_connection(connection)
    ((length,),) = connection.execute("select sum(length(text)) from texts where length(text) >= ?", [SHORT])
    assert sum(len(text) for _, text, _ in rows) < length / 4


@pytest.mark.parametrize("way", ["with a base", "as a base", "unpacked"])
def test_a_text_that_another_process_stores_at_the_same_moment_stays_readable(home: Path, way: str) -> None:
    """The other process stores it between packing and storing, and here it is the base of a further text."""
    base, both, mine = (f"word {k} " * SHORT for k in range(3))
    with open_store(home) as here, open_store(home) as there:
        ours, others = Texts(here.db.conn), Texts(there.db.conn)
        for text in (both, mine):
            ours.hash_of(text)
        with there.db.atomic():
            if way == "unpacked":
                there.text_hash(both)
            for text in {"with a base": (base, both), "as a base": (both,)}.get(way, ()):
                others.hash_of(text)
            others.store()
        with here.db.atomic():
            ours.store()
        found = {text for (text,) in here.db.execute("select text from texts")}
    assert found - {base} == {both, mine}


def test_the_example_of_the_documents_reads_a_prompt(connection: sqlite3.Connection, opened: Store) -> None:
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    (example,) = (part for part in page.split("```")[1::2] if "decompressobj" in part)
    ((name,),) = connection.execute("select prompt from calls where turn = 7 and agent = 'miner-02'")
    names: dict[str, Any] = {"connection": connection, "name": name, "zlib": zlib}
    exec(example.removeprefix("python"), names)  # noqa: S102  our own page
    (call,) = opened.calls(opened.find("whole").id, 7, "miner-02")
    assert names["text"] == call.prompt.turn


def test_the_plugin_lets_datasette_unpack_texts(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.OperationalError, match="hobbes_text"):
        connection.execute("select text from texts").fetchall()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (module,) = project["entry-points"]["datasette"].values()
    manager = pluggy.PluginManager("datasette")
    manager.register(import_module(module))
    manager.hook.prepare_connection(conn=connection)
    assert all(text for (text,) in connection.execute("select text from texts where length(text) > 0"))


def test_a_damaged_text_is_named_in_one_line_and_the_rest_is_shown(
    connection: sqlite3.Connection, cli: Cli
) -> None:
    find = "select prompt from calls where turn = 7 and agent = 'miner-02'"
    with connection:
        (before,) = connection.execute(f"select text from packed_texts where hash = ({find})").fetchone()  # noqa: S608
        for damaged in (before[:-1], before[:20] + b"?" + before[21:], packed("another text")):
            connection.execute(f"update packed_texts set text = ? where hash = ({find})", [damaged])  # noqa: S608
            connection.commit()
            shown = cli("trace", "whole", "7")
            assert shown.exit_code == 0
            assert "miner-01" in shown.stdout
            (line,) = shown.stderr.strip().splitlines()
            assert "turn 7, miner-02, attempt 1: the column calls.prompt is damaged: its text in" in line
