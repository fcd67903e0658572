"""A small experiment that is played once per worker, for the tests that only need one that was played."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hobbes.lab.store.home import Store, open_store
from tests.lab.test_experiments import documents, play_all, written


@pytest.fixture(scope="session")
def small_experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which `tests.lab.test_experiments.FILE` has been played; no test changes it."""
    folder = tmp_path_factory.mktemp("small")
    with open_store(folder / "home") as store:
        play_all(store, written(folder))
    return folder / "home"


@pytest.fixture(scope="session")
def whole(small_experiment: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The report of that experiment, which was played in this process without a stop."""
    home = tmp_path_factory.mktemp("whole") / "home"
    shutil.copytree(small_experiment, home)  # a report plays games again, and keeps their turns
    found = documents(home)
    assert all(found)
    return found


@pytest.fixture
def small(small_experiment: Path, home: Path) -> Iterator[Store]:
    """The run database of a home of its own in which that experiment has been played."""
    shutil.copytree(small_experiment, home)
    with open_store(home) as found:
        yield found
