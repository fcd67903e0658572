"""Accounts: each agent's turn, line by line, with the arithmetic shown."""

from typing import Any

from hobbes.engine.arithmetic import as_sum
from tests.arithmetic import comes_out, in_ascii
from tests.engine.nations.stage import A, B, C, D, Turn, board, turn

SIX = {A: ["a1", "a2", "a3", "a4", "a5", "a6"], B: ["b1"], C: ["c1"]}


def test_a_sum_leaves_out_what_is_0_but_not_its_first_line() -> None:
    assert as_sum([("gross", 0), ("damage", 0), ("trade", 3)]) == "gross 0 + trade 3 = 3"


def test_each_figure_of_an_account_is_a_sum_of_its_own() -> None:
    state = board(territories=SIX, army={A: 10, B: 3, C: 5}, constants={"c_violence_penalty": 1})
    answers: dict[str, dict[str, Any]] = {
        A: {"purchase_mils": 1, "money_grants": {C: 5}, "attacks": {C: 2}},
        B: {"attacks": {A: 3}, "money_grants": {A: 3}},
        C: {"money_grants": {A: 5}},
    }
    written = turn(state, answers).account(A)["arithmetic"]
    assert {name: in_ascii(text) for name, text in written.items()} == {
        "gross": "territories 6 x 10 = 60",
        "damage": "AgentB 3 x 5 = 15",
        "violence_penalty": "territories 6 x 1 = 6",
        "upkeep": "(start 10) x 2 = 20",
        "purchased": "min(wanted 1, floor((gross 60 - damage 15 - violence penalty 6 - upkeep 20) / 20)) = 0",
        "grants": "AgentC 5 = 5",
        "money": "gross 60 - damage 15 - violence penalty 6 - upkeep 20 - grants 5 = 14",
        "trade": "floor((AgentB 3) x 2.0) = 6",
        "welfare": "left 14 + trade 6 = 20",
        "welfare_total": "0 + 20 = 20",
        "attacks": "AgentC 2 = 2",
        "destroyed": "min(floor((army 10 - sent out 2) / 4), attackers 3) = 2",
        "lost_in_combat": "AgentC 1 = 1",
        "mils": "start 10 - lost in combat 1 = 9",
    }


def ascii_sums(played: Turn, agent: str) -> dict[str, str]:
    """Return an agent's sums in ASCII, after checking that each one comes out."""
    written = played.account(agent)["arithmetic"]
    assert [text for text in written.values() if not comes_out(text)] == []
    return {name: in_ascii(text) for name, text in written.items()}


def test_attacks_beyond_the_army_are_summed_as_ordered_and_as_sent() -> None:
    # army 10 over 9 + 7 + 7 = 23: quotas 3 21/23, 3 1/23, 3 1/23; the mil that is left goes to B.
    state = board(4, army={A: 10})
    written = ascii_sums(turn(state, {A: {"attacks": {D: 7, B: 9, C: 7}}}), A)
    assert written["attacks_ordered"] == "AgentB 9 + AgentC 7 + AgentD 7 = 23"
    assert written["attacks"] == "AgentB 4 + AgentC 3 + AgentD 3 = 10"
    written = ascii_sums(turn(state, {A: {"attacks": {D: 7, B: 3, C: 0}}}), A)
    assert (written["attacks"], "attacks_ordered" in written) == ("AgentB 3 + AgentD 7 = 10", False)
    written = ascii_sums(turn(state, {B: {"attacks": {C: 0, A: 2}}}), B)  # of an army of 0
    assert (written["attacks_ordered"], "attacks" in written) == ("AgentA 2 = 2", False)
    assert not {"attacks", "attacks_ordered"} & ascii_sums(turn(state, {}), A).keys()


def test_mils_that_go_unpaid_are_summed_from_what_damage_leaves() -> None:
    # B: 50 - 8 x 5 = 10 is left of the income; 10 mils cost 20: a deficit of 10 is the upkeep of 5.
    written = ascii_sums(turn(board(army=10), {A: {"attacks": {B: 8}}}), B)
    assert written["unpaid"] == "ceil((start 10 x 2 - (gross 50 - damage 40)) / 2) = 5"
    assert written["upkeep"] == "(start 10 - unpaid 5) x 2 = 10"
    # gross 9 of 14: the deficit of 5 is not even, and 3 mils go.
    odd = board(territories={A: ["a", "b", "c"]}, army=7, constants={"c_money_per_territory": 3})
    assert ascii_sums(turn(odd, {}), A)["unpaid"] == "ceil((start 7 x 2 - (gross 9)) / 2) = 3"
    assert "unpaid" not in ascii_sums(turn(board(), {}), A)


def test_mils_that_were_wanted_and_not_bought_are_summed_from_what_upkeep_leaves() -> None:
    # 50 - 15 x 2 = 20 buys one mil of the 3.
    written = ascii_sums(turn(board(army=15), {A: {"purchase_mils": 3}}), A)
    assert written["purchased"] == "min(wanted 3, floor((gross 50 - upkeep 30) / 20)) = 1"
    assert written["purchases"] == "mils 1 x 20 = 20"
    assert "purchased" not in ascii_sums(turn(board(army=15), {A: {"purchase_mils": 1}}), A)


def test_only_what_fell_stands_under_lost_in_combat() -> None:
    # C's 9 mils destroy floor(9 / 4) = 2 of A's 3 and B's 1: quotas 1 1/2 and 1/2, so A loses both.
    state = board(army={A: 3, B: 1, C: 9})
    played = turn(state, {A: {"attacks": {C: 3}}, B: {"attacks": {C: 1}}})
    assert played.account(B)["lost_to"] == {C: 0}
    assert ascii_sums(played, A)["lost_in_combat"] == "AgentC 2 = 2"
    assert "lost_in_combat" not in ascii_sums(played, B)
    # B and C destroy one mil each: of A's 1 and D's 3 at B the one of D, and the one that A sent at C.
    state = board(4, army={A: 2, B: 4, C: 4, D: 3})
    played = turn(state, {A: {"attacks": {B: 1, C: 1}}, D: {"attacks": {B: 3}}})
    assert played.account(A)["lost_to"] == {B: 0, C: 1}
    assert ascii_sums(played, A)["lost_in_combat"] == "AgentC 1 = 1"
