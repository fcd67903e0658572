"""What units say to one another: messages, requests that others read, alliances that they declare."""

from typing import Any

import pytest

from hobbes.engine.trust.rules import result
from hobbes.engine.trust.state import Pact, State
from hobbes.engine.trust.validation import validate
from hobbes.engine.trust.view import observe
from hobbes.engine.trust.world import TRUST
from tests.engine.trust.plays import Round, game, play, play_on

FOUR = dict.fromkeys("abcd", 50)


def says(action: str = "block", **fields: Any) -> dict[str, Any]:
    return {"action": action, **fields}


def seen(state: State, key: str) -> dict[str, Any]:
    return {unit: observe(state, unit)[key] for unit in state.units_by_id}


def test_messages_are_read_in_the_next_round_by_all_or_by_those_addressed_alone() -> None:
    lines = {"a": says(messages={"all": "Peace?", "b": "Beware of c."})}
    peace = {"from": "a", "to": "all", "text": "Peace?"}
    beware = {"from": "a", "to": "b", "text": "Beware of c."}
    sats = dict.fromkeys("abc", 50)
    public, private = (play(game(sats=sats, messages=who), **lines) for who in ("all", "private"))
    assert seen(public.after, "messages") == {"a": [], "b": [peace, beware], "c": [peace, beware]}
    assert seen(private.after, "messages") == {"a": [], "b": [peace, beware], "c": [peace]}
    assert private.events("message") == [
        {"type": "message", "agent": "a", "text": "Peace?"},
        {"type": "message", "agent": "a", "to": "b", "text": "Beware of c."},
    ]
    assert seen(play(public.after).after, "messages")["b"] == []
    assert "messages" not in observe(game(), "a")


@pytest.mark.parametrize(
    ("said", "codes", "kept"),
    [
        ("Peace?", ["trust/message/not-messages"], {}),
        ({"a": "I?", "z": "Who?", "c": "Rest in peace."}, ["trust/message/bad-unit"] * 3, {}),
        ({"all": 7}, ["trust/message/not-text"], {}),
        ({"b": "x" * 12}, ["trust/message/too-long"], {"b": "x" * 9}),
        ({"b": "", "all": " \n"}, ["trust/message/empty"] * 2, {}),
        ({"b": "\u202e"}, ["trust/message/empty", "trust/message/unsafe-characters"], {}),
        ("", [], {}),
        ({"b": "pe\u202eace"}, ["trust/message/unsafe-characters"], {"b": "peace"}),
    ],
)
def test_what_is_wrong_with_a_message_is_recorded_and_the_action_stands(
    said: Any, codes: list[str], kept: dict[str, str]
) -> None:
    state = game(sats={"a": 50, "b": 50, "c": 0}, messages="private", message_limit=9)
    found = validate(state, "a", says(messages=said))
    assert [d.code for d in found.drops] + [m.code for m in found.mends] == codes
    assert (found.intent.action, found.intent.messages) == ("block", kept)


def test_where_messages_are_off_words_are_dropped_and_said_with_a_refused_action_they_count() -> None:
    assert [d.code for d in validate(game(), "a", says(messages={"b": "Hi"})).drops] == [
        "trust/unknown-field"
    ]
    refused = validate(game(messages="all"), "a", says("steal", messages={"b": "Hi"})).intent
    assert (refused.chosen, refused.messages) == (False, {"b": "Hi"})


# --- alliances --------------------------------------------------------------------------------------------


def declared(*rounds: dict[str, Any], **config: Any) -> list[Round]:
    return play_on(game(sats=FOUR, alliances="declared", **config), *rounds)


PROPOSE = {"a": says(alliances={"b": "propose"})}
ACCEPT = {"b": says(alliances={"a": "accept"})}
LEAVE = {"a": says("attack", target="b", alliances={"b": "leave"}), "b": says()}
ATTACK = {"a": says("attack", target="b"), "b": says("high_five", target="a")}


def test_an_alliance_is_proposed_accepted_and_left_and_leaving_takes_effect_one_round_later() -> None:
    proposed, accepted, left, attacked = declared(PROPOSE, ACCEPT, LEAVE, ATTACK)
    assert seen(proposed.after, "alliances")["c"] == {"allied": [], "proposed": [["a", "b"]], "left": []}
    assert accepted.after.pacts == (Pact("a", "b", since=1),)
    assert seen(accepted.after, "allies") == {"a": ["b"], "b": ["a"], "c": [], "d": []}
    assert left.codes == ["trust/ally"]  # the attack in the same answer
    assert seen(left.after, "alliances")["d"] == {"allied": [], "proposed": [], "left": [["a", "b"]]}
    assert (attacked.codes, attacked.sats["a"] > left.sats["a"]) == ([], True)
    told = [
        event for round_ in (proposed, accepted, left) for event in round_.events("propose", "ally", "leave")
    ]
    assert [(e["type"], e["agent"], e["target"]) for e in told] == [
        ("propose", "a", "b"),
        ("ally", "b", "a"),
        ("leave", "a", "b"),
    ]


def test_two_proposals_in_one_round_are_an_alliance_and_death_ends_it() -> None:
    both = play(
        game(sats={"a": 50, "b": 4, "c": 50}, alliances="declared"),
        **PROPOSE,
        b=says(alliances={"a": "propose"}),
    )
    assert [(p.one, p.other) for p in both.after.pacts] == [("a", "b")]
    assert play(both.after, c="attack b").after.pacts == ()


@pytest.mark.parametrize(
    ("said", "codes"),
    [
        ("marry me", ["trust/alliance/not-words"]),
        ({"b": "marry", "c": 7}, ["trust/alliance/bad-word"] * 2),
        ({"a": "propose", "z": "propose"}, ["trust/alliance/bad-unit"] * 2),
        (
            {"b": "propose", "c": "accept", "d": "leave"},
            ["trust/alliance/allied", "trust/alliance/not-proposed", "trust/alliance/not-allied"],
        ),
    ],
)
def test_a_word_on_an_alliance_that_is_not_allowed_is_dropped_and_the_action_stands(
    said: Any, codes: list[str]
) -> None:
    state = declared(PROPOSE, ACCEPT)[-1].after
    found = validate(state, "a", says(alliances=said))
    assert [drop.code for drop in found.drops] == codes
    assert (found.intent.action, found.intent.alliances) == ("block", {})


def test_others_see_alliances_unless_they_are_hidden() -> None:
    for config in ({"alliances": [["a", "b"]]}, {"alliances": "declared"}):
        known, hidden = (
            play_on(game(sats=FOUR, alliances_known=known, **config), PROPOSE, ACCEPT)[-1].after
            for known in (True, False)
        )
        assert [seen(known, "alliances")[unit]["allied"] for unit in "abc"] == [[["a", "b"]]] * 3
        assert [seen(hidden, "alliances")[unit]["allied"] for unit in "abc"] == [[["a", "b"]]] * 2 + [[]]


@pytest.mark.parametrize("other", ["won", "lost"])
def test_allies_win_together_by_a_setting(other: str) -> None:
    together = other == "won"
    config: dict[str, Any] = {"alliances": [["a", "b"]], "allies_win": together, "alliance_age": 0}
    race = play(game(sats={"a": 100, "b": 50, "c": 50}, **config), a="replicate").after
    assert [result(race, unit) for unit in "abc"] == ["won", other, "lost"]
    assert observe(race, "c")["ended"] == {"a": "won", "b": other, "c": "lost"}
    teams = play(game(sats={"a": 50, "b": 40, "c": 1}, victory="team", **config), a="attack c").after
    assert TRUST.over(teams) == together


TOGETHER: dict[str, Any] = {"victory": "team", "allies_win": True}

OFFER = {"a": says(alliances={"b": "propose"}), "b": says(alliances={"a": "propose"})}
"""Two propose to each other, so they are allied at the end of the round."""


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("age", [0, 3])
def test_allied_teams_win_together_once_their_alliance_is_old_enough(age: int, *, declared: bool) -> None:
    """Declared in round 0 or listed, with nobody else left: the game ends after round `age`."""
    listed: Any = "declared" if declared else [["a", "b"]]
    state = game(alliances=listed, alliance_age=age, **TOGETHER)
    rounds = play_on(state, OFFER if declared else {}, *[{"a": "block", "b": "block"}] * age)
    assert [TRUST.over(round_.after) for round_ in rounds] == [False] * age + [True]
    assert [result(rounds[-1].after, unit) for unit in "ab"] == ["won", "won"]


def test_one_new_alliance_among_the_teams_left_keeps_them_from_winning() -> None:
    """A and b have been allied since round 0, and c with both since round 2."""
    three = game(sats=dict.fromkeys("abc", 50), alliances="declared", **TOGETHER)
    all_three = {unit: says(alliances=dict.fromkeys("abc".replace(unit, ""), "propose")) for unit in "abc"}
    wait = dict.fromkeys("abc", "block")
    rounds = play_on(three, OFFER, wait, {**all_three, "a": says(alliances={"c": "propose"})}, *[wait] * 3)
    assert len(rounds[2].after.pacts) == 3
    assert [TRUST.over(round_.after) for round_ in rounds] == [False] * 5 + [True]


@pytest.mark.parametrize(
    ("pairs", "results"),
    [
        ([["a", "b"]], {"a": "won", "b": "won", "c": "lost", "d": "lost"}),
        ([["b", "c"]], {"a": "drawn", "b": "drawn", "c": "drawn", "d": "drawn"}),
        ([["a", "b"], ["b", "c"]], {"a": "won", "b": "won", "c": "won", "d": "lost"}),
    ],
)
def test_allies_with_equal_sats_share_the_win_and_bring_their_own_allies(
    pairs: list[list[str]], results: dict[str, str]
) -> None:
    """A and b have the most sats in the last round; c is an ally of b alone."""
    state = game(turn=29, sats={"a": 60, "b": 60, "c": 50, "d": 40}, alliances=pairs, **TOGETHER)
    ended = play(state, **dict.fromkeys("abcd", "block")).after
    assert {unit: result(ended, unit) for unit in "abcd"} == results
    assert TRUST.measures.winners(ended) == {unit for unit, how in results.items() if how == "won"}  # type: ignore[misc]


def test_allies_who_replicate_in_one_round_with_equal_sats_share_the_race() -> None:
    rich = {"a": 100, "b": 100, "c": 50}
    for age, ends in ((3, ["won", "won", "lost"]), (4, ["drawn", "drawn", "drawn"])):
        state = game(turn=3, sats=rich, alliances=[["a", "b"]], allies_win=True, alliance_age=age)
        race = play(state, a="replicate", b="replicate").after
        assert [result(race, unit) for unit in "abc"] == ends


def test_an_alliance_with_an_agent_that_dies_in_its_round_never_begins() -> None:
    state = game(sats={"a": 50, "b": 4, "c": 50}, alliances="declared")
    both = play(state, **{**OFFER, "b": says("do_nothing", alliances={"a": "propose"})}, c="attack b")
    assert both.after.pacts == ()
    assert [event["type"] for event in both.events("propose", "ally")] == ["propose", "propose"]


@pytest.mark.parametrize(
    ("said", "kept", "codes"),
    [
        (
            {"b": "Propose", "c": "PRO-POSE"},
            {"b": "propose", "c": "propose"},
            ["trust/alliance/spelling"] * 2,
        ),
        ({"b": None, "c": ""}, {}, []),
        ("", {}, []),
        (None, {}, []),
    ],
)
def test_words_on_alliances_are_taken_in_any_spelling_and_what_was_not_given_is_ignored(
    said: Any, kept: dict[str, str], codes: list[str]
) -> None:
    found = validate(game(sats=FOUR, alliances="declared"), "a", says(alliances=said))
    assert (found.intent.alliances, [mend.code for mend in found.mends], found.drops) == (kept, codes, ())


def test_a_person_may_accept_what_another_unit_of_the_same_team_was_offered() -> None:
    """A proposes to B, and B has a clone: each unit of B may accept, whichever unit of A it names."""
    settings: Any = {"victory": "team", "alliances": "declared"}
    state = play(game(sats={"a": 150, "b": 150}, **settings), a="replicate", b="replicate").after
    offered = play(state, a=says(alliances={"b": "propose"})).after
    clone = next(unit.id for unit in offered.units if unit.team == "b" and unit.id != "b")
    accepting = says(alliances=dict.fromkeys(offered.opponents(clone), "accept"))
    assert validate(offered, clone, accepting).drops == ()
