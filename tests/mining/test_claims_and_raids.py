"""Steps 1 and 2: claims, immunity, raids, defence."""

import pytest

from hobbes.engine.mining.rules import falls
from hobbes.engine.mining.state import MiningConfig, setup
from tests.mining.plays import NOW, Answer, board, mine, picture, play


def test_all_plots_are_unowned_before_the_first_round() -> None:
    assert picture(setup(MiningConfig(rows=2, cols=3), ("A", "B"), 1)) == ".../..."


# Claims.


def test_one_claimant_takes_the_plot() -> None:
    round_ = play(board(".B."), B={"claim": [[0, 0]]})
    assert (round_.picture, round_.drawn) == ("BB.", [])


def test_of_several_claimants_a_draw_picks_one_and_the_others_lose_the_stamina() -> None:
    claim = {"claim": [[0, 1]]}
    round_ = play(board("A.B", agents="C"), A=claim, B=claim, C=claim)
    assert round_.drawn == [("claim", [0, 1], ("A", "B", "C"))]
    winner = round_.resolved.draws[0].winner
    assert round_.picture == f"A{winner}B"
    assert [round_.spends(agent) for agent in "ABC"] == [1, 1, 1]
    assert {event["agent"]: event["won"] for event in round_.events("claim")} == {
        agent: agent == winner for agent in "ABC"
    }


def test_the_claimant_of_a_plot_is_its_first_owner_for_good() -> None:
    claimed = play(board("A..", agents="B"), B={"claim": [[0, 1]]}).after
    taken = play(claimed, A={"raid": [[0, 1]]}).after
    assert taken.owner[0, 1] == "A"
    assert taken.first_owner[0][1] == "B"


# Immunity.


@pytest.mark.parametrize(("window", "immune_rounds"), [(1, 0), (2, 1), (3, 2)])
def test_a_plot_claimed_in_round_r_is_immune_in_rounds_r_to_r_plus_w_minus_1(
    window: int, immune_rounds: int
) -> None:
    state = play(board("A..", agents="B", immunity=window), A={"claim": [[0, 1]]}).after
    refused = 0
    while True:
        round_ = play(state, B={"raid": [[0, 1]]})
        if round_.picture == "AB.":
            break
        assert round_.drops("B") == ["mining/immune"]
        refused += 1
        state = round_.after
    assert refused == immune_rounds


def test_a_capture_begins_no_immunity() -> None:
    taken = play(board("ABC", immunity=3), A={"raid": [[0, 1]]}).after
    assert play(taken, C={"raid": [[0, 1]]}).picture == "ACC"


def test_in_the_baseline_what_is_claimed_this_round_cannot_be_raided_this_round() -> None:
    round_ = play(board("AB."), A={"claim": [[0, 2]]}, B={"raid": [[0, 2]]})
    assert (round_.picture, round_.drops("B"), round_.spends("B")) == ("ABA", ["mining/unowned"], 0)


def test_without_immunity_a_raid_strikes_what_is_claimed_this_very_round() -> None:
    round_ = play(board("AB.", immunity=0), A={"claim": [[0, 2]]}, B={"raid": [[0, 2]]})
    assert (round_.picture, round_.results()) == ("ABB", {"B": "captured"})
    assert round_.after.first_owner[0][2] == "A"


def test_without_immunity_a_raid_on_what_nobody_claims_fizzles_and_its_stamina_is_lost() -> None:
    round_ = play(board("AB.", immunity=0), B={"raid": [[0, 2]]})
    assert (round_.picture, round_.spends("B"), round_.results()) == ("AB.", 1, {"B": "fizzled"})
    assert round_.after.news.raids == ()


def test_without_immunity_the_raid_of_the_one_who_wins_the_claim_fizzles() -> None:
    round_ = play(board("AB.", immunity=0), B={"claim": [[0, 2]], "raid": [[0, 2]]})
    assert (round_.picture, round_.results()) == ("ABB", {"B": "fizzled"})


def test_claims_are_resolved_before_raids() -> None:
    """A takes the middle first, so B and C raid A."""
    answers: dict[str, Answer] = {"A": {"claim": [[0, 1]]}, "B": {"raid": [[0, 1]]}, "C": {"raid": [[0, 1]]}}
    round_ = play(board("B.C", agents="A", immunity=0), **answers)
    (raid,) = round_.after.news.raids
    assert (raid.owner, raid.raiders) == ("A", ("B", "C"))


# Raids and defence.


def test_a_single_raider_takes_an_undefended_plot() -> None:
    round_ = play(board("AB."), A={"raid": [[0, 1]]})
    assert (round_.picture, round_.drawn, round_.results()) == ("AA.", [], {"A": "captured"})


def test_of_several_raiders_a_draw_picks_one_and_the_others_lose_the_stamina() -> None:
    raid = {"raid": [[0, 1]]}
    round_ = play(board("ABC"), A=raid, C=raid)
    assert round_.drawn == [("raid", [0, 1], ("A", "C"))]
    winner = round_.resolved.draws[0].winner
    loser = "C" if winner == "A" else "A"
    assert round_.picture == f"A{winner}C"
    assert round_.results() == {winner: "captured", loser: "outdrawn"}
    assert (round_.spends("A"), round_.spends("C")) == (1, 1)


def test_one_point_of_defence_blocks_every_raid_and_the_raiders_lose_their_stamina() -> None:
    raid = {"raid": [[0, 1]]}
    round_ = play(board("ABC"), A=raid, B={"defend": [[0, 1]]}, C=raid)
    assert (round_.picture, round_.drawn) == ("ABC", [])
    assert round_.results() == {"A": "blocked", "C": "blocked"}
    assert (round_.spends("A"), round_.spends("C")) == (1, 1)


def test_a_defence_is_paid_for_even_if_nobody_comes() -> None:
    round_ = play(board("AB.", stamina=1), B={"defend": [[0, 1]], "claim": [[0, 2]]})
    assert (round_.spends("B"), round_.picture) == (1, "AB.")


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


def test_per_point_each_point_stops_one_raid_and_a_repeated_defend_adds_a_point() -> None:
    raid = {"raid": [[0, 1]]}
    answers: dict[str, Answer] = {"A": raid, "B": {"defend": [[0, 1], [0, 1]]}, "C": raid}
    round_ = play(board("ABC", defense="per_point"), **answers)
    assert (round_.picture, round_.spends("B"), round_.drops("B")) == ("ABC", 2, [])


def test_per_point_more_raids_than_points_take_the_plot_and_all_raiders_take_part_in_the_draw() -> None:
    raid = {"raid": [[0, 1]]}
    round_ = play(board("ABC", defense="per_point"), A=raid, B={"defend": [[0, 1]]}, C=raid)
    assert round_.drawn == [("raid", [0, 1], ("A", "C"))]
    assert round_.picture == f"A{round_.resolved.draws[0].winner}C"


def test_under_block_all_a_repeated_defend_is_a_repeat() -> None:
    assert play(board("AB."), B={"defend": [[0, 1], [0, 1]]}).drops("B") == ["mining/repeat"]


def test_under_per_point_only_defends_may_be_repeated() -> None:
    round_ = play(board("AB.", defense="per_point"), A={"claim": [[0, 2], [0, 2]], "raid": [[0, 1], [0, 1]]})
    assert round_.drops("A") == ["mining/repeat", "mining/repeat"]


def test_all_act_at_once_so_two_may_take_each_others_plot() -> None:
    round_ = play(board("AB."), A={"raid": [[0, 1]]}, B={"raid": [[0, 0]]})
    assert round_.picture == "BA."


def test_the_order_in_which_answers_arrive_changes_nothing() -> None:
    raid = {"raid": [[0, 1]]}
    one, other = play(board("ABC"), A=raid, C=raid), play(board("ABC"), C=raid, A=raid)
    assert one.resolved.draws == other.resolved.draws
    assert one.resolved.events == other.resolved.events


# Capture.


def test_the_captor_cannot_mine_in_the_round_of_the_capture_but_in_the_next() -> None:
    first = play(board("AB."), A={"raid": [[0, 1]], "mine": mine((0, 1, 3))})
    assert (first.gold["A"], first.drops("A")) == (0, ["mining/not-yours"])
    assert play(first.after, A={"mine": mine((0, 1, 3))}).gold["A"] == 3


def test_a_claimed_plot_cannot_be_mined_in_the_round_of_the_claim_but_in_the_next() -> None:
    first = play(board("A.."), A={"claim": [[0, 1]], "mine": mine((0, 1, 3))})
    assert (first.gold["A"], first.drops("A")) == (0, ["mining/not-yours"])
    assert play(first.after, A={"mine": mine((0, 1, 3))}).gold["A"] == 3


def test_stamina_set_to_mine_or_defend_a_lost_plot_is_spent_and_gives_nothing() -> None:
    raid = {"raid": [[0, 1]]}
    answers: dict[str, Answer] = {"A": raid, "B": {"mine": mine((0, 1, 3)), "defend": [[0, 1]]}, "C": raid}
    round_ = play(board("ABC", defense="per_point"), **answers)
    assert (round_.gold["B"], round_.spends("B")) == (0, 4)
    assert round_.after.deeds["B"].mine == 3


def test_a_captured_plot_is_held_since_the_round_of_its_capture() -> None:
    after = play(board("AB."), A={"raid": [[0, 1]]}).after
    assert (after.since[0][0], after.since[0][1]) == (0, NOW)
