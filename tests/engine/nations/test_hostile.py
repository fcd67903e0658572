"""Hostile or broken answers do no harm: they are rejected or bounded, with a code."""

from typing import Any

import pytest

from hobbes.engine.nations.validation import IDLE, MAX_NUMBER
from hobbes.engine.nations.world import NATIONS
from hobbes.engine.record import EXCERPT, canonical
from tests.engine.nations.stage import A, B, C, board, digest, one, turn

HUGE = 10**400
NESTED: Any = {}
for _ in range(100_000):
    NESTED = {"attacks": NESTED}
LIST: Any = []
for _ in range(100_000):
    LIST = [LIST]


@pytest.mark.parametrize("field", ["purchase_mils", "disband_mils"])
@pytest.mark.parametrize("number", [HUGE, 10**5000, 1e300], ids=["10^400", "10^5000", "1e300"])
def test_a_huge_number_is_cut_to_what_can_be_on_a_board(field: str, number: float) -> None:
    intent, codes = one(board(), A, {field: number})
    assert getattr(intent, field) == MAX_NUMBER
    assert codes == ["nations/too-large"]


def test_huge_attacks_and_grants_take_all_there_is_and_no_more() -> None:
    answer = {"attacks": {B: HUGE, C: HUGE}, "money_grants": {B: HUGE}, "purchase_mils": HUGE}
    played = turn(board(army=10), {A: answer})
    assert played.ledgers["attacks"][A] == {B: 5, C: 5}
    assert played.ledgers["mils_purchased"][A] == 1
    assert played.ledgers["grants_paid"][A] == {B: 10}
    assert "nations/too-large" in played.codes


@pytest.mark.parametrize("field", [*NATIONS.action(board().setting).model_fields, "undeclared"])
@pytest.mark.parametrize("nested", [NESTED, LIST], ids=["objects", "lists"])
def test_deep_nesting_is_dropped(field: str, nested: object) -> None:
    played = turn(board(), {A: {field: nested}})
    assert played.intents[A] == IDLE
    assert len(played.drops) >= 1
    assert len(digest([played])) == 64


def test_a_megabyte_anywhere_leaves_a_small_record() -> None:
    long = "x" * 2**20
    answer = {
        "attacks": {long: 1},
        "cede_territories": {B: [long]},
        "messages": {B: long, long: "Hello."},
        "keeps_word_report": {long: 5},
        "money_grants": long,
        long: 1,
    }
    played = turn(board(), {A: answer})
    assert len(played.drops) == 6
    assert len(played.mends) == 1
    for entry in (*played.drops, *played.mends):
        assert len(canonical(entry.to_json())) < 5 * EXCERPT
    assert played.after.messages == ((A, B, "x" * 1000),)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("\u202eesrever\u202c", "esrever"),
        ("bell\x07 and c1 \x9b", "bell and c1 "),
    ],
)
def test_control_and_bidirectional_characters_are_taken_out_of_messages(said: str, kept: str) -> None:
    played = turn(board(), {A: {"messages": {B: said}}})
    assert played.after.messages == ((A, B, kept),)
    assert played.codes == ["nations/message/unsafe-characters"]
    assert canonical([mend.to_json() for mend in played.mends]).isascii()


@pytest.mark.parametrize("key", ["lone\ud800surrogate", "\x00", "\u202e", "", "__class__"])
def test_names_that_are_none_are_dropped_and_can_be_written_down(key: str) -> None:
    answer = {"attacks": {key: 1}, "cede_territories": {B: [key]}, "keeps_word_report": {key: 1}, key: 1}
    played = turn(board(), {A: answer})
    assert played.intents[A].attacks == {}
    assert len(played.drops) == 4
    assert len(digest([played])) == 64
