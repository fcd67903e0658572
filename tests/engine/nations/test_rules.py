"""Phases 0 to 8, each rule with a case that can be checked by hand. The arithmetic is in the comments."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields
from inspect import get_annotations
from typing import Any

from hobbes.engine.nations import rules
from hobbes.engine.nations.ledgers import TurnLedgers
from hobbes.engine.nations.rules import in_proportion
from hobbes.engine.nations.state import State
from hobbes.engine.nations.validation import Intent
from tests.engine.nations.stage import A, B, C, D, Turn, board, turn


def land(**sizes: int) -> dict[str, list[str]]:
    """Return that many territories for each agent: a1, a2, ... for AgentA."""
    return {
        f"Agent{name}": [f"{name.lower()}{k}" for k in range(1, size + 1)] for name, size in sizes.items()
    }


def armies(**sizes: int) -> dict[str, int]:
    return {f"Agent{name}": size for name, size in sizes.items()}


def peaceful(state: State) -> Turn:
    return turn(state, {})


def test_phase_2_attacks_beyond_the_army_are_scaled_by_largest_remainder_with_a_mend() -> None:
    # army 5 over 1 + 2 + 4 = 7 mils: quotas 5/7, 1 3/7, 2 6/7; whole parts 0 + 1 + 2; the two mils that are
    # left go to the largest remainders, 6/7 (D) and 5/7 (B).
    played = turn(board(4, army=5), {A: {"attacks": {B: 1, C: 2, D: 4}}})
    assert played.ledgers["attacks"][A] == {B: 1, C: 1, D: 3}
    (mend,) = played.mends
    assert (mend.agent, mend.code, mend.said, mend.kept) == (
        A,
        "nations/attacks-scaled",
        {"attacks": {B: 1, C: 2, D: 4}},
        {"attacks": {B: 1, C: 1, D: 3}},
    )


def test_phase_2_without_an_army_nobody_is_attacked() -> None:
    played = turn(board(army=0, constants={"c_violence_penalty": 1}), {A: {"attacks": {B: 5}}})
    assert played.ledgers["attacks"][A] == {}
    assert played.ledgers["violence_penalty"] == {A: 0, B: 0, C: 0}
    assert played.codes == ["nations/attacks-scaled"]


def test_phase_4_upkeep_is_paid_for_the_army_at_the_start_of_the_turn() -> None:
    played = turn(board(army=4), {A: {"purchase_mils": 1, "disband_mils": 2}})
    assert played.ledgers["upkeep_paid"] == {A: 8, B: 8, C: 8}  # 4 x 2
    assert played.ledgers["money_after_upkeep"][A] == 42  # 50 - 8


def test_phase_5_as_many_mils_are_bought_as_the_money_buys() -> None:
    # 50 - 2 x 2 = 46 buys 2 mils of the 3 wanted, at 20; 6 is left.
    played = turn(board(army=2), {A: {"purchase_mils": 3}})
    assert played.ledgers["mils_purchased"][A] == 2
    assert played.ledgers["purchase_cost"][A] == 40
    assert played.ledgers["money_after_purchases"][A] == 6
    (mend,) = played.mends
    assert (mend.code, mend.said, mend.kept) == (
        "nations/purchase-cut",
        {"purchase_mils": 3},
        {"purchase_mils": 2},
    )


def test_phase_7_the_worth_of_what_was_received_is_rounded_down_once_and_exactly() -> None:
    state = board(army=0, constants={"c_trade_factor": 0.29})
    received = {A: {"money_grants": {C: 49}}, B: {"money_grants": {C: 50}}}
    assert turn(state, received).ledgers["trade_welfare"][C] == 28  # 99 x 0.29 = 28.71
    received = {A: {"money_grants": {C: 50}}, B: {"money_grants": {C: 50}}}
    assert turn(state, received).ledgers["trade_welfare"][C] == 29  # 100 x 0.29 = 29, though not in floats


def test_phase_8_nobody_loses_a_mil_twice() -> None:
    # A cannot pay for any of its 4 mils, and B's 40 destroy all 4: 4 - 4 - 4 is 0, not -4.
    state = board(territories=land(B=9), army=armies(A=4, B=40))
    played = turn(state, {A: {"attacks": {B: 4}}})
    assert (played.ledgers["mils_unpaid"][A], played.ledgers["mils_lost"][A]) == (4, 4)
    assert played.after.army[A] == 0
    assert played.account(A)["arithmetic"]["mils"].endswith("+ counted twice 4 = 0")


def test_phase_8_at_most_the_mils_that_are_there_are_dismissed_bought_ones_included() -> None:
    played = turn(board(army=2), {A: {"purchase_mils": 1, "disband_mils": 9}})
    assert played.after.army[A] == 0
    (mend,) = played.mends
    assert (mend.code, mend.said, mend.kept) == (
        "nations/disband-cut",
        {"disband_mils": 9},
        {"disband_mils": 3},
    )


PHASES: tuple[Callable[..., object], ...] = (
    rules.take_orders,
    rules.earn,
    rules.allocate,
    rules.take_damage,
    rules.pay_upkeep,
    rules.purchase,
    rules.fight,
    rules.transfer,
    rules.end_turn,
)


def test_a_phase_reads_the_board_and_ledgers_of_earlier_phases_and_no_other() -> None:
    may_read: dict[str, Any] = {"state": State, "intents": Mapping[str, Intent]}
    for phase, (name, ledger) in zip(PHASES, get_annotations(TurnLedgers).items(), strict=True):
        types = get_annotations(phase)
        assert types.pop("return") is ledger
        assert types.items() <= may_read.items(), name
        may_read.pop("intents", None)
        may_read[name] = ledger


def test_no_two_phases_keep_a_ledger_of_one_name() -> None:
    kept = Counter(
        ledger.name
        for phase in get_annotations(TurnLedgers).values()
        for ledger in fields(phase)
        if ledger.name != "mends"
    )
    assert set(kept.values()) == {1}


def test_a_share_by_largest_remainder_adds_up_and_settles_ties_by_name() -> None:
    assert in_proportion(1, {"b": 1, "a": 1}) == {"a": 1, "b": 0}
    assert in_proportion(7, {"a": 1, "b": 1, "c": 1}) == {"a": 3, "b": 2, "c": 2}
    assert in_proportion(0, {"a": 1}) == {"a": 0}


def test_the_turn_is_told_in_events() -> None:
    orders = {
        "attacks": {B: 8},
        "purchase_mils": 1,
        "disband_mils": 1,
        "money_grants": {C: 2},
        "cede_territories": {C: ["T1"]},
        "messages": {"all": "Beware."},
    }
    told = [event.to_json() for event in turn(board(army=10), {A: orders}).events]
    assert told == [
        {"type": "attack", "agent": A, "target": B, "mils": 8, "damage": 40, "lost": 2},
        {"type": "unpaid", "agent": B, "mils": 5},
        {"type": "purchase", "agent": A, "mils": 1},
        {"type": "disband", "agent": A, "mils": 1},
        {"type": "grant", "agent": A, "to": C, "amount": 2},
        {"type": "cede", "agent": A, "to": C, "territory": "T1"},
        {"type": "message", "agent": A, "to": "all", "text": "Beware."},
    ]
