"""What an agent sees, and what it must not see."""

import json
from typing import Any

import pytest

from hobbes.engine.mining.state import State
from hobbes.engine.mining.view import border_plots, core_plots, observe
from tests.mining.plays import Answer, board, mine, play


def see(state: State, agent: str) -> dict[str, Any]:
    return dict(observe(state, agent))


def test_an_agent_sees_round_stamina_cap_and_the_reward_rule() -> None:
    view = see(board("AB.", stamina=8, mine_cap=4, alpha=2), "A")
    assert (view["turn"], view["stamina"]) == (10, 8)
    assert view["rules"] == {"mine_cap": 4, "alpha": 2}


def test_where_plots_differ_the_reward_rule_is_told_plot_by_plot() -> None:
    assert see(board("AB.", alpha=((1, 2, 4),)), "A")["rules"]["alpha"] == [[1, 2, 4]]
    assert see(board("AB.", alpha=((2, 2, 2),)), "A")["rules"]["alpha"] == [[2, 2, 2]]


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
    assert view["your_rounds"] == [{"turn": 10, "claim": 1, "raid": 0, "defend": 0, "mine": 2, "gold": 2}]


@pytest.mark.parametrize(
    ("visibility", "turns"), [("last", [16]), ("window", [14, 15, 16]), ("full", [*range(10, 17)])]
)
def test_an_agent_sees_its_own_rounds_as_far_back_as_the_summary(visibility: str, turns: list[int]) -> None:
    state = board("A.", agents="B", visibility=visibility, window=3)
    assert see(state, "A")["your_rounds"] == []
    for k in range(7):
        state = play(state, A={"mine": mine((0, 0, 1 + k % 3))}).after
    view = see(state, "A")
    assert [log["turn"] for log in view["your_rounds"]] == turns
    assert [log["gold"] for log in view["your_rounds"]] == [1 + (turn - 10) % 3 for turn in turns]
    assert [tally["turn"] for tally in view["summary"]] == turns
    assert {log["mine"] for log in see(state, "B")["your_rounds"]} == {0}


def test_tax_paid_and_received_stand_beside_the_gold_that_was_mined() -> None:
    state = board("AB", gold={"B": 1}, authority="raid_tax", raid_tax=5)
    after = play(state, A={"defend": [[0, 0]]}, B={"raid": [[0, 0]], "mine": mine((0, 1, 2))}).after
    of_a, of_b = (see(after, agent)["your_rounds"][0] for agent in "AB")
    assert (of_a["gold"], of_a["tax_paid"], of_a["tax_received"]) == (0, 0, 3)
    assert (of_b["gold"], of_b["tax_paid"], of_b["tax_received"]) == (2, 3, 0)
    to_nobody = play(
        board("AB", gold={"B": 9}, authority="raid_tax", raid_tax_to="nobody"), B={"raid": [[0, 0]]}
    )
    told = see(to_nobody.after, "B")["your_rounds"][0]
    assert told["tax_paid"] == 1
    assert "tax_received" not in told


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


def test_with_full_visibility_an_agent_sees_what_happened_in_every_earlier_round_too() -> None:
    raid, defend = {"raid": [[0, 0]]}, {"defend": [[0, 0]]}
    rounds: list[dict[str, Answer]] = [{"A": defend, "B": raid}, {}, {"A": defend}, {"B": raid}]
    seen = {}
    for visibility in ("last", "window", "full"):
        state = board("AB", visibility=visibility)
        for answers in rounds:
            state = play(state, **answers).after
        seen[visibility] = see(state, "A")
    failed = {"plot": [0, 0], "owner": "A", "by": ["B"], "taken_by": None}
    assert seen["full"]["earlier_rounds"] == [
        {"turn": 10, "contested": [], "defended": [[0, 0]], "raided": [failed]},
        {"turn": 11, "contested": [], "defended": [], "raided": []},
        {"turn": 12, "contested": [], "defended": [[0, 0]], "raided": []},
    ]
    assert seen["full"]["last_round"]["raided"] == [{**failed, "taken_by": "B"}]
    assert "earlier_rounds" not in seen["last"].keys() | seen["window"].keys()


def test_with_adjudication_the_last_round_and_the_summary_tell_what_went_back() -> None:
    for percent, returned in ((100, True), (0, False)):
        state = board("AB", authority="adjudication", adjudication_percent=percent)
        view = see(play(state, B={"raid": [[0, 0]]}).after, "A")
        assert [(raid["taken_by"], raid["returned"]) for raid in view["last_round"]["raided"]] == [
            ("B", returned)
        ]
        assert (view["summary"][0]["taken"], view["summary"][0]["returned"]) == (1, returned)
    plain = see(play(board("AB"), B={"raid": [[0, 0]]}).after, "A")
    assert "returned" not in plain["last_round"]["raided"][0].keys() | plain["summary"][0].keys()


def test_with_immunity_of_several_rounds_a_view_shows_what_is_protected_and_until_when() -> None:
    state = play(board("A..", agents="B", immunity=3), A={"claim": [[0, 1]]}).after
    state = play(state, B={"claim": [[0, 2]]}).after
    assert see(state, "A")["protected"] == [[0, 1, 13], [0, 2, 14]]  # claimed in the rounds 10 and 11
    assert play(state, B={"raid": [[0, 0]]}).drops("B") == []
    while state.turn < 13:
        assert play(state, B={"raid": [[0, 1]]}).drops("B") == ["mining/immune"]
        state = play(state).after
    assert see(state, "A")["protected"] == [[0, 2, 14]]
    assert play(state, B={"raid": [[0, 1]]}).drops("B") == []


@pytest.mark.parametrize("immunity", [0, 1])
def test_where_nothing_can_be_protected_a_view_does_not_speak_of_it(immunity: int) -> None:
    assert "protected" not in see(play(board("A.", immunity=immunity), A={"claim": [[0, 1]]}).after, "A")


def test_the_rounds_left_are_shown_only_if_the_horizon_is_not_hidden() -> None:
    assert "turns_left" not in see(board("AB", rounds=30), "A")
    assert see(board("AB", rounds=30, hide_horizon=False), "A")["turns_left"] == 20


def test_an_agent_sees_the_totals_of_all() -> None:
    assert see(board("ABB/.B."), "A")["plots_held"] == {"A": 1, "B": 3}


def test_an_agent_sees_the_largest_landholder_and_its_border_plots() -> None:
    state = board("BBB/BBB/BBA")
    assert see(state, "A")["largest"] == [{"agent": "B", "border": [[1, 2], [2, 1]]}]


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
    assert list(border_plots(board(picture))["A"]) == border


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
    answer = {"reasoning": "SECRET", "notes": "SECRET", "mine": mine((0, 1, 3))}
    seen = see(play(board("AB."), B=answer).after, "A")
    assert "SECRET" not in json.dumps(seen)
    assert seen["your_rounds"][0]["mine"] == 0


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
