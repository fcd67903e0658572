"""Commands with the fishery among the worlds, here and in processes of their own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hobbes.cli import app
from tests.conftest import ROOT

Say = Callable[..., str]
"""Run a command and return what it prints."""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def say(home: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    """A command in this process, with this home."""
    monkeypatch.setenv("HOBBES_HOME", str(home))

    def run(*arguments: str, typed: str | None = None) -> str:
        done = CliRunner().invoke(app, arguments, input=typed, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """`hobbes` with the fishery as a process of its own; what is left of it at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, env: dict[str, str] | None = None) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "tests.fishery", *arguments]
        there = {**os.environ, "HOBBES_HOME": str(home), **(env or {})}
        found = subprocess.Popen(
            command,
            cwd=ROOT,
            env=there,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        started.append(found)
        return found

    yield begin
    for one in started:
        one.kill()
        one.communicate()
