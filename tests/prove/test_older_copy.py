"""An older copy of a home, put in its place, is in order: only a digest that was kept elsewhere tells."""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from hobbes.errors import UsageError
from hobbes.nodes.turn_state import TurnState
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import open_store
from tests.conftest import Cli
from tests.small_runs import go

ASKED = RunOptions("mining", 2, 1, "policy:random", values={"rounds": 4, "rows": 3, "cols": 3})


class Recorded(NamedTuple):
    """A home with a run, a copy from when it was half played, and the digest of the run now."""

    home: Path
    older: Path
    run: str
    digest: str


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Play a run, and copy the home after two turns of it."""
    folder = tmp_path_factory.mktemp("copies")
    home, older = folder / "home", folder / "older"

    def stop(state: TurnState) -> None:
        if state["turn"] == 2:
            raise InterruptedError

    with open_store(home) as store:
        run = begin(store, ASKED)
        with pytest.raises(InterruptedError):
            go(store, run, on_turn=stop)
    shutil.copytree(home, older)
    with open_store(home) as store:
        return Recorded(home, older, run.id, go(store, run).digest)


def test_an_older_copy_of_the_home_is_noticed_by_a_digest_that_was_kept_elsewhere(
    recorded: Recorded, home: Path, cli: Cli
) -> None:
    shutil.copytree(recorded.older, home)
    assert cli("verify", recorded.run).exit_code == 0
    said = cli("verify", recorded.run, "--digest", recorded.digest)
    assert said.exit_code == 1
    assert said.stdout.startswith("run: the run's digest is ")
    assert f", not {recorded.digest}: this is another run, or another copy of it" in " ".join(
        said.stdout.split()
    )


def test_the_digest_that_run_printed_is_that_of_the_run(recorded: Recorded, home: Path, cli: Cli) -> None:
    shutil.copytree(recorded.home, home)
    assert cli("verify", recorded.run, "--digest", recorded.digest.upper()).exit_code == 0
    refused = cli("verify", recorded.run, "--digest", recorded.digest[:12])
    assert isinstance(refused.exception, UsageError)
    assert str(refused.exception).startswith("--digest: write the 64 digits")
