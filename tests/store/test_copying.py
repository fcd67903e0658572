"""A run that is copied to another home is the same run there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hobbes.play.start import RunOptions, begin
from hobbes.store.copies import copy_run
from hobbes.store.home import Store, open_store
from tests.conftest import Cli
from tests.small_runs import go, mining, played


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "other") as found:
        yield found


def test_verify_trace_export_and_results_are_the_same_of_a_copied_run(
    opened: Store, other: Store, cli: Cli, tmp_path: Path
) -> None:
    model = "policy:guided?noise=0.4"
    run = mining(opened, models=model, name="copied", seed=7, agents=4)
    cli("fork", "copied", "--turn", "2", "--set", "immunity=3", "--name", "fork")
    for one in (run, opened.runs.find("fork")):
        copy_run(opened, other, one.id)
        copy_run(opened, other, one.id)  # again: nothing is doubled

    def told(home: Path) -> list[str]:
        env = {"HOBBES_HOME": str(home)}
        commands = (
            ("verify", "copied"),
            ("replay", "copied"),
            ("verify", "fork"),
            ("trace", "copied"),
            ("trace", "copied", "1", "miner-01"),
            ("trace", "fork", "1"),
        )
        results = [cli(*words, "--json", env=env) for words in commands]
        assert [result.exit_code for result in results] == [0] * len(results)
        folder = tmp_path / f"of-{home.name}"
        cli("export", "copied", "--format", "jsonl", "--to", str(folder), env=env)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        assert len(files) > 10
        return [result.stdout for result in results] + [path.read_text() for path in files]

    here, there = told(opened.home), told(other.home)
    assert here == there
    assert opened.figures.about(run.id) == other.figures.about(run.id)
    assert opened.figures.of_scopes(run.id) == other.figures.of_scopes(run.id)


def test_a_copied_run_goes_on_where_it_stands_and_comes_back_to_its_place(
    opened: Store, other: Store
) -> None:
    options = RunOptions("mining", 3, values={"rounds": 4, "rows": 4, "cols": 4}, name="first")
    whole = played(opened, RunOptions("mining", 3, values={"rounds": 4, "rows": 4, "cols": 4}))
    run = begin(opened, options)
    last = begin(opened, RunOptions("trust"))
    copy_run(opened, other, run.id)
    assert go(other, run).digest == whole.digest
    copy_run(other, opened, run.id)
    assert opened.runs.find("first").digest == whole.digest
    assert opened.runs.find("last").id == last.id
