"""Begging: requests, scripted observers, and rulings read from a person or a model."""

from typing import Any

import pytest

from hobbes.engine.chance import RngStream
from hobbes.engine.trust.rules import resolve
from hobbes.engine.trust.rulings import (
    STAND_INS,
    is_scripted,
    read_answer,
    requests,
    scripted_rulings,
    with_rulings,
)
from hobbes.engine.trust.state import Ruling
from hobbes.engine.trust.validation import Intent, validate
from tests.engine.trust.plays import game, play, said, seed_where

BEG = "beg 8 for an attack is coming"


def begging(*units: str, amount: int = 8) -> dict[str, Intent]:
    state = game(sats=dict.fromkeys("abc", 50))
    return {unit: validate(state, unit, said(f"beg {amount} for bread")).intent for unit in units}


def test_sparing_is_less_likely_with_every_earlier_request() -> None:
    """With a patience of 4: 4/4 at first, 4/5 = 80% after one request, 4/8 = 50% after four."""
    state = game(observer="sparing(1000000,4)")
    one = {"unit": "a", "amount": 1, "reason": "x", "sats": 50, "granted_before": 0}
    heard = {
        before: sum(
            scripted_rulings(game(seed, observer="sparing(1000000,4)"), [{**one, "begged_before": before}])
            .rulings["a"]
            .granted
            for seed in range(400)
        )
        for before in (0, 1, 4)
    }
    assert heard[0] == 400
    assert 290 <= heard[1] <= 350
    assert 170 <= heard[4] <= 230
    told = play(play(state, a=BEG).after, a=BEG).after.rulings["a"].reason
    assert told.endswith("this was your request number 2.")
    (draw,) = scripted_rulings(state, [{**one, "begged_before": 3}]).draws
    assert (draw.event, draw.subject) == ("sparing", "a")


def test_sparing_keeps_within_its_budget_for_the_whole_game() -> None:
    """A budget of 10 gives two requests of 8 first 8, then 2; nothing is left for the next turn."""
    state = game(sats=dict.fromkeys("abc", 50), observer="sparing(10,1000000)")
    round_ = play(state, a="beg 8 for x", b="beg 8 for x")
    assert {u: r.granted for u, r in round_.after.rulings.items()} == {"a": 8, "b": 2}
    assert round_.after.rulings["b"].reason == "My budget does not allow more after what a got in this round."
    assert play(round_.after, c="beg 8 for x").after.rulings["c"].granted == 0


def test_sparing_without_numbers_has_forty_sats_and_a_patience_of_four() -> None:
    assert play(game(observer="sparing"), a="beg 99 for x").after.rulings["a"].granted == 40


@pytest.mark.parametrize(
    ("line", "granted"),
    [
        ("beg 9 for I have 50 sats and fear for my life", 9),
        ("beg 9 for I have 5 sats", 4),
        ("beg 99 for I have 50 sats", 10),
        ("beg 99 for bread", 0),
        ("beg 12 for 50", 10),
    ],
)
def test_a_reading_observer_grants_half_for_a_true_reason_and_half_for_a_need(
    line: str, granted: int
) -> None:
    """The unit has 50 sats and lacks 50 to the threshold; the budget is 10."""
    after = play(game(observer="reading(10)"), a=line).after
    assert after.rulings["a"].granted == granted
    assert play(game(observer="reading"), a="beg 50 for I have 50").after.rulings["a"].granted == 40


@pytest.mark.parametrize("observer", ["human", "openai:some-model"])
def test_an_observer_that_is_not_scripted_and_did_not_answer_has_declined(observer: str) -> None:
    ruling = play(game(observer=observer), a=BEG).after.rulings["a"]
    assert ruling == Ruling(8, 0, "Nobody answered.", "an attack is coming")
    assert not is_scripted(observer)
    assert is_scripted("sparing(1,2)")


def test_a_ruling_of_a_person_grants_all_some_or_nothing_with_a_reason() -> None:
    state = game(sats=dict.fromkeys("abc", 50), observer="human")
    intents = begging("a", "b", "c")
    answer: dict[str, Any] = {
        "rulings": {
            "a": {"grant": 8, "reason": "all"},
            "b": {"grant": 3, "reason": "some"},
            "c": {"grant": 0, "reason": "no"},
        }
    }
    ruled = read_answer(requests(state, intents), answer)
    assert not ruled.drops + ruled.mends
    after = resolve(state, with_rulings(intents, ruled.rulings)).state
    assert [unit.sats for unit in after.units] == [50 - 1 + 8, 50 - 1 + 3, 50 - 1]
    assert after.rulings["b"] == Ruling(8, 3, "some", "bread")


@pytest.mark.parametrize(
    ("answer", "code", "granted"),
    [
        (None, "observer/no-ruling", 0),
        ({}, "observer/no-ruling", 0),
        ({"rulings": {"a": None}}, "observer/no-ruling", 0),
        ({"rulings": {"a": "yes"}}, "observer/bad-ruling", 0),
        ({"rulings": {"a": {"reason": "hm"}}}, "observer/bad-grant", 0),
        ({"rulings": {"a": {"grant": "3", "reason": "x"}}}, "observer/bad-grant", 0),
        ({"rulings": {"a": {"grant": 99, "reason": "x"}}}, "observer/cut-to-request", 8),
        ({"rulings": {"a": {"grant": -9, "reason": "x"}}}, "observer/cut-to-request", 0),
        ({"rulings": {"a": {"grant": 3}}}, "observer/bad-reason", 0),
        ({"rulings": {"a": {"grant": 99, "reason": " "}}}, "observer/bad-reason", 0),
        ({"rulings": {"a": {"grant": 3, "reason": 7}}}, "observer/bad-reason", 0),
        ({"rulings": {"a": {"grant": 3, "reason": "x", "why": "x"}}}, "observer/unknown-field", 3),
        ({"rulings": {"a": {"grant": 3, "reason": "x"}, "b": {"grant": 1}}}, "observer/not-asked", 3),
        ({"rulings": {"a": {"grant": 3, "reason": "x"}}, "mood": "good"}, "observer/unknown-field", 3),
        ({"rulings": {"a": {"grant": 3, "reason": "x" * 400}}}, "observer/reason/too-long", 3),
    ],
)
def test_what_is_wrong_with_a_ruling_is_bounded_and_recorded(answer: Any, code: str, granted: int) -> None:
    state = game(observer="human")
    ruled = read_answer(requests(state, begging("a")), answer)
    assert [record.code for record in ruled.drops + ruled.mends] == [code]
    assert ruled.rulings["a"].granted == granted


def test_rulings_that_are_no_object_decline_all() -> None:
    state = game(observer="human")
    ruled = read_answer(requests(state, begging("a")), {"rulings": [1]})
    assert [drop.code for drop in ruled.drops] == ["observer/not-rulings", "observer/no-ruling"]


def test_stand_ins_rule_as_their_names_say() -> None:
    """Of 9 sats half-once grants 4, and nothing to a unit that has begged before."""
    first = {"unit": "a", "amount": 9, "reason": "bread", "sats": 50, "begged_before": 0, "granted_before": 0}
    view: dict[str, Any] = {"requests": [first, {**first, "unit": "b", "begged_before": 1}]}

    def grants(name: str) -> list[int]:
        answer: Any = STAND_INS.by_name[name](view, RngStream(1, 0, "observer"))
        ruled = read_answer([first, {**first, "unit": "b"}], answer)
        assert not ruled.drops + ruled.mends
        return [ruled.rulings[unit].granted for unit in "ab"]

    assert {name: grants(name) for name in STAND_INS.by_name} == {
        "all": [9, 9],
        "none": [0, 0],
        "half-once": [4, 0],
    }
    assert STAND_INS.default == "half-once"


def test_a_request_that_fails_is_not_heard() -> None:
    seed = seed_where(10, "fumble", a=True, b=False)
    state = game(seed, fumble=10)
    assert [r["unit"] for r in requests(state, begging("a", "b"))] == ["b"]


def test_an_event_says_what_was_answered() -> None:
    (event,) = play(game(observer="always"), a=BEG).events("beg")
    assert event == {
        "type": "beg",
        "agent": "a",
        "amount": 8,
        "reason": "an attack is coming",
        "granted": 8,
        "answer": "I grant what is asked.",
    }
