"""Steps 3 and 4: mining, the end of the round, draws and records."""

from hashlib import sha256

import pytest

from hobbes.engine.mining.state import MiningConfig, setup
from hobbes.engine.mining.view import observe
from tests.mining.plays import SEED, Answer, board, mine, play


@pytest.mark.parametrize(("cap", "stamina", "gold"), [(3, 1, 1), (3, 3, 3), (3, 9, 3), (2, 3, 2), (4, 9, 4)])
def test_an_owner_gets_the_stamina_up_to_the_cap_times_alpha(cap: int, stamina: int, gold: int) -> None:
    state = board("A..", mine_cap=cap, alpha=1)
    assert play(state, A={"mine": mine((0, 0, stamina))}).gold["A"] == gold


def test_land_is_not_used_up() -> None:
    state = board("A..")
    for _ in range(3):
        state = play(state, A={"mine": mine((0, 0, 3))}).after
    assert state.gold["A"] == 9


def test_mining_comes_after_raids_so_a_lost_plot_pays_nobody() -> None:
    round_ = play(board("AB."), A={"raid": [[0, 1]]}, B={"mine": mine((0, 1, 3))})
    assert round_.gold == {"A": 0, "B": 0}
    assert round_.events("mine") == [{"type": "mine", "agent": "B", "plot": [0, 1], "gold": 0}]


def test_the_board_gives_at_most_plots_times_cap_a_round() -> None:
    state = board("AAA/AAA", stamina=100)
    orders = mine(*((r, c, 50) for r in range(2) for c in range(3)))
    assert play(state, A={"mine": orders}).gold["A"] == 6 * 3


# Uneven land.


def test_alpha_may_be_one_number_for_all_plots() -> None:
    assert play(board("A..", alpha=5), A={"mine": mine((0, 0, 3))}).gold["A"] == 15


def test_alpha_may_be_given_plot_by_plot() -> None:
    state = board("AA./A..", alpha=((1, 2, 3), (0, 5, 6)))
    assert play(state, A={"mine": mine((0, 0, 2), (0, 1, 2), (1, 0, 2))}).gold["A"] == 2 + 4 + 0


def test_gold_mines_are_placed_by_a_draw_and_give_their_multiple() -> None:
    config = MiningConfig.model_validate({"rows": 2, "cols": 3, "alpha": {"plots": 2, "multiplier": 4}})
    lands = {setup(config, ("A",), seed).alpha for seed in range(20)}
    assert all(sorted(sum(land, ())) == [1, 1, 1, 1, 4, 4] for land in lands)
    assert len(lands) > 1
    assert setup(config, ("A",), 3).alpha == setup(config, ("A", "B"), 3).alpha


@pytest.mark.parametrize(
    "alpha",
    [((1, 1), (1, 1), (1, 1)), ((1, 1, 1), (1, 1)), ((1, 1, 1),), (), {"plots": 7, "multiplier": 2}],
)
def test_alpha_must_fit_the_grid(alpha: object) -> None:
    with pytest.raises(ValueError, match="alpha"):
        MiningConfig.model_validate({"rows": 2, "cols": 3, "alpha": alpha})


# Uneven stamina.


def test_stamina_may_be_a_list_one_an_agent_in_the_order_of_their_names() -> None:
    state = board("ABC", stamina=(1, 2, 3))
    assert [state.stamina(agent) for agent in "ABC"] == [1, 2, 3]
    assert play(state, B={"mine": mine((0, 1, 3))}).drops("B") == ["mining/over-budget"]


def test_a_stamina_list_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="stamina"):
        board("ABC", stamina=(1, 2))


@pytest.mark.parametrize("stamina", [8, 10, 12, 0])
def test_the_stamina_of_the_treatment_is_what_may_be_spent(stamina: int) -> None:
    state = board("AAAAAA", stamina=stamina)
    assert play(state, A={"mine": mine(*((0, c, 3) for c in range(6)))}).spends("A") == stamina // 3 * 3


# Draws.


def test_a_draw_is_the_sha256_of_seed_round_plot_and_event_modulo_the_participants_by_name() -> None:
    claim = {"claim": [[0, 1]]}
    (draw,) = play(board("A.B", agents="C"), A=claim, B=claim, C=claim).resolved.draws
    digest = sha256(b'[1,10,[0,1],"claim"]').hexdigest()
    assert (SEED, draw.digest) == (1, digest)
    assert draw.winner == "ABC"[int(digest, 16) % 3]


def test_a_claim_and_a_raid_of_one_plot_are_drawn_apart() -> None:
    claim = {"claim": [[0, 1]]}
    raid = {"raid": [[0, 1]]}
    state = board("A.B", agents="CD", immunity=0)
    claims, raids = play(state, A=claim, B=claim, C=raid, D=raid).resolved.draws
    assert (claims.event, raids.event) == ("claim", "raid")
    assert claims.digest != raids.digest


def test_another_contest_changes_no_draw() -> None:
    raid = {"raid": [[0, 1]]}
    alone = play(board("ABC/..."), A=raid, C=raid)
    beside = play(board("ABC/..."), A={**raid, "claim": [[1, 1]]}, B={"claim": [[1, 1]]}, C=raid)
    assert len(beside.resolved.draws) == 2
    assert alone.resolved.draws[0] in beside.resolved.draws


def test_draws_are_made_in_row_major_order() -> None:
    answer = {"claim": [[1, 1], [0, 2], [1, 0], [0, 1]]}
    round_ = play(board("A../B.."), A=answer, B={"claim": [[0, 1], [0, 2], [1, 1]]})
    assert [subject for _, subject, _ in round_.drawn] == [[0, 1], [0, 2], [1, 1]]


def test_every_draw_is_logged_with_participants_digest_and_winner() -> None:
    raid = {"raid": [[0, 1]]}
    (draw,) = play(board("ABC"), A=raid, C=raid).resolved.draws
    logged = draw.to_json()
    assert {**logged, "digest": "…", "winner": "…"} == {
        "event": "raid",
        "subject": [0, 1],
        "participants": ["A", "C"],
        "digest": "…",
        "winner": "…",
    }
    assert logged["winner"] in ("A", "C")
    assert len(draw.digest) == 64


# Records.


def test_per_plot_logs_tell_defences_raids_and_who_took_what() -> None:
    state = board("ABC/ABC")
    answers: dict[str, Answer] = {
        "A": {"raid": [[0, 1], [1, 1]]},
        "B": {"defend": [[0, 1]]},
        "C": {"raid": [[0, 1]]},
    }
    news = play(state, **answers).after.news
    assert news.defended == ((0, 1),)
    assert [(raid.cell, raid.owner, raid.raiders, raid.defended, raid.taken_by) for raid in news.raids] == [
        ((0, 1), "B", ("A", "C"), True, None),
        ((1, 1), "B", ("A",), False, "A"),
    ]


def test_per_agent_logs_tell_stamina_by_kind_and_gold() -> None:
    answer = {"mine": mine((0, 0, 3)), "defend": [[0, 0]], "raid": [[0, 1]], "claim": [[0, 2], [0, 3]]}
    deeds = play(board("AB.."), A=answer).after.deeds["A"]
    assert (deeds.claim, deeds.raid, deeds.defend, deeds.mine, deeds.gold) == (2, 1, 1, 3, 3)


def test_the_summary_of_a_round_counts_plots_claimed_contested_defended_raided_and_taken() -> None:
    claim = {"claim": [[1, 0], [1, 1]]}
    answers: dict[str, Answer] = {
        "A": {**claim, "raid": [[0, 1], [0, 2]]},
        "B": {"claim": [[1, 0]], "defend": [[0, 1]]},
        "C": {},
    }
    view = observe(play(board("ABC/..."), **answers).after, "A")
    assert view["summary"] == [
        {"turn": 10, "claimed": 2, "contested": 1, "defended": 1, "raided": 2, "taken": 1}
    ]


def test_the_gold_of_several_plots_adds_up_and_touching_plots_give_no_more() -> None:
    orders = mine((0, 0, 3), (0, 1, 2), (1, 2, 1))
    assert play(board("AA./..A"), A={"mine": orders}).gold["A"] == 6
    apart = mine((0, 0, 3), (0, 2, 2), (1, 1, 1))
    assert play(board("A.A/.A."), A={"mine": apart}).gold["A"] == 6


def test_each_action_is_told_as_an_event() -> None:
    answers: dict[str, Answer] = {
        "A": {"claim": [[0, 2]], "mine": mine((0, 0, 2))},
        "B": {"defend": [[0, 1]]},
        "C": {"raid": [[0, 1]]},
    }
    round_ = play(board("AB.", agents="C"), **answers)
    assert [event.to_json() for event in round_.resolved.events] == [
        {"type": "claim", "agent": "A", "plot": [0, 2], "won": True},
        {"type": "defend", "agent": "B", "plot": [0, 1], "points": 1},
        {"type": "raid", "agent": "C", "plot": [0, 1], "owner": "B", "result": "blocked"},
        {"type": "mine", "agent": "A", "plot": [0, 0], "gold": 2},
    ]


def test_a_round_changes_nothing_that_was_before() -> None:
    state = board("AB.")
    after = play(state, A={"raid": [[0, 1]], "mine": mine((0, 0, 3))}).after
    assert (state.turn, after.turn) == (10, 11)
    assert (state.owners, dict(state.gold)) == ((("A", "B", None),), {"A": 0, "B": 0})
