"""`hobbes runs` in terminals of several widths."""

import pytest

from hobbes.lab.play.playing import RunOptions, begin
from hobbes.lab.store.home import Store
from tests.conftest import Cli

NAMES = ("baseline", "a-name-of-more-than-twenty-letters", None)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_ids_and_names_are_whole_at_every_width(width: int, opened: Store, cli: Cli) -> None:
    runs = [begin(opened, RunOptions("nations", 2, name=name)) for name in NAMES]
    lines = cli("runs", env={"COLUMNS": str(width)}).stdout.splitlines()
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for run in runs:
        assert run.id in text
        assert run.name is None or run.name in text
    assert text.count("nations") == text.count("unfinished") == len(runs), "world and status of each"


def test_in_a_narrow_terminal_a_run_has_two_rows(opened: Store, cli: Cli) -> None:
    run = begin(opened, RunOptions("mining", 2, name="baseline", values={"rounds": 1}))
    opened.runs.update(run.id, digest="0123456789abcdef")
    rows = {
        width: [line.rstrip() for line in cli("runs", env={"COLUMNS": str(width)}).stdout.splitlines()]
        for width in (30, 60, 120)
    }
    assert rows[60] == [f"{run.id} baseline", "  unfinished  mining  0 turns  01234567"]
    assert rows[30][-1] == "  unfinished  mining  0 turns", "what does not fit is left out"
    assert rows[120][1].split() == [run.id, "baseline", "mining", "unfinished", "0", "01234567"]


def test_runs_that_are_each_forked_from_the_other_are_listed(opened: Store, cli: Cli) -> None:
    one, other = (begin(opened, RunOptions("mining", 2, name=name)) for name in ("one", "other"))
    for run, parent in ((one, other), (other, one)):
        opened.runs.update(run.id, parent=parent.id)
    text = cli("runs").stdout
    assert text.count(one.id) == text.count(other.id) == 1
