"""Tables in terminals of any width, and output that goes to a file or to another program."""

from collections import Counter

import pytest

from hobbes.show.terminal import UNLIMITED, console
from hobbes.store.home import Store
from tests.conftest import Cli
from tests.small_runs import mining


@pytest.fixture
def two_runs(opened: Store) -> None:
    for name, policies in (("a", "policy:guided*2,policy:random*1"), ("b", "policy:random")):
        mining(opened, name=name, models=policies, values={"rounds": 2, "rows": 3, "cols": 3})


@pytest.mark.usefixtures("two_runs")
@pytest.mark.parametrize(
    "command",
    [
        ("prompts", "list"),
        ("worlds",),
        ("worlds", "nations"),
        ("compare", "a", "b"),
        ("trace", "a", "1"),
        ("tournament", "--games", "1", "--set", "rounds=1"),
    ],
    ids=" ".join,
)
def test_no_table_loses_a_character_or_is_wider_than_the_terminal(cli: Cli, command: tuple[str, ...]) -> None:
    wide = cli(*command, env={"COLUMNS": "1000"}).stdout
    for width in (40, 60, 80):
        narrow = cli(*command, env={"COLUMNS": str(width)}).stdout
        assert max(len(line) for line in narrow.splitlines()) <= width
        assert Counter("".join(narrow.split())) == Counter("".join(wide.split())), width


def test_the_digest_of_a_run_is_whole_in_a_narrow_terminal(opened: Store, cli: Cli) -> None:
    cli("run", "mining", "--rounds", "1")
    shown = cli("trace", "last", "--raw", env={"COLUMNS": "40"}).stdout
    assert opened.runs.find("last").digest in "".join(shown.split())


def test_without_a_terminal_no_line_is_wrapped(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert console().width == 200, "as COLUMNS says"
    monkeypatch.delenv("COLUMNS")
    assert console().width == UNLIMITED
    monkeypatch.setattr("hobbes.show.terminal.OUT._width", UNLIMITED)
    lines = cli("worlds", "nations").stdout.splitlines()
    (line,) = (line for line in lines if line.startswith("constants.c_mil_upkeep_price "))
    assert line.rstrip().endswith("cost of a mil a turn")
    assert any(len(line.rstrip()) > 200 for line in lines)


def test_a_card_that_goes_to_a_file_has_no_frames(
    opened: Store, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    mining(opened)
    assert "│" in cli("trace", "last", "1", "miner-01", "--raw").stdout
    monkeypatch.setattr("hobbes.show.terminal.OUT._width", UNLIMITED)
    shown = cli("trace", "last", "1", "miner-01", "--raw").stdout
    assert "│" not in shown
    assert "--- view\n" in shown
