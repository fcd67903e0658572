"""Strategies of the Axelrod library as players of trust, with a stand-in for the library."""

import sys
from collections.abc import Iterator

import pytest

from hobbes.engine.record import Event
from hobbes.lab import axelrod_strategies
from hobbes.lab.errors import UsageError
from hobbes.lab.play.playing import RunOptions
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import Run
from tests.conftest import Cli
from tests.lab.axelrod_double import library
from tests.lab.play import played


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The library is a stand-in, and no strategy is remembered from another test."""
    axelrod_strategies.kind_of.cache_clear()
    monkeypatch.setitem(sys.modules, "axelrod", library())
    yield
    axelrod_strategies.kind_of.cache_clear()


def game(store: Store, models: str, **values: int) -> Run:
    """Play six rounds of two units."""
    return played(store, RunOptions("trust", 2, 3, models, values={"rounds": 6, "miss": 0, **values}))


def deeds(store: Store, run: Run, unit: str) -> list[str]:
    """Return what a unit was seen to do, round by round."""

    def shown(events: tuple[Event, ...]) -> str:
        return next(e.type for e in events if e.agent == unit and e.type in {"high_five", "attack", "block"})

    return [shown(turn.record.events) for turn in store.turns.of(run)]


def test_a_strategy_answers_an_attack_and_its_whole_history_is_played_again(opened: Store) -> None:
    run = game(opened, "policy:axelrod/TitForTat*1,policy:axelrod/Alternator*1")
    assert deeds(opened, run, "unit-b") == ["high_five", "attack"] * 3
    assert deeds(opened, run, "unit-a") == ["high_five", *["high_five", "attack"] * 2, "high_five"]


def test_a_block_is_no_defection(opened: Store) -> None:
    run = game(opened, "policy:axelrod/TitForTat*1,policy:always-block*1")
    assert deeds(opened, run, "unit-a") == ["high_five"] * 6


def test_a_miss_is_a_defection_to_the_one_who_sees_it_and_none_to_its_author(opened: Store) -> None:
    run = game(opened, "policy:axelrod/TitForTat*1,policy:always-high-five*1", miss=100)
    *_, last = opened.turns.of(run)
    assert last.record.memories["unit-a"].notes.split(" ")[1:] == ["CDDDD", "DDDDD"]


def test_the_random_draws_of_a_strategy_are_those_of_the_seed(opened: Store) -> None:
    spec = "policy:axelrod/Seeded*1,policy:always-block*1"
    one, again = (deeds(opened, game(opened, spec), "unit-a") for _ in range(2))
    other = played(opened, RunOptions("trust", 2, 4, spec, values={"rounds": 6}))
    assert one == again
    assert one != deeds(opened, other, "unit-a")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("policy:axelrod/TitForTa",), r"no strategy 'TitForTa' that can play trust; near it: TitForTat$"),
        (("policy:axelrod/MindReader",), r"no strategy 'MindReader' that can play trust; axelrod.readth"),
        (
            ("policy:axelrod/Extortioner",),
            r"'Extortioner' is not defined for the payoffs of trust; choose an",
        ),
        (("policy:axelrod/TitForTat", "--agents", "3"), r"plays only races of two; use 2 agents and "),
        (("policy:axelrod/TitForTat", "--set", "victory=team"), r"plays only races of two"),
        (("policy:axelrod/TitForTat?greed=1",), r"policy 'axelrod/TitForTat' has no parameter 'greed'"),
    ],
)
def test_what_no_strategy_can_play_is_said_in_one_line(
    arguments: tuple[str, ...], message: str, cli: Cli
) -> None:
    result = cli("run", "trust", "--model", *arguments)
    with pytest.raises(UsageError, match=message):
        raise result.exception or AssertionError(result.output)


def test_without_the_library_one_line_says_how_to_get_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "axelrod", None)
    result = cli("run", "trust", "--model", "policy:axelrod/TitForTat")
    with pytest.raises(UsageError, match=r"needs the Axelrod library; .* pip install -e '.\[axelrod\]'$"):
        raise result.exception or AssertionError(result.output)


def test_a_recorded_run_is_replayed_without_the_library(
    opened: Store, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = game(opened, "policy:axelrod/TitForTat*1,policy:copycat*1")
    axelrod_strategies.kind_of.cache_clear()
    monkeypatch.setitem(sys.modules, "axelrod", None)
    assert cli("replay", run.id).exit_code == 0


def test_a_strategy_may_take_over_from_another_player_in_a_fork(opened: Store, cli: Cli) -> None:
    run = game(opened, "policy:copycat*1,policy:always-attack*1")
    models = "policy:axelrod/TitForTat*1,policy:always-attack*1"
    assert cli("fork", run.id, "--turn", "3", "--model", models, "--name", "taken").exit_code == 0
    assert deeds(opened, opened.runs.find("taken"), "unit-a") == ["high_five", *["attack"] * 5]
