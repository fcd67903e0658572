"""The words of a raw answer that a rejection or a correction is about are found, or nothing is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hobbes.engine.record import Findings
from hobbes.engine.said import clean_text
from hobbes.show.answer_marks import mark_answer


def drop(said: Any, code: str = "w/no") -> dict[str, Any]:
    """Return a rejection of this."""
    return {"agent": "A", "stage": "rule", "code": code, "said": said, "detail": ""}


def mend(said: Any, kept: Any) -> dict[str, Any]:
    """Return a correction of this."""
    return {"agent": "A", "stage": "rule", "code": "w/cut", "said": said, "kept": kept}


def words(text: str, *found: dict[str, Any]) -> list[str]:
    """Return the marked pieces of a text; nothing may be left over."""
    pieces, unplaced = mark_answer(text, found)
    assert "".join(piece.text for piece in pieces) == text
    assert unplaced == []
    return [piece.text for piece in pieces if piece.drops or piece.mends]


@pytest.mark.parametrize(
    ("text", "said", "marks"),
    [
        ('{"a": 1, "b": {"c": 2}}', {"b": {"c": 2}}, ['"b": {"c": 2}']),
        ('{"a": 1, "b": {"c": 2, "d": 3}}', {"b": {"d": 3}}, ['"d": 3']),
        ('{"claim": [[1, 2], [9, 9]]}', {"claim": [9, 9]}, ["[9, 9]"]),
        ('{"plan": [{"claim": [1, 2]}, {"raid": [9,9]}]}', {"raid": [9, 9]}, ['"raid": [9,9]']),
        ('{"cede": {"B": ["T1", "T2"]}}', {"cede": {"B": ["T2"]}}, ['"T2"']),
        ('{"plan": [7, {"a": 1, "b": 2}]}', {"a": 1, "b": 2}, ['"a": 1', '"b": 2']),
        ('{"do": "hug", "x": 1, "sats": 5}', {"do": "hug", "sats": 5}, ['"do": "hug"', '"sats": 5']),
        ('{"plan": ["north", 7]}', 7, ["7"]),
        ('{"rulings": {"u": {"grant": -1}}}', {"u": -1}, ['"grant": -1']),
        ('First {"a": 1}. Then {"a": 2}', '{"a": 1}', ['{"a": 1}']),
        ('I think <b>.</think>{"a": 1}', {"a": 1}, ['"a": 1']),
        ('Now: {"a": "it\\u0027s {not} over", "b": [1', {"b": [1]}, ["1"]),
        ('{"n": 99999999999999999999999}', {"n": 10**18}, ['"n": 99999999999999999999999']),
        ('{"note": "one two three"}', {"words": 3}, ['"one two three"']),
        ('{"note": "one two three"}', {"characters": 13}, ['"one two three"']),
    ],
)  # fmt: skip
def test_the_words_of_a_rejection_are_marked(text: str, said: Any, marks: list[str]) -> None:
    assert words(text, drop(said)) == marks


def test_of_words_said_twice_the_last_ones_were_rejected() -> None:
    text = '{"plan": [{"claim": [1, 2]}, {"mine": 1}, {"claim": [1, 2]}]}'
    (piece,) = [piece for piece in mark_answer(text, [drop({"claim": [1, 2]})])[0] if piece.drops]
    assert text.rindex('"claim"') == text.index(piece.text, text.index("mine"))
    assert len(words(text, drop({"claim": [1, 2]}), drop({"claim": [1, 2]}))) == 2


def test_what_a_correction_changed_before_is_found_by_what_was_said_first() -> None:
    pieces, unplaced = mark_answer(
        '{"mils": 99}', [mend({"mils": 99}, {"mils": 50}), mend({"mils": 50}, {"mils": 0})]
    )
    assert unplaced == []
    (piece,) = [piece for piece in pieces if piece.mends]
    assert piece.text == '"mils": 99'
    assert [note["kept"] for note in piece.notes] == [{"mils": 50}, {"mils": 0}]


def test_a_long_text_and_invisible_characters_are_found_as_a_record_has_them() -> None:
    findings, hidden, long = Findings("A"), "so\u202erry \x1b[2J", "x" * 2000
    clean_text(findings, "w", hidden)
    findings.drop("schema", "w/no", {"strategy": long})
    found = [*(one.to_json() for one in findings.mends), *(one.to_json() for one in findings.drops)]
    text = json.dumps({"notes": hidden, "strategy": long})
    assert words(text, *map(dict, found)) == [json.dumps(hidden), f'"strategy": "{long}"']


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1}', {"a": 2}),
        ('{"a": 1}', {"b": 1}),
        ("no object", "no object"),
        ('{"a": null}', None),
        ('{"a": 1, "b": 2}', {"a": 1, "b": 3}),
        ('{"a":' * 40 + "1", {"a": 1}),
    ],
)
def test_what_stands_nowhere_is_told_apart(text: str, said: Any) -> None:
    pieces, unplaced = mark_answer(text, [drop(said)])
    assert not any(piece.drops for piece in pieces)
    assert [one["said"] for one in unplaced] == [said]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.text(alphabet='{}[]",:\\ab1 \n', max_size=60) | json_values.map(json.dumps),
    st.lists(json_values, max_size=4),
)
def test_no_text_is_lost_and_each_finding_is_shown_once(text: str, said: list[Any]) -> None:
    found = [drop(one) for one in said]
    pieces, unplaced = mark_answer(text, found)
    assert "".join(piece.text for piece in pieces) == text
    noted = [id(note) for piece in pieces for note in piece.notes]
    assert sorted([*noted, *map(id, unplaced)]) == sorted(map(id, found))
