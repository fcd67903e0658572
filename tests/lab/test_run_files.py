"""The run files in experiments/ load and play, and in each of them something still happens late."""

from collections import Counter
from pathlib import Path

import pytest

from engine.worlds import WORLDS
from lab.play.runfile import read_run_file
from lab.store.database import Store
from tests.lab.play import played

FILES = sorted((Path(__file__).parents[2] / "experiments").glob("*.toml"))

CONTESTS = {
    "mining": {"raid"},
    "nations": {"attack", "grant", "resource_grant"},
    "trust": {"attack", "death"},
}
"""The events in which agents still win or lose something by what others do."""


def test_each_world_has_a_run_file() -> None:
    assert {read_run_file(file).world for file in FILES} == set(WORLDS)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_run_file_says_why_and_its_run_is_still_contested_in_its_last_quarter(
    opened: Store, file: Path
) -> None:
    assert file.read_text(encoding="utf-8").startswith("# ")
    run = played(opened, read_run_file(file))
    late = [event.type for turn in opened.turns(run.id, run.turns * 3 // 4) for event in turn.record.events]
    found = Counter(kind for kind in late if kind in CONTESTS[run.world.name])
    assert run.turns >= 20
    assert found.total() >= 2 * (run.turns // 4), found
