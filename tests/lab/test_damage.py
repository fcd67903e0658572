"""Each column of each table is damaged in turn: what is readable is shown, and the damage is named."""

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.testclient import TestClient

import hobbes
from hobbes.engine.record import Json
from hobbes.engine.turn import TurnRecord
from hobbes.lab.errors import LabError
from hobbes.lab.play.playing import RunOptions, begin, go_on
from hobbes.lab.show.viewing import site
from hobbes.lab.store.database import open_store
from hobbes.lab.store.rows import JSON, REQUIRED
from hobbes.nodes.state import TurnState
from tests.conftest import Cli
from tests.lab.play import played

VIEWS = {"turns", *(table.name for table in TurnRecord.tables())}

STORED = sorted({*REQUIRED, "texts", "turns"} - VIEWS)
"""The tables of runs. The others are views."""

WHOLE, STOPPED = "whole", "stopped"
"""A finished run, and one that was stopped after its second turn."""

BLOB, NULL, BROKEN, OTHER = b"\xff\xfe", None, '{"a":', '[["x"]]'
"""Bytes that are no text, nothing, JSON that was cut off, and JSON of another shape."""


class Home(NamedTuple):
    """A small home, and each column of its tables."""

    path: Path
    columns: dict[str, list[str]]
    agent: str


class StoppedError(Exception):
    """The run is stopped here."""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Play both runs; nothing but `runs.db` is kept, with all rows in it."""
    home = tmp_path_factory.mktemp("damage") / "home"

    def stop(state: TurnState) -> None:
        if state["turn"] == 2:
            raise StoppedError

    def asked(name: str, seed: int) -> RunOptions:
        values: dict[str, Json] = {"rounds": 3, "rows": 3, "cols": 2}
        return RunOptions("mining", 2, seed, "policy:random?noise=0.4", values=values, name=name)

    with open_store(home) as store:
        played(store, asked(WHOLE, 1))
        with pytest.raises(StoppedError):
            asyncio.run(go_on(store, begin(store, asked(STOPPED, 2)), stop))
        store.db.execute("pragma journal_mode = delete")
        columns = {table: list(store.db.table(table).columns_dict) for table in STORED}
        agent = store.find(WHOLE).setting.agents[0]
    return Home(home, columns, agent)


def damages(table: str, column: str) -> Iterator[object]:
    """Yield the values that damage a column, the most telling first."""
    table = table.removeprefix("packed_")
    if (table, column) in JSON:
        yield BROKEN
    yield BLOB
    if table in {"runs", "turns", "calls"} and column in {*REQUIRED[table], "size"}:
        yield NULL
    if (table, column) in JSON and table in {"runs", "turns"}:
        yield OTHER


def spoil(small: Home, home: Path, table: str, column: str, value: object) -> bool:
    """Copy the home, and put a value into the first row of each run; False if SQLite refuses it."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    shutil.copyfile(small.path / "runs.db", home / "runs.db")
    rows = (
        "" if table in {"runs", "texts"} else f"where rowid in (select min(rowid) from {table} group by run)"  # noqa: S608  names are ours
    )
    with closing(sqlite3.connect(home / "runs.db")) as db:
        try:
            db.execute(f"update {table} set {column} = ? {rows}", [value])  # noqa: S608  names are ours
        except sqlite3.IntegrityError:
            return False
        db.commit()
    return True


ADDRESSES = {"id", "name", "run", "turn", "hash", "text", "base"}
"""Columns by which a row is found: without them it may be missing, which is said of the table."""


def commands(small: Home, to: Path) -> list[tuple[str, ...]]:
    """Return the commands that read a run."""
    return [
        ("runs",),
        ("runs", "--json"),
        ("trace", WHOLE),
        ("trace", WHOLE, "0"),
        ("trace", WHOLE, "1", small.agent, "--json"),
        ("trace", WHOLE, "--grep", "a"),
        ("compare", WHOLE, STOPPED),
        ("verify", WHOLE),
        ("replay", WHOLE),
        ("resume", STOPPED),
        ("export", WHOLE, "--to", str(to)),
    ]


def pages(small: Home) -> list[str]:
    return [
        "/",
        f"/{WHOLE}",
        f"/{WHOLE}/0",
        f"/{WHOLE}/0/{small.agent}",
        f"/compare?a={WHOLE}&b={STOPPED}",
        f"/{WHOLE}/judgements",
        f"/{WHOLE}/messages",
        "/search?q=miner",
    ]


@pytest.mark.parametrize("table", STORED)
def test_damage_of_any_column_is_named(table: str, small: Home, home: Path, tmp_path: Path, cli: Cli) -> None:
    """Each column is damaged in one way; in the soak, in every way."""
    each_damage_is_named(table, small, home, tmp_path / "to", cli, ways=1)


def each_damage_is_named(  # noqa: PLR0913  fixtures
    table: str, small: Home, home: Path, to: Path, cli: Cli, *, ways: int | None = None
) -> int:
    """Damage each column of a table in the first so many ways, or in all. Return how often that was done."""
    tried = 0
    for column in small.columns[table]:
        for value in islice(damages(table, column), ways):
            if not spoil(small, home, table, column, value):
                continue
            tried += 1
            said = []
            shutil.rmtree(to, ignore_errors=True)
            for command in commands(small, to):
                result = cli(*command)
                where = f"{table}.{column} = {value!r}: {command}"
                assert isinstance(result.exception, LabError | SystemExit | None), where
                assert result.exit_code in {0, 1}, where
                said += [result.stderr, result.stdout * (command[0] == "verify"), str(result.exception)]
            with TestClient(site(home, "127.0.0.1"), base_url="http://127.0.0.1") as visitor:
                said += [visitor.get(page).text for page in pages(small)]
            shown = table.removeprefix("packed_")
            names = {f"{shown}.{'record' if column == 'size' else column}"}
            names |= {f"table {shown}"} if column in ADDRESSES else set()
            names |= {"was changed after"} if column == "seal" else set()
            assert any(name in "".join(said) for name in names), (column, value, said)
    return tried


def test_what_can_be_shown_is_shown_and_what_cannot_is_an_error(small: Home, home: Path, cli: Cli) -> None:
    assert spoil(small, home, "runs", "scores", "x")
    listed = cli("runs", "--json")
    assert [run["scores"] for run in json.loads(listed.stdout)] == [None, None]
    assert listed.exit_code == 0
    assert "the column runs.scores is damaged: it is not JSON" in listed.stderr
    assert spoil(small, home, "runs", "config", '{"rounds": -1}')
    assert cli("runs").exit_code == 0
    shown = cli("trace", WHOLE)
    assert shown.exit_code == 1
    assert "cannot be read by hobbes" in str(shown.exception)
    assert "rounds" in str(shown.exception)


def test_a_record_of_another_shape_hides_its_turn_alone(small: Home, home: Path, cli: Cli) -> None:
    with closing(sqlite3.connect(small.path / "runs.db")) as db:
        (text,) = db.execute("select record from turns where turn = 1").fetchone()
    record = json.loads(text)
    others: list[dict[str, Any]] = [
        {**record, "intents": {"A": 7}},
        {**record, "drops": [{"code": []}]},
        {"state": {}},
    ]
    for other in others:
        assert spoil(small, home, "turns", "record", json.dumps(other))
        turns = cli("trace", WHOLE)
        assert turns.exit_code == 0
        assert [line.split()[1:] == ["damaged"] for line in turns.stdout.splitlines()] == [True, False, False]
        assert "turn 0: the column turns.record is damaged" in turns.stderr
        card = json.loads(cli("trace", WHOLE, "0", "--json").stdout)
        assert card["damaged"]
        assert card["calls"]
        assert json.loads(cli("trace", WHOLE, "1", "--json").stdout)["agents"], "the next turn is shown"


def test_a_run_that_claims_more_turns_than_it_has_is_shown(small: Home, home: Path, cli: Cli) -> None:
    assert spoil(small, home, "runs", "turns", 7)
    for command in (("trace", WHOLE, "5"), ("export", WHOLE, "--format", "html")):
        shown = cli(*command)
        assert shown.exit_code == 0, command
        assert "turn 5: the table turns is damaged" in shown.stderr


def test_a_state_that_its_world_cannot_have_is_damage_and_no_bug(small: Home, home: Path, cli: Cli) -> None:
    with closing(sqlite3.connect(small.path / "runs.db")) as db:
        (text,) = db.execute("select record from turns where turn = 0").fetchone()
    record = json.loads(text)
    record["state"]["gold"] = {}
    assert spoil(small, home, "turns", "record", json.dumps(record))
    for command in (("trace", WHOLE, "0"), ("trace", WHOLE, "1", small.agent), ("export", WHOLE)):
        result = cli(*command)
        assert isinstance(result.exception, LabError | SystemExit | None), result.exception
        assert "turn 0" in result.stderr + str(result.exception)


def test_a_run_is_resumed_whatever_stands_in_its_checkpoints(small: Home, home: Path, cli: Cli) -> None:
    shutil.copytree(small.path, home)
    with closing(sqlite3.connect(home / "checkpoints.db")) as db:
        for (column,) in db.execute("select name from pragma_table_info('checkpoints')").fetchall():
            if column not in {"thread_id", "checkpoint_ns", "checkpoint_id"}:
                changed = db.execute(f"update checkpoints set {column} = 'x'")  # noqa: S608  names are ours
                assert changed.rowcount
        db.commit()
    result = cli("resume", STOPPED)
    assert (result.exit_code, result.stderr.count("damaged")) == (0, 0)
    assert cli("verify", STOPPED).exit_code == 0


def test_the_python_api_leaves_out_a_damaged_run_with_a_warning(small: Home, home: Path) -> None:
    assert spoil(small, home, "runs", "models", "x")
    with hobbes.open(home) as reader, pytest.warns(UserWarning, match=r"the column runs\.models is damaged"):
        assert reader.runs() == []
