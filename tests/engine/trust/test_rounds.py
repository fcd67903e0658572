"""The effects of each action in a round."""

from typing import Any

import pytest

from hobbes.engine.trust.rules import resolve
from hobbes.engine.trust.state import Ruling
from hobbes.engine.trust.validation import Intent
from hobbes.engine.trust.view import observe
from tests.engine.trust.plays import game, play, play_on, seed_where

THREE = {"a": 50, "b": 50, "c": 50}


def test_a_block_stops_every_attack_is_rewarded_for_each_and_costs_once() -> None:
    """C 50 - 1 + 2 + 2 = 53; the attackers 50 - 3 = 47 each."""
    round_ = play(game(sats=THREE), a="attack c", b="attack c", c="block")
    assert round_.sats == {"a": 47, "b": 47, "c": 53}
    assert round_.events("block") == [{"type": "block", "agent": "c", "stopped": 2}]


def test_a_high_five_counts_only_if_its_own_target_returns_it() -> None:
    """A at B, B at C, C at A: nobody is high-fived back, 48 each."""
    assert play(game(sats=THREE), a="high_five b", b="high_five c", c="high_five a").sats == {
        "a": 48,
        "b": 48,
        "c": 48,
    }


def test_who_is_high_fived_by_two_returns_one() -> None:
    """A and C at B, B at A: A and B 53, C left hanging at 48."""
    round_ = play(game(sats=THREE), a="high_five b", b="high_five a", c="high_five b")
    assert round_.sats == {"a": 53, "b": 53, "c": 48}


def test_a_missed_high_five_is_an_attack_on_the_same_target() -> None:
    """A 50 + 4, B 50 - 4."""
    round_ = play(game(miss=100), a="high_five", b="do_nothing")
    assert round_.sats == {"a": 54, "b": 46}
    assert round_.events("miss", "attack") == [
        {"type": "miss", "agent": "a", "target": "b"},
        {"type": "attack", "agent": "a", "target": "b", "blocked": False},
    ]


def test_a_miss_is_drawn_for_each_unit_and_round_by_name() -> None:
    seed = seed_where(15, "miss", a=False, b=True)
    draws = play(game(seed, miss=15), a="high_five", b="high_five").resolved.draws
    assert [(d.event, d.subject, d.winner) for d in draws] == [("miss", "a", "no"), ("miss", "b", "yes")]
    alone = play(game(seed, miss=15), a="block", b="high_five").resolved.draws
    assert alone == draws[1:]


def test_a_lost_answer_is_do_nothing_but_nobody_chose_it() -> None:
    """Three lost answers cost the same as three pauses: 50 - 3 = 47."""
    rounds = play_on(game(), *[{"b": "block"}] * 3)
    assert rounds[-1].sats["a"] == 47
    lost = {"type": "do_nothing", "agent": "a", "chosen": False, "sats": 0}
    assert rounds[0].events("do_nothing") == [lost]
    assert rounds[2].events("do_nothing") == [{**lost, "sats": -3}]
    chosen = play(game(), a="do_nothing").events("do_nothing")[0]
    assert chosen == {**lost, "chosen": True}


def test_a_fumbled_do_nothing_is_marked_as_any_other_failure() -> None:
    """B's answer is lost, which is no action that could fail."""
    round_ = play(game(fumble=100), a="do_nothing")
    assert [event["agent"] for event in round_.events("fumble")] == ["a"]
    assert [event["chosen"] for event in round_.events("do_nothing")] == [False, False]
    history: list[Any] = [observe(round_.after, unit)["history"] for unit in "ab"]
    assert [seen[-1]["you"][0] for seen in history] == [
        "do_nothing (failed)",
        "do_nothing (not chosen)",
    ]


def test_sats_may_fall_below_zero_within_a_round_and_rise_again() -> None:
    """A 2 - 1 - 4 = -3, and the observer grants 5: 2."""
    round_ = play(game(sats={"a": 2, "b": 50}, observer="always"), a="beg 5 for my life", b="attack")
    assert round_.sats["a"] == 2
    assert round_.after.units_by_id["a"].alive


def test_without_the_treatment_there_is_no_shock_and_no_draw() -> None:
    assert play(game(), a="block", b="block").resolved.draws == ()


@pytest.mark.parametrize(("observer", "granted"), [("human", 2), ("never", 0), ("always", 5)])
def test_a_ruling_in_the_intent_stands_unless_the_observer_is_scripted(observer: str, granted: int) -> None:
    ruled = Intent("beg", None, 5, "bread", ruling=Ruling(5, 2, "half"))
    after = resolve(game(observer=observer), {"a": ruled}).state
    assert after.units_by_id["a"].sats == 50 - 1 + granted
