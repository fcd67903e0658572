"""What becomes of a run for which there was no room, looked at here or by another process."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from typer.testing import CliRunner

from hobbes.cli import app

PLAY = ("run", "mining", "--agents", "6", "--rounds", "12", "--model", "policy:random", "--name", "small")


def goes_on(home: Path, digest: str) -> list[str]:
    """Check that no database is broken, and that the run now ends as if there had always been room.

    Return the names of the databases.
    """

    def said(*words: str) -> str:
        done = CliRunner().invoke(app, [*words, "--home", str(home)])
        assert done.exit_code == 0, (words, done.exception)
        return done.stdout

    databases = sorted(home.glob("*.db"))
    for path in databases:
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    begun = json.loads(said("runs", "--json"))
    ended = json.loads(said(*(("resume", "small") if begun else PLAY), "--json"))
    assert ended["digest"] == digest
    said("verify", "small")
    return [path.name for path in databases]
