"""How the command starts: Ctrl-C at any moment, and what it imports."""

import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from hobbes.show.demonstration import GAME
from hobbes.store.home import open_store
from tests.conftest import Cli
from tests.pages import LOCAL

ROOT = Path(__file__).parents[2]

INTERRUPTED = 130

SLOW = {
    "aiohttp",
    "aiosqlite",
    "hobbes.engine",
    "hobbes.experiment.report",
    "hobbes.nodes",
    "hobbes.nodes.players",
    "hobbes.probe.table",
    "jinja2",
    "langchain_core",
    "langgraph",
    "numpy",
    "openai",
    "pandas",
    "pydantic",
    "rich",
    "sqlite_utils",
    "starlette",
    "vcr",
}
"""Packages that take long to import, or import others that do."""

READING = {"hobbes.engine", "hobbes.nodes", "pydantic", "rich"}
PLANNING = {"hobbes.experiment.report", "hobbes.nodes.players", "jinja2", "numpy"}
PLAYING = {"aiosqlite", "hobbes.nodes.players", "jinja2", "langchain_core", "langgraph"}

COMMANDS = """\
from hobbes.cli import app
for line in {}:
    app(line.split(), standalone_mode=False)
"""

FIRST_PAGE = f"""\
from hobbes.show.web.server import *
from starlette.testclient import TestClient
with TestClient(site(Path("home"), "127.0.0.1"), base_url="{LOCAL}") as visitor:
    assert visitor.get("/").status_code == 200
"""


DRY_RUN = f"experiment {ROOT / 'experiments/published/talk.toml'} --dry-run"


def started(*arguments: str, path: Path) -> "subprocess.CompletedProcess[str]":
    """Start the installed command's function, with a folder of modules that come before all others."""
    file = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    module, function = file["project"]["scripts"]["hobbes"].split(":")
    return subprocess.run(
        [sys.executable, "-c", f"from {module} import {function}; {function}()", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def called(tmp_path: Path) -> Path:
    """The program `bin/hobbes` of a folder, as `make demo` calls it; it is not on the path."""
    program = tmp_path / "bin" / "hobbes"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom hobbes.__main__ import main\nmain()\n")
    program.chmod(0o755)
    return program


def typed(*words: object, cwd: Path, home: Path) -> str:
    """Return what a command prints that is typed into a shell on whose path there is no hobbes."""
    folders = os.environ["PATH"].split(os.pathsep)
    path = os.pathsep.join(folder for folder in folders if not (Path(folder) / "hobbes").exists())
    env = {**os.environ, "PATH": path, "HOBBES_HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [str(word) for word in words]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def test_the_demo_shows_a_broken_promise_and_a_run_and_ends_with_commands_that_can_be_typed(
    called: Path, home: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`view` would serve pages until it is stopped, so `runs` opens the same homes in its place."""
    ready = tmp_path / "ready"
    ready.touch()
    monkeypatch.setenv("COLUMNS", "120")
    printed = typed(
        "make", "--no-print-directory", "demo", f"BIN={called.parent}", f"BASE={ready}", cwd=ROOT, home=home
    )
    assert len(printed.splitlines()) <= 25
    promise, deed = (
        printed.index("“I never raid first."),
        printed.index("raided [0,0] of ▲miner-03 (captured)"),
    )
    assert promise < deed < printed.index("●01 ■02 guided")
    commands = [line.partition(": ")[2].strip() for line in printed.rpartition("\n\n")[2].splitlines()]
    assert [shlex.split(command)[1] for command in commands] == ["probe", "view", "make-test"]
    monkeypatch.chdir(tmp_path)
    for command in commands:
        assert cli(*shlex.split(command.replace(" view", " runs"))[1:]).exit_code == 0, command


def test_the_demo_plays_its_run_once_in_its_own_home_which_is_made_anew_if_it_is_damaged_or_empty(
    home: Path, cli: Cli
) -> None:
    shown = cli("demo").stdout
    database = home / "demo" / "runs.db"
    whole = database.read_bytes()
    with closing(sqlite3.connect(database)) as db:
        pages = db.execute("select (rootpage - 1) * 4096 from sqlite_master where name in ('runs', 'turns')")
        ((shown_record,),) = db.execute(
            "select record from turns where turn = 1 and run = (select id from runs where name = ?)", [GAME]
        )
        places = [*(at for (at,) in pages), whole.index(shown_record[:99].encode())]
    damaged = [whole[:at] + bytes(99) + whole[at + 99 :] for at in places]
    for content in (whole, whole[:100_000], b"", *damaged):
        database.write_bytes(content)
        assert cli("demo").stdout == shown
        with open_store(home / "demo") as store:
            assert sum(row["name"] == "demo" for row in store.runs.rows()) == 1
    assert not (home / "runs.db").exists()
    assert f"/demo` lists those in {home / 'demo'}" in str(cli("trace", "demo").exception)


@pytest.fixture
def without_links(tmp_path: Path) -> Path:
    """A checkout as git makes it without `core.symlinks`: a file with its path stands for each link."""
    shutil.copytree(ROOT / "hobbes", tmp_path / "hobbes", symlinks=True)
    for link in filter(Path.is_symlink, list((tmp_path / "hobbes").iterdir())):
        target = str(link.readlink())
        link.unlink()
        link.write_text(target)
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "last"),
    [
        ((sys.executable, "-m", "hobbes", "runs"), "hobbes: "),
        (("make", "--silent", "demo", f"PY={sys.executable}"), ""),
        ((sys.executable, "-c", "import hobbes; hobbes.open()"), "ImportError: "),
    ],
)
def test_a_checkout_without_links_says_in_one_line_what_to_do(
    without_links: Path, command: tuple[str, ...], last: str
) -> None:
    done = subprocess.run(
        command, cwd=without_links, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode
    assert not done.stdout
    lines = [line for line in done.stderr.splitlines() if not re.match(r"make(\[\d+\])?: ", line)]
    assert lines[-1].startswith(
        f"{last}hobbes/engine is not a folder: the links in hobbes/ are missing. Clone again"
    )
    assert len(lines) == 1 or last == "ImportError: ", "only Python shows where it was called"


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_an_interrupt_while_modules_are_imported_is_told_in_one_line(module: str, tmp_path: Path) -> None:
    """A module that all commands or this one need sends the signal of Ctrl-C, which a shell may ignore."""
    (tmp_path / f"{module}.py").write_text(
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.raise_signal(signal.SIGINT)"
    )
    done = started("worlds", path=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", "hobbes: stopped\n")


@pytest.mark.parametrize(
    ("code", "may"),
    [
        (COMMANDS.format(["--help"]), set()),
        (COMMANDS.format(["runs", "trace last", "trace last 0 miner-01", "search gold", "notes"]), READING),
        (COMMANDS.format(["verify last"]), {*READING, "jinja2"}),
        (
            COMMANDS.format(["prompts render mining", DRY_RUN]),
            {*READING, *PLANNING},
        ),
        (FIRST_PAGE, {*READING, "hobbes.nodes.players", "jinja2", "starlette"}),
        (COMMANDS.format(["run mining --rounds 1 --agents 2"]), {*READING, *PLAYING}),
    ],
    ids=["help", "readers", "verify", "prompts and plans", "first page", "run"],
)
def test_a_command_imports_no_library_that_it_does_not_need(
    code: str, may: set[str], cli: Cli, tmp_path: Path
) -> None:
    cli("run", "mining", "--rounds", "1", "--agents", "2", "--name", "small")
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"],
        cwd=tmp_path,
        env={**os.environ, "HOBBES_HOME": "home", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    modules = set(done.stderr.split())
    assert modules & SLOW <= may
    assert not modules & {"hobbes.engine.nations.world", "hobbes.engine.trust.world"} or code == FIRST_PAGE
