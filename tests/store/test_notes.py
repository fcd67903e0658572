"""Notes of runs, turns, agents' turns and events: written and read everywhere, and kept beside the runs."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import hobbes
from hobbes.errors import HobbesError, UsageError
from hobbes.show.exports import export
from hobbes.store.home import Store
from hobbes.store.notes import Place
from hobbes.store.recorded_run import Run
from tests.conftest import Cli
from tests.small_runs import mining

CARD = ("last", "2", "miner-01")


@pytest.fixture
def run(opened: Store) -> Run:
    return mining(opened, name=None)


def noted(cli: Cli, *words: str) -> dict[str, Any]:
    result = cli("note", *words, "--json")
    assert result.exit_code == 0, result.exception
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_what_is_not_given_stays_in_a_note(cli: Cli, opened: Store, run: Run) -> None:
    noted(cli, *CARD, "It broke its word.", "--tag", "b", "--tag", "a")
    assert noted(cli, *CARD, "--tag", "c", "--untag", "a") == {
        **dict(zip(("run", "turn", "agent"), (run.id, 2, "miner-01"), strict=True)),
        "event": None,
        "tags": ["b", "c"],
        "note": "It broke its word.",
        "written": opened.notes.at(Place(run.id, 2, "miner-01")).written,
    }
    noted(cli, *CARD, "", "--untag", "b", "--untag", "c")
    assert opened.notes.of() == [], "nothing is noted any more"


def test_a_note_is_about_a_run_a_turn_an_agents_turn_or_an_event(cli: Cli, opened: Store, run: Run) -> None:
    noted(cli, "last", "--tag", "whole")
    noted(cli, "last", "2", "all", "A turn.")
    noted(cli, "last", "2", "--event", "0", "--tag", "two")
    noted(cli, *CARD, "--tag", "one")
    assert [note.place[1:] for note in opened.notes.of(run.id)] == [
        (None, None, None),
        (2, None, None),
        (2, None, 0),
        (2, "miner-01", None),
    ]
    listed = cli("notes").stdout.splitlines()
    assert len(listed) == 5
    assert listed[3].split() == [run.id, "2", "event", "0", "two"]
    assert [one["tags"] for one in json.loads(cli("notes", "--tag", "one", "--json").stdout)] == [["one"]]


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("last", "2", "miner-1"), "nobody in run .* is called 'miner-1'; did you mean 'miner-01'"),
        (("last", "9", "--tag", "a"), "has no turn 9; it has turns 0 to 3"),
        (("last", "2", "--event", "999", "--tag", "a"), "turn 2 of run .* has no event 999; it has "),
        (("last", "2"), "there is nothing to note"),
        (("last", "--tag", "two words"), "tag 'two words': write at most 60 characters, without blanks"),
        (("last", "two", "--tag", "a"), "turn 'two': write the number of a turn, or all"),
        (("last", "all", "miner-01", "--tag", "a"), "name the turn"),
        (("nobody", "--tag", "a"), "there is no run 'nobody'"),
    ],
)
def test_a_note_about_nothing_is_refused(words: tuple[str, ...], told: str, cli: Cli, home: Path) -> None:
    error = cli("note", *words).exception
    assert isinstance(error, UsageError)
    assert re.search(told, str(error))
    assert not (home / "notes.db").exists()


def test_notes_change_nothing_in_the_run_database(cli: Cli, opened: Store, run: Run) -> None:
    del run
    before = "\n".join(opened.connection.iterdump())
    noted(cli, *CARD, "text", "--tag", "one")
    assert "\n".join(opened.connection.iterdump()) == before


def test_runs_are_chosen_by_tag(cli: Cli, opened: Store, run: Run) -> None:
    other = mining(opened, seed=2)
    noted(cli, run.id, "2", "miner-01", "--tag", "odd")
    noted(cli, other.id, "1", "all", "--tag", "dull")
    assert [one["id"] for one in json.loads(cli("runs", "--where", "tags~odd", "--json").stdout)] == [run.id]
    assert "odd" in cli("runs").stdout


def test_a_note_on_a_card_is_shown_everywhere(pages: TestClient, cli: Cli, run: Run) -> None:
    noted(cli, run.id, "2", "miner-01", "<b>It lied.</b>", "--tag", "promise-broken", "--tag", "odd")
    card = f"/{run.id}/2/miner-01"
    for address in (card, f"/{run.id}/2.html"):
        page = pages.get(address).text
        assert "<b>It lied" not in page
        assert "promise-broken" in page, address
    assert "&lt;b&gt;It lied." in pages.get(card).text
    noted(cli, run.id, "all", "all", "A calm run.")
    run_page = pages.get(f"/{run.id}").text
    assert "A calm run." in run_page
    assert 'data-label="tags">odd promise-broken</td>' in pages.get("/?where=tags~odd").text


def test_notes_are_exported_and_read_in_python(
    opened: Store, cli: Cli, run: Run, home: Path, tmp_path: Path
) -> None:
    noted(cli, *CARD, "text", "--tag", "b", "--tag", "a")
    noted(cli, "last", "all", "all", "--tag", "calm")
    with hobbes.open(home) as reader:
        found = reader.run()
        assert [(one["turn"], one["note"]) for one in found.notes] == [(None, ""), (2, "text")]
        assert list(found.table("notes")["tags"]) == ["calm", "a b"]
    export(opened, run, "jsonl", tmp_path / "jsonl")
    lines = [json.loads(line) for line in (tmp_path / "jsonl" / "notes.jsonl").read_text().splitlines()]
    assert [(one["turn"], one["agent"], one["tags"], one["note"]) for one in lines] == [
        (None, None, "calm", ""),
        (2, "miner-01", "a b", "text"),
    ]
    export(opened, run, "page", tmp_path / "page.html")
    card = (tmp_path / "page.html").read_text().partition('id="2-miner-01"')[2].partition("</section>")[0]
    assert '<span class="tag">a</span> <span class="tag">b</span> text' in card


def test_notes_are_plain_tables(cli: Cli, run: Run, home: Path) -> None:
    noted(cli, *CARD, "--tag", "a", "--tag", "b")
    with closing(sqlite3.connect(home / "notes.db")) as connection:
        rows = connection.execute("select run, tag from notes join tags on tags.note = notes.id").fetchall()
    assert rows == [(run.id, "a"), (run.id, "b")]


def test_a_damaged_file_is_reported_in_one_line(cli: Cli, run: Run, home: Path) -> None:
    del run
    (home / "notes.db").write_bytes(b"not a database" * 100)
    error = cli("notes").exception
    assert isinstance(error, HobbesError)
    assert f"cannot use the notes in {home / 'notes.db'}" in str(error)


def test_notes_of_a_run_that_is_gone_are_listed_by_its_id(cli: Cli, opened: Store) -> None:
    opened.notes.keep(Place("20200101-000000-abcdef", 0, "miner-01"), tags=["a"], text="")
    assert "20200101-000000-abcdef" in cli("notes").stdout
