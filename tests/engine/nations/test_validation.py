"""Phase 0: what is kept, rejected and corrected of an answer."""

from typing import Any

import pytest

from hobbes.engine.nations.resolution import resolve
from hobbes.engine.nations.validation import IDLE, action_of, validate
from hobbes.engine.nations.world import NATIONS
from hobbes.engine.turn import view_of
from tests.engine.nations.stage import A, B, C, board, one, setting, turn
from tests.turns import play


def test_an_answer_that_is_no_object_is_an_empty_one() -> None:
    found = validate(board(), A, None)
    assert (found.intent, found.drops, found.mends) == (IDLE, (), ())


def test_an_empty_answer_has_every_default() -> None:
    intent, codes = one(board(), A, {})
    assert intent == IDLE
    assert codes == []


def test_all_eleven_fields_reach_a_ledger() -> None:
    answer = {
        "purchase_mils": 1,
        "attacks": {B: 2},
        "cede_territories": {C: ["T3"]},
        "money_grants": {C: 4},
        "messages": {B: "Hello."},
        "summary_last_turn": "Last.",
        "history_summary": "All.",
        "reasoning": "Because.",
        "disband_mils": 3,
        "keeps_word_report": {B: 5},
        "aggressor_report": {B: 6},
    }
    played = turn(board(), {A: answer})
    assert played.codes == []
    ledgers = played.ledgers
    hers = {name: ledger[A] for name, ledger in ledgers.items() if isinstance(ledger, dict) and A in ledger}
    assert hers["mil_purchase_intent"] == 1
    assert hers["global_attacks"] == {B: 2}
    assert hers["territory_cession"] == {C: ("T3",)}
    assert hers["money_grants"] == {C: 4}
    assert hers["messages_sent"] == {B: "Hello."}
    assert hers["turn_summary"] == "Last."
    assert hers["history_summary"] == "All."
    assert hers["reasoning"] == "Because."
    assert hers["mil_disband_intent"] == 3
    assert hers["keeps_word_report"] == {B: 5}
    assert hers["aggressor_report"] == {B: 6}


@pytest.mark.parametrize(
    "answer",
    [
        {"attacks": {B: "2", C: 3}},
        {"purchase_mils": 2.7},
        {"purchase_mils": True},
        {"money_grants": {B: -5, C: 3}},
        {"messages": {B: "Peace.", C: 4}},
        {"cede_territories": {B: ["T1", 2]}},
    ],
    ids=str,
)
def test_what_the_listing_of_the_seed_repairs_is_lost_and_the_agent_is_told(answer: dict[str, Any]) -> None:
    assert one(board(), A, answer)[0] == IDLE
    played = play(NATIONS, board(), {A: answer})
    assert view_of(NATIONS, played.resolved.state, played.memories, A)["feedback"] == [
        {
            "code": "nations/bad-shape",
            "rejected": answer,
            "why": "the field does not match its shape, and has its default",
        }
    ]


@pytest.mark.parametrize("empty", [None, "", [], {}], ids=str)
def test_an_empty_value_is_a_field_that_is_left_out(empty: Any) -> None:
    fields = action_of(setting(3, resources=True)).model_fields
    assert one(board(resources=True), A, dict.fromkeys(fields, empty)) == (IDLE, [])
    assert one(board(), A, {"summary": empty}) == (IDLE, [])
    assert one(board(), A, {"cede_territories": {B: []}, "attacks": {B: 0}})[1] == []


def test_integral_floats_are_integers() -> None:
    intent, codes = one(board(), A, {"purchase_mils": 5.0, "attacks": {B: 2.0}, "aggressor_report": {B: 7.0}})
    assert codes == []
    assert (intent.purchase_mils, intent.attacks) == (5, {B: 2})
    assert intent.reflection.aggressor_report == {B: 7}
    assert type(intent.purchase_mils) is int


@pytest.mark.parametrize(
    ("field", "value"),
    [("attacks", 1), ("cede_territories", ["T1"]), ("money_grants", 1), ("messages", "Hello.")],
)
def test_an_entry_for_an_unknown_agent_is_dropped_alone(field: str, value: Any) -> None:
    intent, codes = one(board(), A, {field: {"AgentZ": value, B: value}})
    assert codes == ["nations/unknown-agent"]
    assert list(dict(getattr(intent, field))) == [B]


@pytest.mark.parametrize(
    ("field", "value"), [("attacks", 1), ("cede_territories", ["T1"]), ("money_grants", 1)]
)
def test_an_entry_for_oneself_is_dropped_alone(field: str, value: Any) -> None:
    intent, codes = one(board(), A, {field: {A: value, B: value}})
    assert codes == ["nations/self-target"]
    assert list(dict(getattr(intent, field))) == [B]


def test_a_message_to_oneself_is_allowed() -> None:
    intent, codes = one(board(), A, {"messages": {A: "Note to self."}})
    assert (intent.messages, codes) == ({A: "Note to self."}, [])


def test_only_messages_may_be_for_all() -> None:
    assert one(board(), A, {"attacks": {"all": 1}})[1] == ["nations/unknown-agent"]


def test_a_territory_that_it_does_not_own_is_dropped_alone() -> None:
    intent, codes = one(board(), A, {"cede_territories": {B: ["T1", "T6", "T99"]}})
    assert intent.cede_territories == {B: ("T1",)}
    assert codes == ["nations/not-yours", "nations/not-yours"]


def test_a_territory_ceded_to_two_is_ceded_to_the_first() -> None:
    intent, codes = one(board(), A, {"cede_territories": {C: ["T1"], B: ["T1", "T2", "T2"]}})
    assert intent.cede_territories == {C: ("T1",), B: ("T2",)}
    assert codes == ["nations/already-ceded", "nations/already-ceded"]


def test_undeclared_fields_are_dropped() -> None:
    found = validate(board(), A, {"purchase_mils": 1, "memory": "mine", "strategy": 3})
    assert found.intent.purchase_mils == 1
    assert [(d.code, d.said) for d in found.drops] == [
        ("nations/unknown-field", {"memory": "mine"}),
        ("nations/unknown-field", {"strategy": 3}),
    ]


def test_resource_grants_are_undeclared_where_there_are_no_resources() -> None:
    assert one(board(), A, {"resource_grants": {B: {"food": 1}}})[1] == ["nations/unknown-field"]


def test_summary_is_an_alias_of_summary_last_turn_with_a_mend() -> None:
    found = validate(board(), A, {"summary": "Peace."})
    assert found.intent.reflection.summary_last_turn == "Peace."
    (mend,) = found.mends
    assert (mend.code, mend.said, mend.kept) == (
        "nations/alias",
        {"summary": "Peace."},
        {"summary_last_turn": "Peace."},
    )


def test_where_both_names_are_given_the_field_stands_and_the_alias_is_dropped() -> None:
    intent, codes = one(board(), A, {"summary": "War.", "summary_last_turn": "Peace."})
    assert intent.reflection.summary_last_turn == "Peace."
    assert codes == ["nations/unknown-field"]


def test_an_order_of_nothing_is_intended_and_is_no_entry_of_a_ledger() -> None:
    played = turn(board(), {A: {"attacks": {B: 0}, "money_grants": {B: 0}, "cede_territories": {B: []}}})
    assert played.codes == []
    assert played.intents[A].attacks == {B: 0}
    assert played.ledgers["global_attacks"][A] == {}
    assert played.ledgers["money_grants"][A] == {}
    assert played.ledgers["territory_cession"][A] == {}


def test_an_agent_that_is_not_in_the_game_is_ignored() -> None:
    state = board()
    stranger = validate(state, A, {"purchase_mils": 1}).intent
    played = turn(state, {})
    assert turn(state, {"AgentZ": {"purchase_mils": 1}}).ledgers == played.ledgers

    assert resolve(state, {"AgentZ": stranger}).ledgers == played.ledgers
