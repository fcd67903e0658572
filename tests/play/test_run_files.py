"""The run files in experiments/ load and play, and in each of them something still happens late."""

import json
from collections import Counter
from pathlib import Path

import pytest

from hobbes.errors import UsageError
from hobbes.files import read_toml
from hobbes.play.run_file import read_run_file
from hobbes.play.start import begin
from hobbes.store.home import Store
from hobbes.worlds import WORLDS
from tests.conftest import Cli
from tests.small_runs import go

EXPERIMENTS = Path(__file__).parents[2] / "experiments"

FILES = sorted(path for path in EXPERIMENTS.glob("*.toml") if "seeds" not in read_toml(path))

CONTESTS = {
    "mining": {"raid"},
    "nations": {"attack", "grant", "resource_grant"},
    "trust": {"attack", "death"},
}
"""The events in which agents still win or lose something by what others do."""


def test_each_world_has_a_run_file() -> None:
    assert {read_run_file(file).world for file in FILES} == set(WORLDS)


def test_an_experiment_is_not_a_run_file_and_is_ready_to_be_played(cli: Cli) -> None:
    path = EXPERIMENTS / "mining-protection.toml"
    with pytest.raises(UsageError, match=f"{path.name} is an experiment; play it with `hobbes experiment "):
        read_run_file(path)
    told = cli("experiment", str(path), "--dry-run", "--json")
    assert told.exit_code == 0, repr(told.exception)
    assert json.loads(told.stdout)["runs"] == 60


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_run_file_says_why_and_its_run_is_still_contested_in_its_last_quarter(
    opened: Store, file: Path
) -> None:
    assert file.read_text(encoding="utf-8").startswith("# ")
    run = go(opened, begin(opened, read_run_file(file)))
    late = [event.type for turn in opened.turns.of(run, run.turns * 3 // 4) for event in turn.record.events]
    found = Counter(kind for kind in late if kind in CONTESTS[run.world.name])
    assert run.turns >= 20
    assert found.total() >= 2 * (run.turns // 4), found
