"""The pages for people say what is true: those about data, and the links and commands of every page."""

import asyncio
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from docs.llms_texts import write_texts
from hobbes.cli import app
from hobbes.nodes.models import ModelSettings
from hobbes.play.render import question_in_new_run
from hobbes.play.start import RunOptions
from hobbes.play.step import StepRequest, step
from hobbes.probe.situations import Situation
from hobbes.probe.versions import Tried
from hobbes.show.prompt_edits import Edits, News, Probed
from hobbes.store.home import Store
from hobbes.store.record_views import VIEWS
from hobbes.store.run_tables import JSON_COLUMNS
from hobbes.store.schema import kinds_of
from hobbes.wire.recorder import in_thread
from hobbes.wire.stand_in import stand_in
from hobbes.worlds import WORLDS
from tests.conftest import Cli
from tests.small_probes import asked, duel, heeding
from tests.small_runs import played_once

ROOT = Path(__file__).parents[1]

DATA, DOCUMENTS = ROOT / "docs" / "data.md", ROOT / "docs" / "json.md"

PAGES = [ROOT / name for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))

TYPES = {"text": str, "JSON": str, "integer": int, "real": float}

RECORD = {view.name: view for view in VIEWS}


@cache
def sections() -> Mapping[str, str]:
    """Return the sections of the pages about data by their headings, without backticks."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in (DATA, DOCUMENTS))
    parts = re.split(r"^#{1,3} (.*)\n", text, flags=re.MULTILINE)
    headings = [heading.replace("`", "") for heading in parts[1::2]]
    assert len(set(headings)) == len(headings)
    return dict(zip(headings, parts[2::2], strict=True))


def listed(text: str) -> list[list[tuple[str, str, str]]]:
    """Return the lists of a text, each as its items: name, type and meaning."""
    found = re.findall(r"(?:^- `.*\n)+", text, flags=re.MULTILINE)
    return [
        [(name, kind or "text", meaning) for name, kind, meaning in ITEM.findall(list_)] for list_ in found
    ]


ITEM = re.compile(r"^- `(\w+)`(?: \((\w+)\))?: (.+)$", flags=re.MULTILINE)


def described() -> dict[str, list[tuple[str, str, str]]]:
    """Return the columns of each table of the run database that the page describes."""
    tables = {heading: listed(text) for heading, text in sections().items() if "\nKey: " in text}
    columns = {heading: lists[0] if lists else [] for heading, lists in tables.items()}
    (shared,) = listed(sections()["The run database"])
    for heading, rows in columns.items():
        mentioned = {name for name, _, _ in rows}
        rows[:0] = [row for row in shared if row[0] in key_of(heading) and row[0] not in mentioned]
    names = [name for name, _, _ in columns["calls"]]
    columns["probe_answers"] += columns["calls"][names.index("tries") : names.index("arrived") + 1]
    return columns


def key_of(table: str) -> list[str]:
    """Return the columns of the key of a table, as the page names them."""
    return code(re.findall(r"^Key: (.*)$", sections()[table], flags=re.MULTILINE)[0])


def keys(heading: str, at: int = 0) -> list[str]:
    return [name for name, _, _ in listed(sections()[heading])[at]]


def meaning(heading: str, key: str) -> str:
    (found,) = (meaning for name, _, meaning in listed(sections()[heading])[0] if name == key)
    return found


def code(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)


@pytest.fixture
def trust(opened: Store) -> Store:
    """A home with one run, in which units send what they may, beg and are answered by rule."""
    played_once(opened, RunOptions("trust", 2, models="policy:random?noise=0.2", values={"rounds": 4}))
    return opened


def told(home: Path, *arguments: str) -> Any:
    result = CliRunner().invoke(app, [*arguments, "--json"], env={"HOBBES_HOME": str(home)})
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_page_describes_the_tables_of_a_database_with_their_columns_and_keys(opened: Store) -> None:
    tables = {name for name in opened.db.table_names() if not name.startswith("_sqlite")}
    assert described().keys() == tables | set(opened.db.view_names())
    for name, rows in described().items():
        assert {column: TYPES[kind] for column, kind, _ in rows} == kinds_of(opened.connection, name), name
        assert len({column for column, _, _ in rows}) == len(rows), name
        primary = ["run", "turn", *RECORD[name].key] if name in RECORD else opened.db.table(name).pks
        assert key_of(name) == primary, name


@pytest.mark.parametrize("name", RECORD)
def test_a_table_of_the_record_is_described_as_it_is_declared(name: str) -> None:
    table, text = RECORD[name], sections()[name]
    assert text.strip().splitlines()[0] == f"{table.meaning[0].upper()}{table.meaning[1:]}."
    kinds = {column: "JSON" if kind == "json" else kind for column, kind in table.kinds.items()}
    rows = [(column, kind) for column, kind, _ in described()[name]]
    assert rows == list(kinds.items())


def test_the_page_says_json_where_exports_write_json_values() -> None:
    exported = {name for name, _ in JSON_COLUMNS}
    columns = [(name, *row) for name, rows in described().items() for row in rows if name in exported]
    found = {(name, column) for name, column, kind, _ in columns if kind == "JSON"}
    assert found - {("turns", "record")} == JSON_COLUMNS


def test_the_page_describes_what_run_prints(home: Path) -> None:
    document = told(home, "run", "mining", "--rounds", "1")
    assert set(keys("hobbes run --json")) == document.keys()
    line = meaning("hobbes run --json", "failures")
    assert {name for name in code(line) if name != "taint_share"} == document["failures"].keys()


def test_the_page_describes_what_a_probe_prints(opened: Store, home: Path) -> None:
    situation = Situation(run=duel(opened).id, turn=1, agent="unit-a")
    with heeding():
        document = asked(opened, name="p", situation=[situation], times=1).to_json()
    assert keys("hobbes probe RUN --json") == list(document) == list(told(home, "probe", "show", "p"))
    cell = told(home, "probe", "show", "p", "1", "recorded")
    assert keys("hobbes probe show PROBE SITUATION COLUMN --json") == list(cell)
    assert set(code(meaning("hobbes probe RUN --json", "cells"))) == set(document["cells"][0])


def test_the_page_describes_what_experiments_print(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text('name = "one"\nworld = "trust"\nrounds = 2\nseeds = 1\n[arms.a]\n', encoding="utf-8")
    of_dry_run = told(home, "experiment", str(path), "--dry-run")
    assert keys("hobbes experiment FILE --json", 1) == list(of_dry_run)
    assert keys("hobbes experiment FILE --json") == list(told(home, "experiment", str(path)))
    assert keys("hobbes experiments --json") == list(told(home, "experiments")[0])
    assert keys("hobbes report EXPERIMENT --json") == list(told(home, "report", "one"))


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("hobbes trace RUN --json", "trace last"),
        ("hobbes trace RUN TURN --json", "trace last 0"),
        ("hobbes trace RUN AGENT --json", "trace last unit-a"),
        ("hobbes trace RUN TURN AGENT --json", "trace last 0 unit-a"),
        ("hobbes compare A B --json", "compare last last"),
        ("hobbes replay RUN --json", "replay last"),
        ("hobbes verify RUN --json", "verify last"),
        ("hobbes export RUN --json", "export last --to new"),
        ("hobbes make-test RUN --json", "make-test last --turns 0 --name pinned --to ."),
        ("hobbes worlds WORLD --json", "worlds mining"),
    ],
)
@pytest.mark.usefixtures("trust")
def test_the_page_describes_what_a_command_prints(
    heading: str, words: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    document = told(home, *words.split())
    assert keys(heading) == list(document[0] if isinstance(document, list) else document)


def test_the_page_describes_what_tournament_prints(home: Path) -> None:
    found = told(home, "tournament", "--games", "1", "--set", "rounds=1")
    assert keys("hobbes tournament --json") == list(found)
    assert keys("hobbes tournament --json", 1) == list(found["wins"][0]) == list(found["score"][0])


def test_the_page_describes_what_doctor_and_models_print(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir(exist_ok=True)
    (home / "models.toml").write_text('[mini]\nmodel = "gpt-5-mini"\nkey = "MINI_KEY"\n')
    monkeypatch.setenv("MINI_KEY", "ü")  # no key has such a character, so no server is asked
    document = told(home, "doctor")
    assert keys("hobbes doctor --json") == list(document)
    assert code(meaning("hobbes doctor --json", "models")) == list(document["models"]["mini"])
    (model,) = told(home, "models").values()
    fields = ModelSettings.model_fields.keys()
    assert model.keys() - fields == set(keys("hobbes models --json")) - fields
    assert set(keys("hobbes models --json")) <= model.keys()


def test_the_page_describes_what_watch_prints() -> None:
    heading, shown = "hobbes watch WORLD --json", list[News]()
    question = question_in_new_run(RunOptions("mining"), 0, "miner-01")

    async def saved() -> AsyncIterator[None]:
        yield

    asyncio.run(Edits(question, shown.append).follow(saved()))
    (rendering,) = shown
    assert keys(heading) == list(rendering.to_json())
    assert keys(heading, 1) == list(Probed(0, Tried(None)).to_json())


def test_the_page_describes_the_requests_and_replies_of_step() -> None:
    assert keys("hobbes step WORLD") == list(StepRequest.model_fields)
    assert keys("hobbes step WORLD", 1) == list(step(WORLDS["mining"], StepRequest(answers={})))


def anchors(page: Path) -> set[str]:
    """Return the anchors that a page's headings have on GitHub."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def blocks(text: str) -> list[str]:
    """Return the blocks of a page that name no language: those of commands."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [block for language, block in fenced if not language]


def commands(page: Path) -> list[list[str]]:
    """Return the words of each call of hobbes in a page's blocks of commands."""
    told = blocks(page.read_text(encoding="utf-8"))
    lines = [re.sub(r"'[^']*'|\"[^\"]*\"", "VALUE", line) for block in told for line in block.splitlines()]
    called = [re.split(r" +[#&|>]", line[at.end() :])[0] for line in lines for at in CALLED.finditer(line)]
    return [call.split() for call in called]


CALLED = re.compile(r"(?:^|[|&] |=\S+ )hobbes ")


def test_each_command_and_option_exists() -> None:
    program: Any = get_command(app)
    found = [(page.name, call) for page in PAGES for call in commands(page)]
    assert len(found) > 20
    for page, (name, *words) in found:
        command = program.commands.get(name)
        if command is not None and hasattr(command, "commands"):
            command = command.commands.get(words[0]) or command.commands.get(getattr(command, "default", ""))
        assert command is not None, f"{page}: hobbes {name} {' '.join(words)}"
        options = {option for parameter in command.params for option in parameter.opts}
        unknown = {word for word in words if word.startswith("--")} - options
        assert not unknown, f"{page}: hobbes {name} has no {unknown}"


def test_the_texts_for_language_models_have_each_page_of_the_site(tmp_path: Path) -> None:
    for name in ("docs", "zensical.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    write_texts(tmp_path)
    text = "".join((tmp_path / "site" / f"{name}.txt").read_text() for name in ("llms", "llms-full"))
    for page in (page for page in PAGES if page.parent in {ROOT / "docs", ROOT / "docs" / "rules"}):
        assert f"]({page.relative_to(ROOT / 'docs')}): " in text, "the nav of zensical.toml names it"
        assert page.read_text(encoding="utf-8") in text


def test_no_page_but_findings_has_more_than_three_thousand_words() -> None:
    words = {
        page.stem: len(page.read_text(encoding="utf-8").split()) for page in (ROOT / "docs").glob("*.md")
    }
    assert {page for page, count in words.items() if count > 3_000} <= {"findings"}


JOBS = ("README", "docs/start", "docs/read-why", "docs/change-a-sentence", "docs/pin-a-behaviour")


@pytest.mark.parametrize("page", JOBS)
def test_the_blocks_of_the_first_pages_run(
    page: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for commands that set up or do not end, the server's address, and how much is played."""
    text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for folder in ("prompts", "experiments"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    for file in re.findall(r"^```toml\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        short = file.replace("seeds = 20", "seeds = [8]").replace("rounds = 20", "rounds = 3")
        (tmp_path / f"{tomllib.loads(file)['name']}.toml").write_text(short, encoding="utf-8")
    tests: list[str] = []
    with in_thread(stand_in()) as base:
        for line in "".join(blocks(text)).replace("--rounds 50", "--rounds 6").splitlines():
            program, *words = shlex.split(line, comments=True) or [""]
            if program == "hobbes" and words[0] not in {"serve", "view", "watch"}:
                done = cli(*words, env={"OPENAI_BASE_URL": base, "HOBBES_HOME": ".hobbes"})
                assert done.exit_code == 0, f"{line}\n{done.output}"
            elif program in {"cp", "sed", "mkdir", "gunzip"}:
                subprocess.run(line, shell=True, check=True)  # noqa: S602  the page's own line
            elif program == "pytest":
                tests += words
        if tests:  # one process for all of them, with the plugin of hobbes and no other
            monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            subprocess.run([sys.executable, "-m", "pytest", "-p", "hobbes.pytest_plugin", *tests], check=True)
