"""Accounts: each agent's turn, line by line, with the arithmetic shown."""

from typing import Any

from hobbes.engine.arithmetic import as_sum
from tests.arithmetic import in_ascii
from tests.engine.nations.stage import A, B, C, D, board, turn

SIX = {A: ["a1", "a2", "a3", "a4", "a5", "a6"], B: ["b1"], C: ["c1"]}


def test_a_sum_leaves_out_what_is_0_but_not_its_first_line() -> None:
    assert as_sum([("gross", 0), ("damage", 0), ("trade", 3)]) == "gross 0 + trade 3 = 3"


def test_each_list_of_an_account_is_written_as_a_sum() -> None:
    state = board(territories=SIX, army={A: 10, B: 3, C: 5}, constants={"c_violence_penalty": 1})
    answers: dict[str, dict[str, Any]] = {
        A: {"purchase_mils": 1, "money_grants": {C: 5}, "attacks": {C: 2}},
        B: {"attacks": {A: 3}, "money_grants": {A: 3}},
        C: {"money_grants": {A: 5}},
    }
    written = turn(state, answers).account(A)["arithmetic"]
    assert {name: in_ascii(text) for name, text in written.items()} == {
        "money": "gross 60 - damage 15 - violence penalty 6 - upkeep 20 - grants 5 = 14",
        "welfare": "left 14 + trade 6 = 20",
        "mils": "start 10 - lost in combat 1 = 9",
    }


def test_mils_that_fell_are_told_by_the_target_that_destroyed_them() -> None:
    # C's 9 mils destroy floor(9 / 4) = 2 of A's 3 and B's 1: quotas 1 1/2 and 1/2, so A loses both.
    state = board(army={A: 3, B: 1, C: 9})
    played = turn(state, {A: {"attacks": {C: 3}}, B: {"attacks": {C: 1}}})
    assert played.account(B)["lost_to"] == {C: 0}
    assert played.account(A)["lost_to"] == {C: 2}
    # B and C destroy one mil each: of A's 1 and D's 3 at B the one of D, and the one that A sent at C.
    state = board(4, army={A: 2, B: 4, C: 4, D: 3})
    played = turn(state, {A: {"attacks": {B: 1, C: 1}}, D: {"attacks": {B: 3}}})
    assert played.account(A)["lost_to"] == {B: 0, C: 1}
