"""Things in words: their number, and what a unit of trust did."""

from collections import Counter

import pytest

from hobbes.engine.record import Event, JsonObject
from hobbes.engine.telling import all_of, counted, few, in_numbers
from hobbes.engine.trust.telling import TELLING


@pytest.mark.parametrize(
    ("n", "words"), [(0, "0 plots"), (1, "1 plot"), (2, "2 plots"), (1000, "1,000 plots")]
)
def test_a_number_has_the_right_form_of_its_noun(n: int, words: str) -> None:
    assert counted(n, "plot") == words


def test_a_noun_may_have_a_plural_of_its_own() -> None:
    assert [counted(n, "territory", "territories") for n in (1, 2)] == ["1 territory", "2 territories"]
    assert counted(2, "miss") == "2 misses"


def test_all_of_one_is_the_only_one() -> None:
    assert [all_of(n, "pair") for n in (1, 8)] == ["the only pair", "all 8 pairs"]


@pytest.mark.parametrize(
    ("type_", "facts", "words"),
    [
        ("block", {"stopped": 0}, "blocked, but no attack came"),
        ("block", {"stopped": 1}, "blocked, and stopped 1 attack"),
        ("block", {"stopped": 2}, "blocked, and stopped 2 attacks"),
        ("send", {"target": "b", "amount": 1}, "sent 1 sat to b"),
        ("shock", {"sats": -1}, "lost 1 sat in a shock"),
        ("do_nothing", {"chosen": True, "sats": -1}, "did nothing, and paid 1 sat for it"),
        (
            "beg",
            {"amount": 1, "reason": "I want it.", "granted": 0, "answer": "No."},
            "begged for 1 sat: “I want it.”; got 0: “No.”",
        ),
    ],
)
def test_units_count_attacks_and_sats(type_: str, facts: JsonObject, words: str) -> None:
    assert TELLING.deeds[type_]([Event(type_, "a", facts)]) == words


def test_readers_are_told_that_a_high_five_was_to_be_returned() -> None:
    """b misses a, who high fived b; c misses a as well, who did nothing to c."""
    tried = [Event("high_five", "a", {"target": "b", "returned": False})]
    missed = [Event("miss", unit, {"target": "a"}) for unit in ("b", "c")]
    words = "high fived b, which did not return it"
    assert [one.words for one in TELLING.deeds_told(tried, [*tried, missed[0]])] == [
        f"{words}: it meant to, and missed"
    ]
    assert [one.words for one in TELLING.deeds_told(tried, [*tried, missed[1]])] == [words]


def test_what_is_told_in_no_words_is_left_out() -> None:
    """That the turns of a game of trust ran out is no deed of a unit; that it won is told."""
    ended, won = (Event("end", "unit-a", {"result": result, "sats": 9}) for result in ("timed out", "won"))
    assert TELLING.deeds_told([ended], [ended]) == []
    assert [done.words for done in TELLING.deeds_told([won], [won])] == ["won the game"]


def test_numbers_are_told_of_what_occurred_and_of_the_first_thing_in_any_case() -> None:
    things = {"attack": "attack", "miss": "missed high five", "death": "death"}
    assert in_numbers(Counter(attack=1, death=2), things) == "1 attack, 2 deaths."
    assert in_numbers(Counter(miss=3), things) == "No attacks, 3 missed high fives."
    assert in_numbers(Counter(), things) == "No attacks."


def test_many_agents_are_told_by_their_number() -> None:
    assert [few("abc"), few("abcd")] == ["a, b and c", "4 agents"]
