"""From an answer to an intent: an action that is not allowed becomes do_nothing, and a drop says why."""

from typing import Any

import pytest

from hobbes.engine.trust.actions import KINDS
from hobbes.engine.trust.validation import NO_DECISION, validate
from hobbes.engine.trust.world import TRUST
from hobbes.engine.world import make_setting
from tests.engine.trust.plays import game, play, said

THREE = {"a": 50, "b": 50, "c": 0, "d": 50}


@pytest.mark.parametrize("said", ["High Five", "high-five", "HIGH_FIVE", " highFive! "])
def test_other_spellings_of_an_action_are_taken_with_a_correction(said: str) -> None:
    found = validate(game(), "a", {"action": said})
    assert (found.intent.action, found.intent.target, found.drops) == ("high_five", "b", ())
    assert [(m.code, m.said, m.kept) for m in found.mends] == [
        ("trust/action/spelling", {"action": said}, {"action": "high_five"})
    ]
    assert not validate(game(), "a", {"action": "high_five"}).mends


def test_where_nobody_can_replicate_neither_schema_nor_view_offers_it() -> None:
    assert "replicate" not in str(schema_of("ab", replication=False))
    state = game(sats={"a": 500, "b": 50}, replication=False)
    assert [d.code for d in validate(state, "a", {"action": "replicate"}).drops] == ["trust/no-replication"]
    assert TRUST.observe(state, "a")["rules"] == {"high_five": 3}
    assert "may_replicate" not in TRUST.observe(state, "a")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({}, "trust/no-action"),
        ({"action": "steal"}, "trust/no-action"),
        ({"action": ["attack"]}, "trust/no-action"),
        ({"action": "high_five"}, "trust/no-target"),
        ({"action": "attack", "target": 7}, "trust/bad-target"),
        ({"action": "attack", "target": "x"}, "trust/unknown-target"),
        ({"action": "attack", "target": "a"}, "trust/self-target"),
        ({"action": "attack", "target": "c"}, "trust/dead-target"),
        ({"action": "attack", "target": "d"}, "trust/ally"),
        ({"action": "send", "target": "b", "amount": 5}, "trust/not-an-ally"),
        ({"action": "send", "target": "d", "amount": 51}, "trust/not-enough-sats"),
        ({"action": "send", "target": "d"}, "trust/bad-amount"),
        ({"action": "beg", "reason": "hunger"}, "trust/bad-amount"),
        ({"action": "beg", "amount": 0, "reason": "hunger"}, "trust/bad-amount"),
        ({"action": "beg", "amount": "5", "reason": "hunger"}, "trust/bad-amount"),
        ({"action": "beg", "amount": 10**7, "reason": "hunger"}, "trust/bad-amount"),
        ({"action": "beg", "amount": 5}, "trust/no-reason"),
        ({"action": "beg", "amount": 5, "reason": "  "}, "trust/no-reason"),
        ({"action": "replicate"}, "trust/below-threshold"),
    ],
)
def test_what_is_not_allowed_becomes_do_nothing_as_a_drop_with_its_reason(
    answer: dict[str, Any], code: str
) -> None:
    state = game(sats=THREE, alliances=[["a", "d"]])
    found = validate(state, "a", answer)
    assert [drop.code for drop in found.drops] == [code]
    assert found.intent == NO_DECISION
    assert not found.intent.chosen


def test_a_pause_that_was_chosen_is_no_lost_answer() -> None:
    assert validate(game(), "a", {"action": "do_nothing"}).intent.chosen
    assert validate(game(), "a", None).intent == NO_DECISION


def test_what_an_action_does_not_need_is_dropped_and_the_action_stands() -> None:
    found = validate(game(), "a", {"action": "block", "target": "b", "amount": 3, "reason": "fear"})
    assert found.intent.action == "block"
    assert [drop.said for drop in found.drops] == [{"target": "b"}, {"amount": 3}, {"reason": "fear"}]
    empty = {"action": "block", "target": None, "amount": 0, "reason": ""}
    assert not validate(game(), "a", empty).drops


def test_a_long_reason_is_cut_and_mended() -> None:
    found = validate(game(), "a", {"action": "beg", "amount": 5.0, "reason": "x" * 400})
    assert len(found.intent.reason) == 300
    assert [mend.code for mend in found.mends] == ["trust/reason/too-long"]
    assert found.intent.amount == 5


def test_the_reflection_stands_beside_the_action_even_of_a_refused_one() -> None:
    said: dict[str, Any] = {"action": "steal", "notes": "b is kind", "aggressor_report": {"b": 2}}
    reflection = validate(game(sats=dict.fromkeys("abc", 50)), "a", said).intent.reflection
    assert reflection.notes == "b is kind"
    assert reflection.aggressor_report == {"b": 2}


def test_new_units_of_a_team_may_be_rated_too() -> None:
    state = play(game(sats={"a": 100, "b": 50}, victory="team"), a="replicate").after
    found = validate(state, "b", {"action": "attack", "target": "a-2", "aggressor_report": {"a-2": 9}})
    assert found.intent.reflection.aggressor_report == {"a-2": 9}
    assert not found.drops


def schema_of(agents: str, **config: Any) -> Any:
    return TRUST.action(make_setting(TRUST, list(agents), 1, config)).model_json_schema()


def test_the_schema_names_every_field_and_action() -> None:
    properties = schema_of("abc", alliances=[["a", "b"]])["properties"]
    assert properties["action"]["enum"] == [*KINDS]
    assert {"target", "amount", "reason", "keeps_word_report", "aggressor_report"} <= {*properties}
    assert next(iter(properties)) == "reasoning"
    all_on = schema_of("abc", messages="all", alliances="declared")["properties"]
    assert {*all_on} - {*properties} == {"messages", "alliances"}


def test_a_schema_has_neither_send_nor_words_where_nobody_can_use_them() -> None:
    schema = schema_of("abc")
    assert schema["properties"]["action"]["enum"] == [kind for kind in KINDS if kind != "send"]
    assert not [word for word in ("send", "message", "allia") if word in str(schema)]
    assert "send" in str(schema_of("abc", gifts="all"))
    (drop,) = validate(game(), "a", {"action": "steal"}).drops
    assert "send" not in drop.detail
    assert [d.code for d in validate(game(), "a", said("send 5 to b")).drops] == ["trust/not-an-ally"]
