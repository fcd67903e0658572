"""A run as files: the same rows in every form, failures beside everything, pages that link to each other."""

import csv
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet
import pytest

from hobbes.errors import HobbesError, UsageError
from hobbes.play.start import RunOptions
from hobbes.show import exports
from hobbes.show.exports import export
from hobbes.store.home import Store
from hobbes.store.run_tables import TABLES, table_of
from hobbes.store.schema import kinds_of
from tests.conftest import Cli
from tests.show.test_counted import faulty_run
from tests.small_runs import mining, played
from tests.wire.test_faults import served

Rows = list[dict[str, Any]]


def in_jsonl(folder: Path, name: str) -> Rows:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def in_csv(folder: Path, name: str) -> Rows:
    with (folder / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def in_parquet(folder: Path, name: str) -> Rows:
    rows: Rows = pyarrow.parquet.read_table(folder / f"{name}.parquet").to_pylist()
    return rows


def test_every_form_has_the_rows_of_the_database(opened: Store, tmp_path: Path) -> None:
    run = played(
        opened, RunOptions("nations", 3, models="policy:random?noise=0.3", values={"rounds": 4, "reask": 1})
    )
    for form in ("jsonl", "csv", "parquet"):
        files = export(opened, run, form, tmp_path / form)
        assert {path.name for path in (tmp_path / form).iterdir()} == files.keys()
    for table in (table_of(opened, run, name) for name in TABLES):
        jsonl, parquet = (
            in_jsonl(tmp_path / "jsonl", table.name),
            in_parquet(tmp_path / "parquet", table.name),
        )
        rows = list(table.rows)
        assert parquet == rows
        assert [row.keys() for row in jsonl] == [table.columns.keys()] * len(rows)
        assert in_csv(tmp_path / "csv", table.name) == [
            {column: "" if value is None else str(value) for column, value in row.items()} for row in rows
        ]
        if table.name not in {"scores", "notes"}:
            sql = f"select count(*) from {table.name} where run = ?"  # noqa: S608  names are ours
            assert [(len(rows),)] == opened.db.execute(sql, [run.id]).fetchall()
            left_out = kinds_of(opened.db, table.name).keys() - table.columns.keys()
            assert left_out == {"turns": {"record", "row_hash"}, "calls": {"row_hash"}}.get(table.name, set())
    calls, mends = in_jsonl(tmp_path / "jsonl", "calls"), in_jsonl(tmp_path / "jsonl", "mends")
    call = opened.calls.of_turn(run.id, 3, "AgentB")[0]
    (row,) = (c for c in calls if (c["turn"], c["agent"], c["decides"]) == (3, "AgentB", True))
    assert (row["prompt"], row["answer"]) == (call.prompt.turn, call.reply.text)
    assert any(isinstance(mend["said"], dict | list) for mend in mends)
    state = in_jsonl(tmp_path / "jsonl", "turns")[-1]["state"]
    assert state == next(opened.turns.of(run, 3)).record.state


def test_failed_calls_are_in_the_tables(
    opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three of six decisions: miner-01 in 0 (unreadable) and 1 (refused), miner-02 in 1 (unreadable)."""
    run = faulty_run(opened, monkeypatch)
    export(opened, run, "parquet", tmp_path / "out")
    calls = in_parquet(tmp_path / "out", "calls")
    assert [(r["turn"], r["agent"], r["outcome"]) for r in calls if r["failed"]] == [
        (0, "miner-01", "unreadable"),
        (1, "miner-01", "refused"),
        (1, "miner-02", "unreadable"),
    ]
    turns = in_parquet(tmp_path / "out", "turns")
    assert [(r["decisions"], r["failures"]) for r in turns] == [(2, 1), (2, 2), (2, 0)]
    measures = {(r["name"], r["scope"]): r for r in in_parquet(tmp_path / "out", "measures")}
    assert measures["turnover", "run"]["failures"] == 3
    about = json.loads((tmp_path / "out" / "run.json").read_text())
    assert about["failures"]["by_cause"] == {"unreadable": 2, "refused": 1}
    assert about["config"]["rounds"] == 3


def test_an_answer_that_was_asked_for_again_does_not_decide(
    opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = faulty_run(opened, monkeypatch, reask=1)
    export(opened, run, "jsonl", tmp_path / "out")
    first, second, *_ = calls = in_jsonl(tmp_path / "out", "calls")
    told = [first[name] for name in ("attempt", "outcome", "decides", "failed")]
    assert told == [1, "unreadable", False, False]
    assert (second["attempt"], second["outcome"], second["decides"]) == (2, "answered", True)
    assert not any(call["failed"] for call in calls)


def test_an_unfinished_run_is_exported_as_far_as_it_goes(opened: Store, cli: Cli, tmp_path: Path) -> None:
    halted = cli("run", "trust", "--agents", "2", "--max-calls", "5")
    assert isinstance(halted.exception, HobbesError)
    run = opened.runs.find("last")
    for form in ("jsonl", "html"):
        export(opened, run, form, tmp_path / form)
    assert len(in_jsonl(tmp_path / "jsonl", "turns")) == run.turns == 2
    assert len(in_jsonl(tmp_path / "jsonl", "calls")) == 5
    assert "halted: turn 2" in (tmp_path / "html" / "index.html").read_text()
    pages = {page.resolve() for page in (tmp_path / "html").glob("*.html")}
    assert {target for _, target in linked(tmp_path / "html")} == pages
    assert len(pages) == 1 + 5


def linked(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each link of a folder's pages: where it stands, and where it leads."""
    for page in folder.rglob("*.html"):
        for target in re.findall(r'href="([^"#]+)[^"]*"', page.read_text()):
            yield page, (page.parent / unquote(target)).resolve()


@pytest.mark.parametrize("world", ["mining", "nations", "trust"])
def test_pages_link_to_each_other_and_nowhere_else(world: str, opened: Store, tmp_path: Path) -> None:
    run = played(opened, RunOptions(world, 3, values={"rounds": 3}))
    files = export(opened, run, "html", tmp_path / "pages")
    pages = {page.resolve() for page in (tmp_path / "pages").glob("*.html")}
    assert len(pages) == sum(files.values())
    assert files == {"index.html": 1, "*-*.html": 9}
    assert {target for _, target in linked(tmp_path / "pages")} == pages
    assert all("compare" not in page.read_text() and "all runs" not in page.read_text() for page in pages)


def test_agents_that_come_and_die_and_an_observer_have_pages_too(opened: Store, tmp_path: Path) -> None:
    """Teams replicate, units die, and an observer who is a model rules on what is begged for."""
    values: dict[str, Any] = {"rounds": 12, "victory": "team", "observer": "openai:policy/all", "start": 60}
    with served({}):
        run = played(opened, RunOptions("trust", 4, models="policy:beggar*2,policy:racer*2", values=values))
    export(opened, run, "html", tmp_path / "pages")
    pages = {page.resolve() for page in (tmp_path / "pages").rglob("*.html")}
    assert {target for _, target in linked(tmp_path / "pages")} == pages
    assert any(page.name.endswith("-observer.html") for page in pages)


def test_an_existing_folder_is_not_overwritten(opened: Store, tmp_path: Path) -> None:
    run = mining(opened)
    (tmp_path / "there").touch()
    with pytest.raises(UsageError, match="already exists; choose another folder with --to"):
        export(opened, run, "csv", tmp_path / "there")


def test_a_folder_that_cannot_be_created_is_reported_in_one_line(opened: Store, tmp_path: Path) -> None:
    run = mining(opened)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"file/out lies in something that is not a folder; choose another"):
        export(opened, run, "csv", tmp_path / "file" / "out")


def test_an_export_is_whole_or_absent(opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = mining(opened)

    def full(path: Path, _table: object) -> None:
        path.touch()
        raise OSError(28, os.strerror(28))

    monkeypatch.setitem(exports.WRITERS, "csv", full)
    with pytest.raises(HobbesError, match="No space left on device"):
        export(opened, run, "csv", tmp_path / "to" / "out")
    assert list((tmp_path / "to").iterdir()) == []


def test_the_command_prints_its_files_and_rows(opened: Store, cli: Cli, tmp_path: Path) -> None:
    run = mining(opened)
    told = cli("export", "last", "--format", "csv", "--to", str(tmp_path / "out"), "--json")
    document = json.loads(told.stdout)
    assert (document["run"], document["folder"]) == (run.id, str(tmp_path / "out"))
    assert (document["files"]["turns.csv"], document["files"]["calls.csv"]) == (4, 12)


def test_the_default_folder_is_in_the_home(opened: Store, home: Path, cli: Cli) -> None:
    run = mining(opened)
    told = cli("export", "last")
    folder = home / "exports" / f"{run.id}-jsonl"
    assert told.exit_code == 0
    assert len(in_jsonl(folder, "turns")) == 4
