"""Reading finds the JSON object in an answer, step by step, and never guesses from prose."""

import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hobbes.engine.answer import DECISIONS, Outcome, ParsedAnswer
from hobbes.engine.record import canonical
from hobbes.nodes.journal import Reply
from hobbes.nodes.reading import MAX_LENGTH, read

CLAIM = {"claim": [[0, 0]]}
TEXT = json.dumps(CLAIM)


FIELDS = {"claim", "raid", "mine", "reasoning", "ratings"}


def reading(text: str) -> ParsedAnswer:
    return read("A", Reply(text, "model"), FIELDS)


@pytest.mark.parametrize(
    ("text", "outcome", "found_as"),
    [
        (TEXT, "answered", "json"),
        (f"  {TEXT}\n", "answered", "json"),
        (f"<think>Shall I raid {{them}}? No.</think>{TEXT}", "answered", "after-think"),
        (f"<thought>**Plan**: {{}}</thought>\n{TEXT}", "answered", "after-think"),
        (f"```json\n{TEXT}\n```", "answered", "embedded"),
        (f"I will do this: {TEXT} Good rng!", "answered", "embedded"),
        (f"{TEXT} and that is all", "answered", "embedded"),
        (TEXT[:-1], "repaired", "repaired"),
        ("{'claim': [[0, 0]]}", "repaired", "repaired"),
        ("{“claim”: [[0, 0]]}", "repaired", "repaired"),
        ('{"claim": [[0, 0],]}', "repaired", "repaired"),
    ],
)
def test_an_object_is_read_however_it_is_wrapped(text: str, outcome: str, found_as: str) -> None:
    found = reading(text)
    assert (found.outcome, found.found_as) == (outcome, found_as)
    assert found.said == CLAIM


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "I claim plot 0, 0 and wish everybody well.",
        "[1, 2]",
        f"[{TEXT}]",
        "null",
        "7",
        '"claim"',
        '{"a":' * 100_000,
        "[" * 100_000,
        '{"a":' * 40 + "1" + "}" * 40,
        '{"a":' * 3_000 + '{"claim": [[0, 0]]}',
        "x" * (MAX_LENGTH + 1),
        "{" * MAX_LENGTH,
        '{" ' * (MAX_LENGTH // 3),
        "{} " * (MAX_LENGTH // 3),
    ],
    ids=lambda text: text[:20] or "empty",
)
def test_a_text_without_an_object_is_unreadable_and_a_drop(text: str) -> None:
    found = reading(text)
    assert (found.outcome, found.said) == ("unreadable", None)
    assert [drop.code for drop in found.drops] == ["read/unreadable"]
    assert found.outcome not in DECISIONS


def test_nesting_of_any_depth_has_an_outcome() -> None:
    for depth in range(sys.getrecursionlimit() + 100):
        nested = '{"a":' * depth + "1" + "}" * depth
        assert {reading(nested).outcome, reading(f"So: {nested}").outcome} <= {"answered", "unreadable"}


def test_of_several_objects_the_last_is_the_answer_and_the_others_are_drops() -> None:
    found = reading('First I thought {"claim": [[1, 1]]}, but no: {"claim": [[0, 0]]}')
    assert found.said == CLAIM
    assert [(drop.code, drop.said) for drop in found.drops] == [("read/other-object", '{"claim": [[1, 1]]}')]


def test_of_several_objects_the_one_with_the_most_fields_of_an_answer_counts() -> None:
    """One brace too many ends the answer early; the last object is then a table of ratings."""
    deeds, ratings = '{"claim": [[0, 0]], "mine": []}', '{"B": 9, "claim": 10}'
    found = reading(deeds + f', "reasoning": "We talk.", "ratings": {ratings}}}')
    assert (found.outcome, found.found_as) == ("answered", "embedded")
    assert found.said == {"claim": [[0, 0]], "mine": []}
    assert [(drop.code, drop.said) for drop in found.drops] == [("read/other-object", ratings)]
    assert [(mend.code, mend.said, mend.kept) for mend in found.mends] == [
        ("read/most-fields", ratings, deeds)
    ]


def test_a_part_of_a_broken_object_is_never_the_answer() -> None:
    found = reading('{"plan": [{"claim": [0, 0]}, {"mine": ')
    assert found.found_as == "repaired"
    assert found.said is not None
    assert found.said["plan"][0] == {"claim": [0, 0]}


def test_of_a_duplicate_key_the_first_value_counts() -> None:
    found = reading('{"claim": [[0, 0]], "mine": [], "claim": [[5, 5]]}')
    assert found.said == {"claim": [[0, 0]], "mine": []}
    assert [(drop.code, drop.said) for drop in found.drops] == [("read/duplicate-key", {"claim": [[5, 5]]})]


@pytest.mark.parametrize(
    ("number", "kept"),
    [
        ("1000000000000000000", 10**18),
        ("1e18", 1e18),
        ("1000000000000000001000", 10**18),
        ("-2e18", -(10**18)),
        ("1e999", 10**18),
        ("-1e999", -(10**18)),
        ("9" * 5_000, 10**18),
    ],
)
def test_a_number_that_is_too_large_is_cut(number: str, kept: float) -> None:
    found = reading(f'{{"s": {number}}}')
    assert found.said == {"s": kept}
    cut = [mend for mend in found.mends if mend.code == "read/too-large"]
    assert [mend.kept for mend in cut] == [kept] * (number not in {"1000000000000000000", "1e18"})


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_cannot_hold_is_read_as_text(number: str) -> None:
    assert reading(f'{{"s": {number}}}').said == {"s": number}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r'{"memory": "a\ud800b"}', {"memory": "a?b"}),
        (r'{"memory": "a\udc00\ud83db"}', {"memory": "a??b"}),
        ('{"memory": "a\ud800b"}', {"memory": "a?b"}),
    ],
)
def test_a_lone_surrogate_becomes_a_question_mark_and_a_mend(text: str, said: Any) -> None:
    found = reading(text)
    assert found.said == said
    assert [mend.code for mend in found.mends] == ["read/half-characters"]


@pytest.mark.parametrize("text", [r'{"memory": "a\ud83d\ude00b"}', r'{"memory": "a\\ud800 \" \n"}'])
def test_complete_surrogate_pairs_and_escaped_backslashes_are_left_alone(text: str) -> None:
    found = reading(text)
    assert found.said == json.loads(text)
    assert found.mends == ()


def test_keys_that_are_equal_after_cleaning_are_duplicates() -> None:
    found = reading(r'{"\ud800k": 1, "\ud801k": 2}')
    assert found.said == {"?k": 1}
    assert [drop.code for drop in found.drops] == ["read/duplicate-key"]


def test_a_megabyte_of_text_is_read_and_its_record_is_bounded() -> None:
    found = reading(json.dumps({"memory": "x" * 900_000}))
    assert found.outcome == "answered"
    assert len(canonical(reading("x" * 900_000).drops[0].said)) < 1_000


def test_a_repair_is_a_mend() -> None:
    assert [mend.code for mend in reading(TEXT[:-1]).mends] == ["read/repaired"]


@pytest.mark.parametrize("failure", [o for o in Outcome if o not in {*DECISIONS, Outcome.UNREADABLE}])
def test_a_failed_call_keeps_its_outcome_even_if_its_text_is_readable(failure: Outcome) -> None:
    found = read("A", Reply(TEXT, "model", failure=failure), FIELDS)
    assert (found.outcome, found.said) == (failure, None)
    assert [drop.code for drop in found.drops] == [f"read/{failure}"]


pieces = st.sampled_from([*'{}[]":,\\é\x00', "claim", "\\ud800", "<think>", "</think>", "```", "1e999"])


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.text(max_size=80), st.lists(pieces, max_size=40).map("".join)))
def test_reading_any_text_never_raises_and_always_has_an_outcome(text: str) -> None:
    found = reading(text.encode("utf-8", "replace").decode())
    assert found.outcome in {"answered", "repaired", "unreadable"}
    assert (found.said is None) == (found.outcome == "unreadable")
    canonical([drop.to_json() for drop in found.drops]).encode()
    canonical(found.said).encode()
