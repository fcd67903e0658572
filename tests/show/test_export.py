"""A run as files: the same rows in every form, failures beside everything, a page that holds all of it."""

import csv
import json
import os
import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow.parquet
import pytest

from hobbes.errors import HobbesError, MissingError, UsageError
from hobbes.play.start import RunOptions
from hobbes.show import exports
from hobbes.show.exports import export
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
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
            left_out = kinds_of(opened.connection, table.name).keys() - table.columns.keys()
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
    export(opened, run, "jsonl", tmp_path / "jsonl")
    assert len(in_jsonl(tmp_path / "jsonl", "turns")) == run.turns == 2
    assert len(in_jsonl(tmp_path / "jsonl", "calls")) == 5
    page = exported_page(opened, run, tmp_path)
    assert "halted: turn 2" in page
    assert len(places(page)) == run.turns + 5


def exported_page(opened: Store, run: Run, folder: Path, turns: Sequence[int] | None = None) -> str:
    """Export a run as a page, and return it."""
    export(opened, run, "page", folder / "run.html", turns)
    return (folder / "run.html").read_text(encoding="utf-8")


def places(page: str) -> list[str]:
    """Return the names of the turns and cards of a page."""
    return re.findall('<section class="sheet" id="([^"]*)"', page)


def links(page: str) -> set[str]:
    """Return where the links of a page lead."""
    return set(re.findall('href="([^"]*)"', page))


@pytest.mark.parametrize("world", ["mining", "nations", "trust"])
def test_a_page_links_to_its_own_turns_and_cards_and_loads_nothing(
    world: str, opened: Store, tmp_path: Path
) -> None:
    run = played(opened, RunOptions(world, 3, values={"rounds": 3}))
    page = exported_page(opened, run, tmp_path)
    there = {f"#{place}" for place in places(page)}
    assert len(there) == 3 + 9
    inner = {f"#{name}" for name in re.findall(' id="([^"]*)"', page)}
    assert there <= links(page) <= {*inner, "#"}
    assert not re.findall(r"""(?:src|action)=|url\(|@import|<link|href=["']?[^"'#]""", page)


def test_a_page_says_in_one_line_what_went_wrong(opened: Store, tmp_path: Path) -> None:
    options = RunOptions("nations", 3, models="policy:random?noise=0.4", values={"rounds": 3})
    page = exported_page(opened, played(opened, options), tmp_path)
    assert re.search(r"\d rejections\s+ · \d+ corrections", page)


def test_agents_that_come_and_die_and_an_observer_have_cards_too(opened: Store, tmp_path: Path) -> None:
    """Teams replicate, units die, and an observer who is a model rules on what is begged for."""
    values: dict[str, Any] = {"rounds": 12, "victory": "team", "observer": "openai:policy/all", "start": 60}
    with served({}):
        run = played(opened, RunOptions("trust", 4, models="policy:beggar*2,policy:racer*2", values=values))
    page = exported_page(opened, run, tmp_path)
    decided = {(one.turn, one.agent) for one in opened.calls.decisions(run.id)}
    assert {*places(page)} == {*map(str, range(run.turns)), *(f"{turn}-{agent}" for turn, agent in decided)}
    assert any(place.endswith("-observer") for place in places(page))


def test_some_turns_are_a_page_of_their_own(opened: Store, tmp_path: Path) -> None:
    run = mining(opened)
    page = exported_page(opened, run, tmp_path, [2, 1])
    assert [place for place in places(page) if "-" not in place] == ["1", "2"]
    assert len(places(page)) == 2 + 2 * 3
    assert links(page) <= {"#", *(f"#{name}" for name in re.findall(' id="([^"]*)"', page))}
    assert "This file has 2 of 4 turns, from turn 1 to turn 2." in page
    with pytest.raises(MissingError, match="has no turn 9; it has turns 0 to 3"):
        export(opened, run, "page", tmp_path / "other.html", [9])
    with pytest.raises(UsageError, match="--turns goes with --format page and svg"):
        export(opened, run, "csv", tmp_path / "csv", [1])


def test_a_page_holds_each_prompt_and_each_map_once(opened: Store, tmp_path: Path) -> None:
    with served({}):
        run = played(opened, RunOptions("mining", 3, models="openai:policy/guided", values={"rounds": 3}))
    page = unescape(exported_page(opened, run, tmp_path))
    prompts = [call.prompt for turn in range(3) for call in opened.calls.of_turn(run.id, turn)]
    (system,) = {prompt.system for prompt in prompts}
    assert page.count(system) == 1
    assert page.count('aria-label="map at the start of turn 0"') == 1
    assert "the same as in the card of miner-01 in turn 0" in page
    without_marks = re.sub("</?(?:ins|del)>", "", page)
    assert all(without_marks.count(prompt.turn.splitlines()[0]) for prompt in prompts)


def test_a_page_of_policies_is_small_and_says_that_it_lacks_their_views(
    opened: Store, tmp_path: Path
) -> None:
    run = played(opened, RunOptions("mining", 4, models="policy:guided", values={"rounds": 8}))
    page = exported_page(opened, run, tmp_path)
    assert len(page.encode()) < 1_500_000
    assert page.count("no words of a prompt. The view is not in this file.") == 8 * 4
    assert "What was sent" not in page


@pytest.mark.parametrize("world", ["mining", "nations", "trust"])
def test_boards_that_move_are_one_svg_with_a_frame_per_turn(
    world: str, opened: Store, tmp_path: Path
) -> None:
    run = played(opened, RunOptions(world, 3, values={"rounds": 4}))
    assert export(opened, run, "svg", tmp_path / "all.svg") == {"all.svg": run.turns}
    export(opened, run, "svg", tmp_path / "run.svg", [1, 2])
    text = (tmp_path / "run.svg").read_text(encoding="utf-8")
    frames = [one for one in ET.fromstring(text) if "frame" in one.attrib.get("class", "")]  # noqa: S314  ours
    titles = [frame.attrib["aria-label"].partition(":")[0] for frame in frames]
    assert titles == ["turn 1", "turn 2"]
    assert [frame[-1].text for frame in frames] == [f"{run.id}, turn {turn} of 3" for turn in (1, 2)]
    names = re.findall(' id="([^"]*)"', text)
    assert len({*names}) == len(names)
    assert {*re.findall('<use href="#([^"]*)"', text)} <= {*names}
    assert "<script" not in text
    assert "animation:frame 6s step-end infinite" in text


@pytest.mark.parametrize(
    ("to", "told"),
    [
        ("file", "already exists; choose another folder with --to"),
        ("file/out", r"file/out lies in something that is not a folder; choose another"),
    ],
)
def test_nothing_is_overwritten_and_what_is_no_folder_is_reported_in_one_line(
    to: str, told: str, opened: Store, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=told):
        export(opened, mining(opened), "csv", tmp_path / to)


def test_an_export_is_whole_or_absent(opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = mining(opened)

    def full(path: Path, _table: object) -> None:
        path.touch()
        raise OSError(28, os.strerror(28))

    monkeypatch.setitem(exports.WRITERS, "csv", full)
    with pytest.raises(HobbesError, match="No space left on device"):
        export(opened, run, "csv", tmp_path / "to" / "out")
    assert list((tmp_path / "to").iterdir()) == []


def test_the_command_prints_its_files_and_rows_and_its_default_folder_is_in_the_home(
    opened: Store, home: Path, cli: Cli
) -> None:
    run = mining(opened)
    document = json.loads(cli("export", "last", "--json").stdout)
    folder = home / "exports" / f"{run.id}-jsonl"
    assert (document["run"], document["folder"]) == (run.id, str(folder))
    assert (document["files"]["turns.jsonl"], document["files"]["calls.jsonl"]) == (4, 12)
    assert len(in_jsonl(folder, "turns")) == 4
