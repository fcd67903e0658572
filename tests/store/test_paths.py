"""Paths that cannot be: every option that takes one says so in one line."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import hobbes
from hobbes.cli import app
from hobbes.errors import UsageError

RUN = ("run", "mining", "--agents", "1", "--rounds", "1")

FILES: list[tuple[str, ...]] = [
    (*RUN, "--set", "alpha=@PATH"),
    ("run", "PATH.toml"),
    ("replay", "PATH.yaml"),
]
"""Commands that read a file."""

FOLDERS: list[tuple[str, ...]] = [
    (*RUN, "--home", "PATH"),
    ("runs", "--home", "PATH"),
    (*RUN, "--prompts", "./PATH"),
    ("prompts", "show", "mining", "./PATH"),
    ("prompts", "render", "mining", "--prompts", "./PATH"),
]
"""Commands that read a folder or write into one."""

OTHERS: list[tuple[str, ...]] = [
    ("models", "--home", "PATH"),
    ("doctor", "--home", "PATH"),
    ("trace", "last", "--home", "PATH"),
    ("export", "last", "--to", "PATH"),
    ("export", "last", "--to", "PATH", "--format", "page"),
]
"""Further commands that take a path."""


@pytest.fixture(autouse=True)
def _played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of its own, in which a run was played."""
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, RUN).exit_code == 0


def refused(command: tuple[str, ...], path: str) -> bool:
    """Tell whether a command ends with exit code 2 and one line, or with the command line's own help."""
    done = CliRunner().invoke(app, [part.replace("PATH", path) for part in command])
    if isinstance(done.exception, SystemExit):  # typer found the path wrong
        return done.exit_code == 2
    return isinstance(done.exception, UsageError) and "\n" not in str(done.exception)


@pytest.mark.parametrize("path", ["a" * 300, "a" * 5_000, "a\0b"], ids=["300", "5000", "null"])
def test_a_name_that_no_file_can_have_is_refused_in_one_line(path: str) -> None:
    commands = [*FILES, *FOLDERS, *OTHERS]
    assert [command for command in commands if not refused(command, path)] == []
    checked = CliRunner().invoke(app, ["prompts", "check", "mining", f"./{path}"])
    assert (checked.exit_code, len(checked.stdout.splitlines())) == (1, 2)
    with pytest.raises(UsageError):
        hobbes.open(path)


def test_a_folder_in_the_place_of_a_file_is_refused_in_one_line(tmp_path: Path) -> None:
    for suffix in ("", ".toml", ".yaml"):
        (tmp_path / f"folder{suffix}").mkdir()
    assert [command for command in FILES if not refused(command, "folder")] == []


@pytest.mark.parametrize("path", ["file", "file/below"])
def test_a_file_in_the_place_of_a_folder_is_refused_in_one_line(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    commands = [command for command in [*FOLDERS, *OTHERS] if command[0] not in {"models", "doctor"}]
    if path != "file":  # no runs can be there, which is no mistake of a command that lists them
        commands.remove(("runs", "--home", "PATH"))
    assert [command for command in commands if not refused(command, path)] == []
