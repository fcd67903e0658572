"""Steps 3 and 4: mining, the end of the round, draws and records."""

from hashlib import sha256

import pytest

from hobbes.engine.mining.state import MiningConfig, setup
from hobbes.engine.mining.view import observe
from tests.engine.mining.plays import SEED, Answer, board, mine, play

# Uneven land.


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


def test_a_stamina_list_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="stamina"):
        board("ABC", stamina=(1, 2))


# Draws.


def test_a_draw_is_the_sha256_of_seed_round_plot_and_event_modulo_the_participants_by_name() -> None:
    claim = {"claim": [[0, 1]]}
    (draw,) = play(board("A.B", agents="C"), A=claim, B=claim, C=claim).resolved.draws
    digest = sha256(b'[1,10,[0,1],"claim"]').hexdigest()
    assert (SEED, draw.digest) == (1, digest)
    assert draw.winner == "ABC"[int(digest, 16) % 3]


def test_draws_are_made_in_row_major_order() -> None:
    answer = {"claim": [[1, 1], [0, 2], [1, 0], [0, 1]]}
    round_ = play(board("A../B.."), A=answer, B={"claim": [[0, 1], [0, 2], [1, 1]]})
    assert [subject for _, subject, _ in round_.drawn] == [[0, 1], [0, 2], [1, 1]]


# Records.


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
    counts = {"claimed": 2, "contested": 1, "defended": 1, "raided": 2, "taken": 1}
    assert view["summary"] == {name: [n] for name, n in {"turn": 10, **counts}.items()}


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
