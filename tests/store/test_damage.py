"""A damaged row is one error, which names run, turn and column; other runs are read as usual."""
# ruff: noqa: S608  names are ours

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import hobbes
from hobbes.errors import DamagedError
from hobbes.show.web.server import site
from hobbes.store.row_hashes import CALL_COLUMNS, RUN_COLUMNS
from tests.conftest import Cli
from tests.damage import STOPPED, WHOLE


def spoil(whole: Path, home: Path, sql: str, *values: object) -> None:
    """Copy the run database of a home, and change something in it."""
    home.mkdir()
    shutil.copyfile(whole / "runs.db", home / "runs.db")
    with closing(sqlite3.connect(home / "runs.db")) as db:
        db.execute(sql, values)
        db.commit()


OF_WHOLE = "run = (select id from runs where name = 'whole')"

READERS = [
    ("trace", WHOLE),
    ("trace", WHOLE, "1"),
    ("trace", WHOLE, "all"),
    ("compare", WHOLE, STOPPED),
    ("replay", WHOLE),
    ("fork", WHOLE, "--turn", "2"),
    ("make-test", WHOLE, "--turns", "1", "--name", "pinned"),
    *(("export", WHOLE, "--format", form) for form in ("jsonl", "csv", "parquet", "inspect", "page", "svg")),
]
"""The commands that read the records and calls of a run."""


@pytest.mark.parametrize("command", READERS, ids=" ".join)
@pytest.mark.parametrize(
    "change_and_name",
    [
        (
            f"update turns set record = record || ' ' where {OF_WHOLE} and turn = 1",
            "turn 1: the column turns.record or turns.digest is damaged",
        ),
        (
            f"update calls set answer = answer || ' ' where {OF_WHOLE} and turn = 1",
            "turn 1, miner-01, attempt 1: its row in the table calls was changed",
        ),
        ("update runs set seed = 9 where name = 'whole'", "the column runs.seed is damaged"),
    ],
    ids=["turns", "calls", "runs"],
)
def test_a_damaged_row_is_one_error(
    whole: Path, home: Path, cli: Cli, command: tuple[str, ...], change_and_name: tuple[str, str]
) -> None:
    change, named = change_and_name
    answers_say_why = ("trace", WHOLE, "all")  # a diary reads a call only if its answer has none
    without_calls = {("trace", WHOLE), answers_say_why, ("compare", WHOLE, STOPPED)}
    reads_no_calls = command[:3] in without_calls or not {"csv", "svg"}.isdisjoint(command)
    spoil(whole, home, change)
    to = str(home / ("to.eval" if "inspect" in command else "to"))
    result = cli(*command, *(("--to", to) if command[0] in {"export", "make-test"} else ()))
    if "calls" in change and reads_no_calls and result.exit_code == 0:
        return
    assert result.exit_code in {1, 2}, result.stdout
    assert named in f"{result.stderr} {result.exception}"
    assert "`hobbes verify" in f"{result.stderr} {result.exception}"


NEVER_NULL = (
    "column_hashes",
    "config",
    "agents",
    "seed",
    "world",
    "turns",
    "digest",
    "status",
    "started",
    "caps",
)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *((column, "7") for column in (*RUN_COLUMNS[1:], "caps", "scores")),
        *((column, None) for column in NEVER_NULL),
    ],
)
def test_a_change_of_a_run_names_its_column_and_hides_no_other_run(
    whole: Path, home: Path, cli: Cli, column: str, value: str | None
) -> None:
    spoil(whole, home, f"update runs set {column} = ? where name = 'whole'", value)
    damage = {run["name"]: run["damage"] for run in json.loads(cli("runs", "--json").stdout)}
    assert f"the column runs.{column} is damaged" in damage.pop(WHOLE)
    assert not any(damage.values())
    assert cli("verify", WHOLE).exit_code == 1
    assert cli("trace", STOPPED).exit_code == 0


@pytest.mark.parametrize("column", [column for column in CALL_COLUMNS if column not in {"run", "agent"}])
def test_a_change_of_any_column_of_a_call_is_found(whole: Path, home: Path, cli: Cli, column: str) -> None:
    spoil(
        whole, home, f"update calls set {column} = '7' where {OF_WHOLE} and turn = 0 and agent = 'miner-01'"
    )
    for command in (("trace", WHOLE, "0", "miner-01"), ("replay", WHOLE)):
        result = cli(*command)
        assert result.exit_code == 1
        assert isinstance(result.exception, DamagedError | SystemExit)


def test_a_text_that_was_changed_is_damage_of_who_was_sent_it(whole: Path, home: Path, cli: Cli) -> None:
    spoil(whole, home, "update texts set text = text || ' '")
    assert "the text of the column runs.system_template" in str(cli("trace", WHOLE).exception)


def test_a_missing_turn_is_damage(whole: Path, home: Path, cli: Cli) -> None:
    spoil(whole, home, f"delete from turns where {OF_WHOLE} and turn = 1")
    assert "turn 1: the column turns.record" in str(cli("trace", WHOLE).exception)
    assert cli("trace", WHOLE, "0").exit_code == 0


@pytest.mark.parametrize("stored", [b"\xff\xfe", 0.5, "x"])
def test_a_column_takes_no_value_of_another_type(whole: Path, home: Path, stored: object) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="cannot store"):
        spoil(whole, home, "update calls set tokens_in = ?", stored)


def test_pages_name_the_damage_and_other_runs_have_theirs(whole: Path, home: Path) -> None:
    spoil(whole, home, "update runs set seed = 9 where name = 'whole'")
    with TestClient(site(home, "127.0.0.1"), base_url="http://127.0.0.1") as visitor:
        assert "damaged" in visitor.get("/").text
        page = visitor.get(f"/{WHOLE}")
        assert (page.status_code, "the column runs.seed is damaged" in page.text) == (500, True)
        assert visitor.get(f"/{STOPPED}").status_code == 200


def test_a_run_is_resumed_whatever_stands_in_its_checkpoints(whole: Path, home: Path, cli: Cli) -> None:
    shutil.copytree(whole, home)
    with closing(sqlite3.connect(home / "checkpoints.db")) as db:
        for (column,) in db.execute("select name from pragma_table_info('checkpoints')").fetchall():
            if column not in {"thread_id", "checkpoint_ns", "checkpoint_id"}:
                changed = db.execute(f"update checkpoints set {column} = 'x'")
                assert changed.rowcount
        db.commit()
    result = cli("resume", STOPPED)
    assert (result.exit_code, result.stderr.count("damaged")) == (0, 0)
    assert cli("verify", STOPPED).exit_code == 0


def test_the_python_api_leaves_out_a_damaged_run_with_a_warning(whole: Path, home: Path) -> None:
    spoil(whole, home, "update runs set models = 'x' where name = 'whole'")
    with hobbes.open(home) as reader, pytest.warns(UserWarning, match=r"the column runs\.models is damaged"):
        assert WHOLE not in {run.name for run in reader.runs()}
