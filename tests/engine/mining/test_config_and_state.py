"""Settings, and states that come in from outside."""

from typing import Any

import pytest

from hobbes.engine.mining.state import State, load
from hobbes.engine.mining.world import MINING
from hobbes.engine.record import Json
from hobbes.engine.world import make_setting
from tests.engine.mining.plays import board, mine, picture, play


@pytest.mark.parametrize("n", [10, 20])
def test_the_agents_are_named_miner_01_and_so_on_and_sorted_by_name(n: int) -> None:
    names = MINING.names(n)
    assert (names[0], names[-1], len(names)) == ("miner-01", f"miner-{n}", n)
    assert make_setting(MINING, names[::-1], 1, {}).agents == names


def test_an_unknown_name_is_an_error_that_lists_the_names() -> None:
    with pytest.raises(ValueError, match=r"no setting named tax; settings: .*raid_tax"):
        make_setting(MINING, ["A"], 1, {"tax": 1})


@pytest.mark.parametrize(
    ("name", "value"),
    [("immunity", -1), ("mine_cap", 0), ("defense", "wall"), ("stamina", -1), ("adjudication_percent", 101)],
)
def test_a_value_out_of_range_is_an_error_that_names_it(name: str, value: Json) -> None:
    with pytest.raises(ValueError, match=name):
        make_setting(MINING, ["A"], 1, {name: value})


def test_a_run_is_over_after_its_rounds_and_the_score_is_gold() -> None:
    state = board("AB.", turn=0, rounds=2)
    first = play(state, A={"mine": mine((0, 0, 3))}).after
    second = play(first).after
    assert [MINING.over(at) for at in (state, first, second)] == [False, False, True]
    assert MINING.scores(second) == {"A": 3, "B": 0}
    assert MINING.actors(first) == ("A", "B")


# States from outside.

GIVEN: dict[str, Any] = {
    "turn": 4,
    "owners": [["A", "B", None]],
    "first_owner": [["A", "A", None]],
    "since": [[0, 3, None]],
    "gold": {"A": 3, "B": 1},
}


def loaded(**changes: Json) -> State:
    setting = make_setting(MINING, ["A", "B"], 1, {"rows": 1, "cols": 3, "immunity": 2})
    return load(setting, {**GIVEN, **changes})


def test_a_state_with_the_named_fields_is_taken_in_and_played_on() -> None:
    state = loaded()
    assert (picture(state), state.turn, dict(state.gold)) == ("AB.", 4, {"A": 3, "B": 1})
    assert play(state, A={"claim": [[0, 2]]}).picture == "ABA"


def test_a_plot_of_a_state_from_outside_counts_as_claimed_since_it_is_held() -> None:
    assert play(loaded(), A={"raid": [[0, 1]]}).drops("A") == ["mining/immune"]


@pytest.mark.parametrize(
    "changes",
    [
        {"owners": [["A", "B"]]},
        {"owners": [["A", "B", "C"]]},
        {"owners": "AB."},
        {"since": [[0], [0]]},
        {"gold": {"A": 1}},
        {"gold": {"A": 1, "B": 1, "C": 1}},
        {"turn": "soon"},
        {"alpha": [[1, 1]]},
        {"past": [{"turn": 3, "news": {}, "deeds": {"A": {}}}]},
    ],
)
def test_a_state_that_does_not_fit_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        loaded(**changes)
