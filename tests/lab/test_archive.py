"""Homes that earlier versions recorded, and this one: all can be shown; tests/archive/README.md."""

import json
import sqlite3
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import Result

from hobbes.engine.turn import RECORD_VERSION
from hobbes.engine.worlds import WORLDS, world_named
from hobbes.lab.errors import LabError
from hobbes.lab.show.viewing import site
from hobbes.lab.store.database import open_store
from tests.archive.make import HERE, HOMES, archive_of, unpacked
from tests.conftest import Cli
from tests.lab.test_view import hidden

ARCHIVES = sorted(HERE.glob("record-*.tar.gz"))
LOCAL = "http://127.0.0.1"


@pytest.fixture(params=ARCHIVES, ids=lambda archive: archive.name.removesuffix(".tar.gz"))
def archived(request: pytest.FixtureRequest, home: Path) -> Path:
    """A home out of the archive."""
    return unpacked(request.param, home)


def told(result: Result) -> Any:
    """Return what a command that went well told as JSON."""
    assert result.exit_code == 0, (result.stderr, result.exception)
    return json.loads(result.stdout)


def runs_of(home: Path) -> list[sqlite3.Row]:
    """Return the rows of the runs as they are in the archive, before anything migrates them."""
    with sqlite3.connect(home / "runs.db") as connection:
        connection.row_factory = sqlite3.Row
        rows = connection.execute("select * from runs").fetchall()
    connection.close()
    return rows


def asked(home: Path) -> list[tuple[str, int, str]]:
    """Return each run, turn and agent of which there is a call."""
    with sqlite3.connect(home / "runs.db") as connection:
        rows = connection.execute("select distinct run, turn, agent from calls").fetchall()
    connection.close()
    return rows


def of_this_version(row: sqlite3.Row) -> bool:
    """Tell whether a run can be verified here; version 1 of the record did not note its versions."""
    rules = world_named(row["world"]).rules_version
    noted = dict(row)
    return (noted.get("record_version", 1), noted.get("rules_version", 1)) == (RECORD_VERSION, rules)


def test_each_world_is_archived_with_the_present_version_of_the_record() -> None:
    assert set(HOMES) == set(WORLDS)
    assert {archive_of(world) for world in WORLDS} <= set(ARCHIVES), "python -m tests.archive.make"


def test_archived_runs_are_listed_and_traced(archived: Path, cli: Cli) -> None:
    runs, calls = runs_of(archived), asked(archived)
    assert {run["id"] for run in told(cli("runs", "--json"))} == {row["id"] for row in runs}
    for row in runs:
        assert row["name"] in cli("runs").stdout
        turns = told(cli("trace", row["name"], "--json"))
        assert [turn["digest"] for turn in turns][: row["turns"]][-1:] in ([row["digest"]], [])
    for run, turn, agent in calls:
        card = told(cli("trace", run, str(turn), agent, "--json"))
        assert card["agent"] == agent
    for run, turn in {(run, turn) for run, turn, _ in calls}:
        shown = cli("trace", run, str(turn)).stdout
        assert all(call[2] in shown for call in calls if call[:2] == (run, turn))


def test_archived_runs_are_shown_as_pages(archived: Path) -> None:
    runs, calls = runs_of(archived), asked(archived)
    with TestClient(site(archived, "127.0.0.1"), base_url=LOCAL) as visitor:
        pages = {"/", *(f"/compare?a={row['id']}&b={runs[0]['id']}" for row in runs)}
        for run, turn, agent in calls:
            pages |= {f"/{run}", f"/{run}/{turn}", f"/{run}/{turn}/{agent}"}
        for page in sorted(pages):
            shown = visitor.get(page)
            assert (shown.status_code, page) == (200, page), shown.text
            assert "</html>" in shown.text


def test_archived_runs_are_compared(archived: Path, cli: Cli) -> None:
    runs = runs_of(archived)
    for row in runs:
        assert told(cli("compare", row["id"], row["id"], "--json"))["divergence"] is None
        told(cli("compare", row["id"], runs[0]["id"], "--json"))


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "html"])
def test_archived_runs_are_exported(form: str, archived: Path, cli: Cli, tmp_path: Path) -> None:
    for row in runs_of(archived):
        folder = tmp_path / row["name"]
        assert cli("export", row["id"], "--format", form, "--to", str(folder)).exit_code == 0
        assert any(folder.rglob(f"*.{form}"))


PROVING = (["verify"], ["replay"], ["replay", "--reread"], ["resume"], ["answer", "--grant", "unit-b=1"])


def test_an_archived_run_of_another_version_says_in_one_line_which_one_verifies_it(
    archived: Path, cli: Cli
) -> None:
    for row, command in product(runs_of(archived), PROVING):
        # --reread compares versions of the rules; only the shape of the record must be today's.
        compares = "--reread" in command and dict(row).get("record_version", 1) == RECORD_VERSION
        if not of_this_version(row) and not compares:
            before = cli("trace", row["id"], "--json").stdout
            refused = cli(command[0], row["id"], *command[1:])
            assert isinstance(refused.exception, LabError), command
            noted = dict(row)
            by, record = noted.get("hobbes", "0.1"), noted.get("record_version", 1)
            assert str(refused.exception).startswith(
                f"run {row['id']} was recorded by hobbes {by} (record {record}, {row['world']} rules "
            )
            assert "use that version" in str(refused.exception)
            assert "\n" not in str(refused.exception)
            assert cli("trace", row["id"], "--json").stdout == before, "nothing is changed"


def test_an_archived_run_of_this_record_can_be_read_again_under_other_rules(archived: Path, cli: Cli) -> None:
    for row in runs_of(archived):
        if dict(row).get("record_version", 1) == RECORD_VERSION:
            assert "decisions" in told(cli("replay", row["id"], "--reread", "--json"))


def test_a_page_refuses_an_answer_to_a_run_of_another_version(home: Path) -> None:
    unpacked(archive_of("trust", 1), home)
    (row,) = (row for row in runs_of(home) if row["name"] == "waits")
    question = json.loads(row["question"])
    with TestClient(site(home, "127.0.0.1"), base_url=LOCAL) as visitor:
        token = hidden(visitor.get(f"/{row['id']}/fork").text)["token"]
        form = {"token": token, "address": question["address"], "unit-b": "1", "reason": ""}
        said = visitor.post(f"/{row['id']}/answer", data=form, headers={"origin": LOCAL})
    assert (said.status_code, "use that version" in said.text) == (400, True)
    (after,) = (row for row in runs_of(home) if row["name"] == "waits")
    assert (after["status"], after["question"]) == ("waiting", row["question"])


def test_archived_runs_of_this_version_verify_replay_and_go_on(archived: Path, cli: Cli) -> None:
    for row in runs_of(archived):
        if of_this_version(row):
            name = row["name"]
            assert told(cli("verify", name, "--json"))["faults"] == []
            # What a chat model was asked is made of prompts that people edit; a view is made of the rules.
            reread = ["--reread"] if "openai:" in row["models"] else []
            replayed = told(cli("replay", name, *reread, "--json"))
            assert (replayed["divergence"], replayed["digest"]) == (None, row["digest"])
            if row["status"] == "waiting":
                answered = cli("answer", name, "--grant", "unit-b=1", "--reason", "here", "--json")
                assert answered.exit_code == 0, answered.exception
            elif not reread:
                assert told(cli("resume", name, "--json"))["digest"] == row["digest"]
            assert told(cli("verify", name, "--json"))["faults"] == []


def test_the_present_archive_has_failed_calls_follow_up_questions_and_a_waiting_run(
    tmp_path: Path,
) -> None:
    mining = unpacked(archive_of("mining"), tmp_path / "mining")
    with sqlite3.connect(mining / "runs.db") as connection:
        outcomes = dict(connection.execute("select outcome, count(*) from calls group by 1"))
        questions = {question for (question,) in connection.execute("select question from calls")}
    connection.close()
    assert {"answered", "truncated"} <= outcomes.keys()
    assert questions == {1, 2}
    trust = unpacked(archive_of("trust"), tmp_path / "trust")
    assert {row["name"]: row["status"] for row in runs_of(trust)} == {"old": "finished", "waits": "waiting"}


def test_homes_are_packed_as_they_are_archived(tmp_path: Path) -> None:
    """The script that makes the archives of later versions works today."""
    from tests.archive.make import pack, record  # noqa: PLC0415

    record(tmp_path / "home", HOMES["trust"])
    pack(tmp_path / "home", tmp_path / "packed.tar.gz")
    before = unpacked(archive_of("trust"), tmp_path / "before")
    after = unpacked(tmp_path / "packed.tar.gz", tmp_path / "after")
    assert [row["digest"] for row in runs_of(after)] == [row["digest"] for row in runs_of(before)]


def test_the_records_of_archived_runs_have_all_that_their_tables_had(archived: Path) -> None:
    with open_store(archived) as store:
        assert [name for name in store.db.table_names() if name.endswith("_not_in_record")] == []


def test_a_database_of_version_1_is_copied_before_it_is_migrated(home: Path) -> None:
    unpacked(archive_of("mining", 1), home)
    before = sqlite3.connect(home / "runs.db").execute("select * from minds").fetchall()
    with open_store(home) as store:
        assert "minds" not in store.db.table_names()
    assert sqlite3.connect(home / "runs-0.1.db").execute("select * from minds").fetchall() == before
