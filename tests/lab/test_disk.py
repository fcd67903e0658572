"""A disk that is full, a home that cannot be written: one clear line, nothing broken, and the run goes on."""

import json
import os
import re
import resource
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory

import pytest

from lab.errors import LabError
from lab.records import records
from tests.conftest import Hobbes

PLAY = ("run", "mining", "--agents", "6", "--rounds", "40", "--model", "policy:random", "--name", "small")
NOBODY = 65534
"""The user without rights, where the tests are run by root, whom no folder's mode binds."""


def at_most(size: int) -> Callable[[], None]:
    """Let every write beyond so many bytes of a file fail, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def one_line(done: "CompletedProcess[str]", told: str) -> None:
    """Check that a command said in one line what is wrong."""
    assert done.returncode == 1, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if not re.match("run [-0-9a-f]+$", line)]
    assert re.match(f"hobbes: .*{told}", line), line


@pytest.mark.parametrize("size", [0, 40_000, 300_000, 600_000])
def test_a_full_disk_is_said_in_one_line_and_the_run_goes_on_once_there_is_space(
    size: int, hobbes: Hobbes, home: Path, tmp_path: Path
) -> None:
    whole = json.loads(hobbes(*PLAY, "--json", env={"HOBBES_HOME": str(tmp_path / "whole")}).stdout)
    one_line(hobbes(*PLAY, preexec_fn=at_most(size)), "cannot be (used|kept)|cannot keep")
    if (home / "runs.db").exists():
        with sqlite3.connect(home / "runs.db") as connection:
            assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    begun = json.loads(hobbes("runs", "--json").stdout)
    ended = hobbes(*(("resume", "small") if begun else PLAY), "--json")
    assert json.loads(ended.stdout)["digest"] == whole["digest"]
    assert hobbes("verify", "small").returncode == 0


@pytest.fixture
def locked() -> Iterator[Path]:
    """A home in which nothing can be written."""
    with TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with records(home):
            pass
        for place in (home.parent, home, home / "locks"):
            place.chmod(0o555)
        (home / "locks" / "runs.lock").chmod(0o444)
        before = os.geteuid()
        if before == 0:  # whom no folder's mode binds
            os.seteuid(NOBODY)
        yield home
        os.seteuid(before)
        for place in (home.parent, home, home / "locks"):
            place.chmod(0o755)


def test_a_home_that_cannot_be_written_is_said_in_one_line(locked: Path) -> None:
    with (
        pytest.raises(LabError, match=r"cannot keep runs in .*; choose another folder with --home$"),
        records(locked),
    ):
        pass


def test_a_file_in_the_place_of_the_home_is_said_in_one_line(hobbes: Hobbes, home: Path) -> None:
    home.touch()
    one_line(hobbes("run", "mining"), "cannot keep runs in .*; choose another folder with --home")
