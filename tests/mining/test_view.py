"""What an agent sees, and what it must not see."""

import json
from typing import Any

import pytest

from engine.mining.state import State
from engine.mining.view import border_plots, core_plots, observe
from tests.mining.plays import Answer, board, mine, play


def see(state: State, agent: str) -> dict[str, Any]:
    return dict(observe(state, agent))


def test_an_agent_sees_round_stamina_cap_and_the_reward_rule() -> None:
    view = see(board("AB.", stamina=8, mine_cap=4, alpha=2), "A")
    assert (view["turn"], view["stamina"]) == (10, 8)
    assert view["rules"] == {"mine_cap": 4, "alpha": 2, "defense": "block_all", "immunity": 1}


def test_where_plots_differ_the_reward_rule_is_told_plot_by_plot() -> None:
    assert see(board("AB.", alpha=((1, 2, 4),)), "A")["rules"]["alpha"] == [[1, 2, 4]]


def test_the_map_is_one_compact_row_a_row_of_plots() -> None:
    view = see(board("AB./.BC"), "A")
    assert view["map"] == ["01 02 ..", ".. 02 03"]
    assert list(view["plots_held"]) == ["A", "B", "C"]


def test_the_codes_on_the_map_grow_with_the_agents() -> None:
    letters = [chr(ord("\u4e00") + k) for k in range(100)]
    rows = "/".join("".join(letters[k : k + 10]) for k in range(0, 100, 10))
    assert see(board(rows), letters[0])["map"][0].startswith("001 002 003")


def test_an_agent_sees_its_own_plots_with_their_age() -> None:
    after = play(board("AB.", agents="A"), A={"claim": [[0, 2]]}).after
    assert see(after, "A")["your_plots"] == [[0, 0, 11], [0, 2, 1]]


def test_an_agent_sees_its_gold_and_what_it_did_last_round() -> None:
    after = play(board("AB.", gold={"A": 7}), A={"mine": mine((0, 0, 2)), "claim": [[0, 2]]}).after
    view = see(after, "A")
    assert view["gold"] == 9
    assert view["your_last_round"] == {"claim": 1, "raid": 0, "defend": 0, "mine": 2, "gold": 2}


def test_an_agent_sees_what_happened_last_round_on_every_plot() -> None:
    claim = {"claim": [[1, 0]]}
    answers: dict[str, Answer] = {
        "A": {"claim": [[1, 0], [1, 1]], "raid": [[0, 1], [0, 2]]},
        "B": {**claim, "defend": [[0, 1]]},
        "C": {},
    }
    round_ = play(board("ABC/..."), **answers)
    winner = round_.resolved.draws[0].winner
    assert see(round_.after, "C")["last_round"] == {
        "contested": [{"plot": [1, 0], "by": ["A", "B"], "won_by": winner}],
        "defended": [[0, 1]],
        "raided": [
            {"plot": [0, 1], "owner": "B", "by": ["A"], "taken_by": None},
            {"plot": [0, 2], "owner": "C", "by": ["A"], "taken_by": "A"},
        ],
    }


def test_an_agent_sees_the_totals_of_all() -> None:
    assert see(board("ABB/.B."), "A")["plots_held"] == {"A": 1, "B": 3}


def test_an_agent_sees_the_largest_landholder_and_its_border_plots() -> None:
    state = board("BBB/BBB/BBA")
    assert see(state, "A")["largest"] == {"agent": "B", "border": [[1, 2], [2, 1]]}


def test_of_equal_landholders_the_first_by_name_is_the_largest_and_of_none_nobody() -> None:
    assert see(board("BA."), "A")["largest"]["agent"] == "A"
    assert see(board("...", agents="AB"), "A")["largest"] is None


@pytest.mark.parametrize(
    ("picture", "border"),
    [
        ("AAA/AAA/AAA", []),
        ("AAA/AAA/AAB", [(1, 2), (2, 1)]),
        ("AAA/A.A/AAA", [(0, 1), (1, 0), (1, 2), (2, 1)]),
        ("A.A", [(0, 0), (0, 2)]),
    ],
)
def test_a_border_plot_has_a_4_neighbour_that_is_not_its_holders(
    picture: str, border: list[tuple[int, int]]
) -> None:
    assert list(border_plots(board(picture), "A")) == border


def test_a_core_plot_has_only_own_4_neighbours() -> None:
    assert core_plots(board(".A./AAA/.A."), "A") == ((1, 1),)


def test_where_there_is_no_such_plot_the_longest_held_are_the_core() -> None:
    state = board("A.BA")
    assert core_plots(state, "A") == ((0, 0), (0, 3))
    lost = play(state, B={"raid": [[0, 0]]}).after
    back = play(lost, A={"raid": [[0, 0]]}).after
    assert core_plots(back, "A") == ((0, 3),)
    assert see(back, "A")["your_core"] == [[0, 3]]


def test_who_has_no_plot_has_no_core() -> None:
    assert core_plots(board("B..", agents="A"), "A") == ()


@pytest.mark.parametrize(
    ("visibility", "turns"),
    [("last", [16]), ("window", [12, 13, 14, 15, 16]), ("full", [10, 11, 12, 13, 14, 15, 16])],
)
def test_the_summary_goes_back_one_round_five_or_to_the_beginning(visibility: str, turns: list[int]) -> None:
    state = board("AB.", visibility=visibility)
    for _ in range(7):
        state = play(state).after
    assert [tally["turn"] for tally in see(state, "A")["summary"]] == turns


def test_the_window_of_the_summary_can_be_set() -> None:
    state = board("AB.", window=2)
    for _ in range(4):
        state = play(state).after
    assert [tally["turn"] for tally in see(state, "A")["summary"]] == [12, 13]


def test_an_agent_never_sees_anothers_gold() -> None:
    view = see(board("AB.", gold={"A": 1111, "B": 7777}), "A")
    assert "1111" in json.dumps(view)
    assert "7777" not in json.dumps(view)


def test_an_agent_never_sees_anothers_reasoning_memory_or_stamina_by_kind() -> None:
    answer = {"reasoning": "SECRET", "memory": "SECRET", "mine": mine((0, 1, 3))}
    seen = see(play(board("AB."), B=answer).after, "A")
    assert "SECRET" not in json.dumps(seen)
    assert seen["your_last_round"]["mine"] == 0


def test_no_view_depends_on_what_others_decide_this_round() -> None:
    """A view shows a state, and a state holds nothing of the round that is being decided."""
    state = board("AB.")
    before = see(state, "A")
    play(state, B={"raid": [[0, 0]]})
    assert see(state, "A") == before


def test_a_view_is_plain_json() -> None:
    after = play(board("AB."), A={"raid": [[0, 1]]}, B={"defend": [[0, 1]]}).after
    view = see(after, "A")
    assert json.loads(json.dumps(view)) == view
