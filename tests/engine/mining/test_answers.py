"""Step 0: the check of an answer."""

from typing import Any

import pytest

from hobbes.engine.memory import feedback_by_agent
from hobbes.engine.record import JsonObject
from tests.engine.mining.plays import Answer, board, mine, play


def test_beside_the_actions_stand_the_reflection_fields() -> None:
    answer: JsonObject = {
        "reasoning": "r",
        "summary_last_turn": "s",
        "history_summary": "h",
        "notes": "m",
        "keeps_word_report": {"B": 7},
        "aggressor_report": {"B": 2},
    }
    round_ = play(board("AB.", communication=True), A=answer)
    reflection = round_.validated["A"].intent.reflection
    assert (reflection.reasoning, reflection.summary_last_turn) == ("r", "s")
    assert (reflection.history_summary, reflection.notes) == ("h", "m")
    assert (reflection.keeps_word_report, reflection.aggressor_report) == ({"B": 7}, {"B": 2})
    assert round_.drops("A") == []


def test_comment_beside_the_fields_is_noted_and_told_nobody() -> None:
    round_ = play(board("A.."), A={"claim": [[0, 1]], "by the way": "nice land"})
    assert round_.does("A") == [{"claim": [0, 1]}]
    (note,) = round_.validated["A"].mends
    assert (note.code, note.said, note.kept) == ("mining/unknown-field", *[{"by the way": "nice land"}] * 2)
    assert round_.drops("A") == []
    assert feedback_by_agent((), [note]) == {}


# Step 0, check by check.


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"claim": 7}, "mining/not-a-list"),
        ({"claim": None}, "mining/not-a-list"),
        ({"claim": {"cell": [0, 1]}}, "mining/not-a-list"),
        ({"plan": "dig"}, "mining/not-a-list"),
        ({"plan": ["dig"]}, "mining/not-a-step"),
        ({"plan": [{}]}, "mining/not-a-step"),
        ({"plan": [{"dig": [0, 1]}]}, "mining/not-a-step"),
        ({"claim": [[0]]}, "mining/bad-shape"),
        ({"claim": [[0, 1, 2]]}, "mining/bad-shape"),
        ({"claim": ["0,1"]}, "mining/bad-shape"),
        ({"claim": [["0", "1"]]}, "mining/bad-shape"),
        ({"claim": [[0, 1.5]]}, "mining/bad-shape"),
        ({"claim": [[False, True]]}, "mining/bad-shape"),
        ({"claim": [{"cell": [0, 1], "s": 1}]}, "mining/bad-shape"),
        ({"mine": [[0, 0]]}, "mining/bad-shape"),
        ({"mine": [{"cell": [0, 0]}]}, "mining/bad-shape"),
        ({"mine": [{"cell": [0, 0], "s": "3"}]}, "mining/bad-shape"),
        ({"mine": [{"cell": [0, 0], "s": 3, "why": "rich"}]}, "mining/bad-shape"),
    ],
)
def test_what_has_the_wrong_shape_or_type_is_dropped_first(said: JsonObject, code: str) -> None:
    round_ = play(board("A.."), A=said)
    assert round_.does("A") == []
    assert [(drop.stage, drop.code) for drop in round_.validated["A"].drops] == [("schema", code)]


def test_an_integral_float_is_a_whole_number() -> None:
    answer: Answer = {"claim": [[0.0, 1.0]], "mine": [{"cell": [0, 0], "s": 2.0}]}
    round_ = play(board("A.."), A=answer)
    assert round_.does("A") == [{"claim": [0, 1]}, {"mine": {"cell": [0, 0], "s": 2}}]


@pytest.mark.parametrize("cell", [[-1, 0], [0, -1], [2, 0], [0, 3]])
@pytest.mark.parametrize("kind", ["claim", "raid", "defend", "mine"])
def test_a_plot_must_lie_on_the_grid(kind: str, cell: list[int]) -> None:
    said: Any = {"cell": cell, "s": 1} if kind == "mine" else cell
    assert play(board("AB./AB."), A={kind: [said]}).drops("A") == ["mining/off-grid"]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"claim": [[0, 0]]}, "mining/already-owned"),
        ({"claim": [[0, 1]]}, "mining/already-owned"),
        ({"raid": [[0, 0]]}, "mining/own-plot"),
        ({"raid": [[0, 2]]}, "mining/unowned"),
        ({"defend": [[0, 1]]}, "mining/not-yours"),
        ({"defend": [[0, 2]]}, "mining/not-yours"),
        ({"mine": [{"cell": [0, 1], "s": 1}]}, "mining/not-yours"),
        ({"mine": [{"cell": [0, 2], "s": 1}]}, "mining/not-yours"),
    ],
)
def test_claim_the_unowned_raid_anothers_defend_and_mine_your_own(said: JsonObject, code: str) -> None:
    round_ = play(board("AB."), A=said)
    assert (round_.does("A"), round_.drops("A")) == ([], [code])


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"claim": [[0, 2], [0, 2]]}, {"claim": [0, 2]}),
        ({"raid": [[0, 1], [0, 1]]}, {"raid": [0, 1]}),
        ({"defend": [[0, 0], [0, 0]]}, {"defend": [0, 0]}),
        ({"mine": mine((0, 0, 1), (0, 0, 3))}, {"mine": {"cell": [0, 0], "s": 1}}),
        ({"claim": [[0, 2]], "plan": [{"claim": [0, 2]}]}, {"claim": [0, 2]}),
    ],
)
def test_of_a_repeat_of_kind_and_plot_the_first_stands(said: JsonObject, kept: JsonObject) -> None:
    round_ = play(board("AB."), A=said)
    assert (round_.does("A"), round_.drops("A")) == ([kept], ["mining/repeat"])


def test_mining_over_the_cap_is_cut_to_the_cap_and_mended() -> None:
    round_ = play(board("A.."), A={"mine": mine((0, 0, 4))})
    assert round_.does("A") == [{"mine": {"cell": [0, 0], "s": 3}}]
    (mend,) = round_.validated["A"].mends
    assert (mend.code, mend.said) == ("mining/cut-to-cap", {"mine": {"cell": [0, 0], "s": 4}})
    assert mend.kept == {"mine": {"cell": [0, 0], "s": 3}}


def test_repeats_are_found_before_the_stamina_of_a_mine_order_is_looked_at() -> None:
    round_ = play(board("A.."), A={"mine": mine((0, 0, 0), (0, 0, 3))})
    assert round_.drops("A") == ["mining/no-stamina", "mining/repeat"]


def test_the_checks_come_in_order_so_each_removal_has_its_first_reason() -> None:
    answer = {"raid": [[9, 9], [9, 9], [0, 0], [0, 0]]}
    expected = ["mining/off-grid", "mining/off-grid", "mining/own-plot", "mining/own-plot"]
    assert play(board("AB."), A=answer).drops("A") == expected


def test_pruning_goes_from_the_tail_and_never_skips_to_a_cheaper_action() -> None:
    """A cheap last action is removed before the dear one in front of it."""
    answer = {"mine": mine((0, 0, 3), (0, 1, 3)), "claim": [[0, 2]]}
    round_ = play(board("AA.", stamina=4), A=answer)
    assert round_.does("A") == [{"mine": {"cell": [0, 0], "s": 3}}]
    assert round_.drops("A") == ["mining/over-budget"] * 2


def test_cleaning_comes_before_pruning_so_what_is_illegal_costs_nothing() -> None:
    answer = {"raid": [[0, 0], [9, 9]], "claim": [[0, 1], [0, 2]]}
    assert play(board("A..", stamina=2), A=answer).does("A") == [{"claim": [0, 1]}, {"claim": [0, 2]}]
