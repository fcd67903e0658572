"""A removed action is dropped, or replaced by a random legal one."""

from hobbes.engine.chance import chance
from tests.engine.mining.plays import NOW, SEED, board, mine, play


def test_rationalize_drops_what_was_removed_and_mends_it_by_a_legal_action() -> None:
    round_ = play(board("AB.", fault_policy="rationalize"), A={"claim": [[0, 0]]})
    assert (round_.drops("A"), round_.mends("A")) == (["mining/already-owned"], ["mining/rationalized"])
    (mend,) = round_.validated["A"].mends
    assert (mend.said, [mend.kept]) == ({"claim": [0, 0]}, round_.does("A"))


def test_rationalize_draws_among_the_legal_actions_by_seed_round_agent_and_count() -> None:
    """A has one stamina; it could defend or mine its plot, raid B's, or claim the free one."""
    legal = [{"defend": [0, 0]}, {"mine": {"cell": [0, 0], "s": 1}}, {"raid": [0, 1]}, {"claim": [0, 2]}]
    for turn in range(NOW, NOW + 10):
        state = board("AB.", fault_policy="rationalize", stamina=1, turn=turn)
        digest = chance(SEED, turn, "A", "rationalize/0")
        assert play(state, A={"claim": [[9, 9]]}).does("A") == [legal[int(digest, 16) % 4]]


def test_rationalize_costs_no_more_than_what_was_removed() -> None:
    state = board("AAAAAAAAA", fault_policy="rationalize", stamina=10)
    for said, most in (([9, 9, 1], 1), ([9, 9, 2], 2), ([9, 9, 3], 3)):
        row, col, stamina = said
        round_ = play(state, A={"mine": mine((row, col, stamina))})
        assert 1 <= round_.spends("A") <= most


def test_rationalize_replaces_nothing_for_an_action_that_cost_nothing() -> None:
    round_ = play(board("A..", fault_policy="rationalize"), A={"mine": mine((0, 0, 0))})
    assert (round_.does("A"), round_.drops("A")) == ([], ["mining/no-stamina"])


def test_rationalize_replaces_only_while_stamina_is_left() -> None:
    answer = {"claim": [[0, 1], [9, 9], [9, 9], [9, 9]]}
    round_ = play(board("A.....", fault_policy="rationalize", stamina=2), A=answer)
    assert round_.spends("A") == 2
    assert len(round_.drops("A")) == 3
    assert len(round_.mends("A")) == 1


def test_rationalize_also_replaces_what_was_pruned_by_what_the_rest_of_the_stamina_can_pay() -> None:
    answer = {"mine": mine((0, 0, 3), (0, 1, 3))}
    round_ = play(board("AAA", fault_policy="rationalize", stamina=4), A=answer)
    assert round_.drops("A") == ["mining/over-budget"]
    assert round_.spends("A") == 4


def test_rationalize_repeats_nothing_that_is_in_the_plan() -> None:
    """Two actions are possible here, and both are in the plan."""
    answer = {"defend": [[0, 0]], "mine": mine((0, 0, 1)), "claim": [[9, 9]]}
    round_ = play(board("A", fault_policy="rationalize"), A=answer)
    assert round_.mends("A") == []
    assert round_.spends("A") == 2
