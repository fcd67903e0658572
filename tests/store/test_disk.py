"""A disk that is full, a home that cannot be written: one clear line, nothing broken, and the run goes on."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from hobbes.cli import app
from hobbes.errors import HobbesError, UsageError
from hobbes.play.start import RunOptions
from hobbes.show.web.server import site
from hobbes.store.home import open_store
from hobbes.store.notes import Place
from tests.conftest import ROOT, Cli, Hobbes, missing
from tests.no_room import PLAY, goes_on
from tests.small_runs import played
from tests.store.test_hot_journals import killed_in_a_write

NOBODY = 65534
"""The user without rights, where the tests are run by root, whom no folder's mode binds."""


def one_line(done: "CompletedProcess[str]", told: str) -> None:
    """Check that a command said in one line what is wrong."""
    assert done.returncode == 1, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if not re.match("run [-0-9a-z]+$", line)]
    assert re.match(f"hobbes: .*{told}", line), line


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the same run where there is room."""
    with open_store(tmp_path_factory.mktemp("whole")) as opened:
        return played(opened, RunOptions("mining", 6, models="policy:random", values={"rounds": 12})).digest


ENOUGH = "64m"
MOUNT = (
    'mount -t tmpfs -o size="$1" none "$2" && echo full || exit; read _; '
    f'mount -o remount,size={ENOUGH} "$2" && echo roomy; read _'
)
"""Mounts a small file system, and a larger one in its place once a line comes."""


class SmallDisk:
    """A folder that is a file system of its own, for those who look at it `through` its namespace."""

    def __init__(self, holder: "subprocess.Popen[str]") -> None:
        self._holder = holder
        target = (f"--target={holder.pid}", "--user", "--mount", "--preserve-credentials")
        self.through = ("nsenter", *target, f"--wd={ROOT}")

    def make_room(self) -> None:
        print(file=self._holder.stdin, flush=True)
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == "roomy\n"


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[SmallDisk]:
    """Mount a file system of this size at a folder, in a namespace of its own: nobody else sees it."""
    folder.mkdir()
    command = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNT, "sh", size, str(folder))
    try:
        holder = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    except FileNotFoundError:
        missing("there is no unshare")
    with holder:
        assert holder.stdout is not None
        said = holder.stdout.readline()
        if said != "full\n":
            # no program is missing here: what a system forbids its users, nobody can install
            pytest.skip(f"no file system may be mounted in a namespace of one's own: {said.strip()}")
        yield SmallDisk(holder)


@pytest.mark.parametrize("size", ["200k", "1m"])
def test_a_file_system_without_a_byte_left_breaks_nothing(
    size: str, whole: str, hobbes: Hobbes, home: Path
) -> None:
    """A disk that is full in earnest, for every file at once: before a run has begun, or in its turns."""
    with small_disk(home, size) as disk:
        one_line(hobbes(*PLAY, through=disk.through), "full|No space left on device")
        copy = home.with_name("copy")
        subprocess.run([*disk.through, "cp", "-r", str(home), str(copy)], check=True)
    databases = goes_on(copy, whole)
    assert databases in (["runs.db"], ["checkpoints.db", "runs.db"]), "checkpoints.db comes with a turn"
    assert not any(home.iterdir()), "nobody else sees it"


@pytest.fixture
def locked() -> Iterator[Path]:
    """A home in which nothing can be written."""
    with TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with open_store(home) as opened:
            run = played(opened, RunOptions("mining", 3, values={"rounds": 2}, name="kept"))
            opened.notes.keep(Place(run.id), tags=["kept"], text="")
        killed_in_a_write(home / "notes.db")
        for place in (home.parent, home, home / "locks"):
            place.chmod(0o555)
        for file in (
            home / "locks" / "runs.lock",
            home / "runs.db",
            home / "notes.db",
            home / "notes.db-journal",
        ):
            file.chmod(0o444)
        before = os.geteuid()
        if before == 0:  # whom no folder's mode binds
            os.seteuid(NOBODY)
        yield home
        os.seteuid(before)
        for place in (home.parent, home, home / "locks"):
            place.chmod(0o755)


READING = (
    ["runs", "--where", "tags=kept"],
    ["notes"],
    ["trace", "kept", "1", "miner-01"],
    ["verify", "kept"],
    ["replay", "kept"],
    ["compare", "kept", "kept"],
    ["prompts", "render", "mining", "--run", "kept"],
)


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_a_read_only_home_is_read(locked: Path, command: list[str]) -> None:
    before = {path.name for path in locked.iterdir()}
    done = CliRunner().invoke(app, [*command, "--home", str(locked)])
    assert done.exit_code == 0, done.exception
    assert done.stdout
    assert {path.name for path in locked.iterdir()} == before


def test_the_texts_of_a_read_only_home_are_searched(locked: Path) -> None:
    before = {path.name for path in locked.iterdir()}
    with TestClient(site(locked, "127.0.0.1"), base_url="http://127.0.0.1") as visitor:
        page = visitor.get("/search", params={"q": "gold"}).text
    assert "<mark>" in page
    assert {path.name for path in locked.iterdir()} == before


def test_reading_makes_no_home(cli: Cli, home: Path) -> None:
    assert "no runs yet" in cli("runs").stdout
    assert not home.exists()


def test_a_read_only_home_is_reported_in_one_line(locked: Path) -> None:
    with (
        pytest.raises(HobbesError, match=r"cannot store runs in .*; choose another folder with --home$"),
        open_store(locked),
    ):
        pass


def test_a_file_in_the_place_of_the_home_is_reported_in_one_line(cli: Cli, home: Path) -> None:
    home.touch()
    for command in (["run", "mining"], ["runs"]):
        wrong = cli(*command).exception
        assert isinstance(wrong, UsageError)
        assert re.fullmatch(".* is not a folder; choose another folder with --home", str(wrong))
