"""What an agent sees, and what it must not see."""

from typing import Any

import pytest

from hobbes.engine.mining.state import State
from hobbes.engine.mining.view import border_of, core_plots, observe
from tests.engine.mining.plays import Answer, board, play


def see(state: State, agent: str) -> dict[str, Any]:
    return dict(observe(state, agent))


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


@pytest.mark.parametrize("immunity", [0, 1])
def test_where_nothing_can_be_protected_a_view_does_not_speak_of_it(immunity: int) -> None:
    assert "protected" not in see(play(board("A.", immunity=immunity), A={"claim": [[0, 1]]}).after, "A")


def test_all_equally_large_landholders_are_named_and_without_any_nobody() -> None:
    assert see(board("BA.C/BA.."), "A")["largest"] == [
        {"agent": "A", "border": [[0, 1], [1, 1]]},
        {"agent": "B", "border": [[0, 0], [1, 0]]},
    ]
    assert see(board("...", agents="AB"), "A")["largest"] == []


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
    state = board(picture)
    assert list(border_of(state.holdings["A"], state.config.rows, state.config.cols)) == border


def test_where_there_is_no_such_plot_the_longest_held_are_the_core() -> None:
    state = board("A.BA")
    assert core_plots(state, "A") == ((0, 0), (0, 3))
    lost = play(state, B={"raid": [[0, 0]]}).after
    back = play(lost, A={"raid": [[0, 0]]}).after
    assert core_plots(back, "A") == ((0, 3),)
    assert see(back, "A")["your_core"] == [[0, 3]]


def test_who_has_no_plot_has_no_core() -> None:
    assert core_plots(board("B..", agents="A"), "A") == ()
