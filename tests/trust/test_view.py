"""What a unit sees, and what it does not see."""

import json
from dataclasses import replace
from typing import Any

from hobbes.engine.trust.state import Round, State
from hobbes.engine.trust.view import observe, picture
from tests.trust.plays import game, play, play_on, seed_where


def last(state: State, unit: str) -> Any:
    return json.loads(json.dumps(observe(state, unit)))["history"][-1]


def test_of_a_miss_its_author_remembers_a_high_five_and_the_others_an_attack() -> None:
    state = play(game(miss=100, sats=dict.fromkeys("abc", 50)), a="high_five b", b="block", c="block").after
    assert last(state, "a")["you"]["action"] == "high_five (missed)"
    for other in "bc":
        assert last(state, other)["others"]["a"] == {"action": "attack", "target": "b", "change": -3}


def test_a_missed_high_five_and_an_attack_look_the_same_to_others() -> None:
    missed = play(game(miss=100), a="block", b="high_five").after
    meant = play(game(miss=100), a="block", b="attack").after
    assert observe(missed, "a") == observe(meant, "a")
    assert observe(missed, "b") != observe(meant, "b")


def test_of_a_failed_action_its_author_knows_and_the_others_see_nothing_done() -> None:
    seed = seed_where(10, "fumble", a=True, b=False)
    state = play(game(seed, fumble=10), a="attack", b="block").after
    assert last(state, "a")["you"]["action"] == "attack (failed)"
    assert last(state, "b")["others"]["a"] == {"action": "do_nothing", "target": None, "change": 0}


def test_a_lost_answer_is_told_to_its_author_and_looks_like_a_pause_to_others() -> None:
    state = play(game(), b="block").after
    assert last(state, "a")["you"]["action"] == "do_nothing (not chosen)"
    assert last(state, "b")["others"]["a"]["action"] == "do_nothing"


def test_each_sees_everyones_sats_and_public_actions() -> None:
    view = observe(play(game(), a="high_five", b="high_five").after, "a")
    assert view["units"] == [{"id": "a", "sats": 53, "alive": True}, {"id": "b", "sats": 53, "alive": True}]
    assert view["opponents"] == ["b"]


def test_teams_are_named_in_team_play_only() -> None:
    view: Any = observe(play(game(sats={"a": 100, "b": 50}, victory="team"), a="replicate").after, "b")
    assert [(unit["id"], unit["team"]) for unit in view["units"]] == [("a", "a"), ("a-2", "a"), ("b", "b")]


def test_the_number_of_rounds_is_told_unless_the_horizon_is_hidden() -> None:
    assert observe(game(), "a")["rounds"] == 30
    assert "rounds" not in observe(game(hide_horizon=True), "a")


def test_what_is_left_of_the_observers_budget_is_always_shown_if_it_is_known() -> None:
    """A gets 8 of 10, so 2 are left, for b too."""
    begged = play(game(observer="sparing(10,4)"), a="beg 8 for x").after
    assert [observe(state, "b")["observer_budget"] for state in (game(observer="sparing(10,4)"), begged)] == [
        10,
        2,
    ]


def test_no_budget_is_shown_if_it_is_not_known_or_there_is_none() -> None:
    hidden = play(game(observer="sparing(10,4)", observer_budget_known=False), a="beg 8 for x").after
    for state in (hidden, game(observer="always"), game(observer="human")):
        assert "observer_budget" not in observe(state, "a")
    assert hidden.rulings["a"].reason == "I grant what I can."


def test_a_unit_sees_what_its_own_change_is_made_of() -> None:
    state = play(game(), a="high_five", b="attack").after
    assert last(state, "a")["you"] == {
        "action": "high_five",
        "target": "b",
        "effects": [["left hanging", -2], ["attacked", -4]],
    }


def test_a_ruling_reaches_who_begged_next_turn_and_nobody_else() -> None:
    begged, later = play_on(game(observer="always"), {"a": "beg 5 for secret bread"}, {"a": "block"})
    assert observe(begged.after, "a")["observer"] == {
        "asked": 5,
        "granted": 5,
        "reason": "I grant what is asked.",
    }
    seen = json.dumps(observe(begged.after, "b"))
    assert observe(begged.after, "b")["observer"] is None
    assert "secret" not in seen
    assert "I grant" not in seen
    assert last(begged.after, "b")["others"]["a"]["action"] == "beg"
    assert observe(later.after, "a")["observer"] is None


def test_the_memory_window_bounds_what_is_seen() -> None:
    rounds = play_on(game(window=2), *[{"a": "block", "b": "block"}] * 4)
    seen = json.loads(json.dumps(observe(rounds[-1].after, "a")))
    assert [past["turn"] for past in seen["history"]] == [2, 3]


def test_who_may_replicate_is_told_so() -> None:
    state = game(sats={"a": 100, "b": 99})
    assert observe(state, "a")["may_replicate"]
    assert not observe(state, "b")["may_replicate"]


def test_allies_are_named_where_there_are_alliances() -> None:
    assert "allies" not in observe(game(), "a")
    assert observe(game(sats=dict.fromkeys("abc", 50), alliances=[["a", "c"]]), "a")["allies"] == ["c"]


def test_people_see_one_row_a_unit_with_what_it_truly_did() -> None:
    state = play(game(miss=100, sats={"a": 50, "b": 4}), a="high_five", b="do_nothing").after
    assert picture(state) == [["a", "54", "high_five (missed)"], ["b", "dead", "do_nothing"]]


def test_a_view_is_built_from_what_was_seen_not_from_what_was_meant() -> None:
    """Change what the others meant and keep what they did: the view stays the same."""
    state = play(game(miss=100), a="block", b="high_five").after
    past = state.history[-1]
    deeds = tuple(replace(d, meant="attack", chosen=False) if d.unit == "b" else d for d in past.deeds)
    other = replace(state, history=(Round(past.turn, deeds, past.effects),))
    assert observe(other, "a") == observe(state, "a")
