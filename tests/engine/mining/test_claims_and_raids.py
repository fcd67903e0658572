"""Steps 1 and 2: claims, immunity, raids, defence."""

import pytest

from hobbes.engine.mining.rules import falls
from tests.engine.mining.plays import NOW, board, play

# Claims.


def test_the_claimant_of_a_plot_is_its_first_owner_for_good() -> None:
    claimed = play(board("A..", agents="B"), B={"claim": [[0, 1]]}).after
    taken = play(claimed, A={"raid": [[0, 1]]}).after
    assert taken.owner[0, 1] == "A"
    assert taken.first_owner[0][1] == "B"


# Immunity.


def test_without_immunity_a_raid_on_what_nobody_claims_fizzles_and_its_stamina_is_lost() -> None:
    round_ = play(board("AB.", immunity=0), B={"raid": [[0, 2]]})
    assert (round_.picture, round_.spends("B"), round_.results()) == ("AB.", 1, {"B": "fizzled"})
    assert round_.after.news.raids == ()


# Raids and defence.


def test_of_several_raiders_a_draw_picks_one_and_the_others_lose_the_stamina() -> None:
    raid = {"raid": [[0, 1]]}
    round_ = play(board("ABC"), A=raid, C=raid)
    assert round_.drawn == [("raid", [0, 1], ("A", "C"))]
    winner = round_.resolved.draws[0].winner
    loser = "C" if winner == "A" else "A"
    assert round_.picture == f"A{winner}C"
    assert round_.results() == {winner: "captured", loser: "outdrawn"}
    assert (round_.spends("A"), round_.spends("C")) == (1, 1)


def test_a_defence_lasts_only_for_its_round() -> None:
    first = play(board("AB."), A={"raid": [[0, 1]]}, B={"defend": [[0, 1]]})
    second = play(first.after, A={"raid": [[0, 1]]})
    assert (first.picture, second.picture) == ("AB.", "AA.")


@pytest.mark.parametrize(
    ("points", "raiders", "block_all", "per_point"),
    [
        (0, 1, True, True),
        (1, 1, False, False),
        (1, 2, False, True),
        (2, 2, False, False),
        (2, 3, False, True),
    ],
)
def test_when_a_plot_falls(points: int, raiders: int, *, block_all: bool, per_point: bool) -> None:
    assert falls("block_all", points, raiders) is block_all
    assert falls("per_point", points, raiders) is per_point


def test_all_act_at_once_so_two_may_take_each_others_plot() -> None:
    round_ = play(board("AB."), A={"raid": [[0, 1]]}, B={"raid": [[0, 0]]})
    assert round_.picture == "BA."


# Capture.


def test_a_captured_plot_is_held_since_the_round_of_its_capture() -> None:
    after = play(board("AB."), A={"raid": [[0, 1]]}).after
    assert (after.since[0][0], after.since[0][1]) == (0, NOW)
