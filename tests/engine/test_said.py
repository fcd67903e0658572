"""What an agent says besides its moves is made safe, bounded, and read field by field."""

import pytest

from hobbes.engine.record import Findings, Json
from hobbes.engine.reflection import Reflection, ReflectionFields, reflect
from hobbes.engine.said import TEXT_LIMIT, clean_text, cut_to_words, whole

AGENTS = ("A", "B")


def codes(findings: Findings) -> list[str]:
    return [drop.code for drop in findings.drops] + [mend.code for mend in findings.mends]


@pytest.mark.parametrize(
    ("said", "number"),
    [
        *[(5, 5), (5.0, 5), (-1, -1), (5.5, None), (True, None), ("5", None), (None, None), ([5], None)],
        *[(float("nan"), None), (float("inf"), None), (1e308, int(1e308))],
    ],
)
def test_integral_floats_are_whole_numbers_and_booleans_are_not(said: Json, number: int | None) -> None:
    assert whole(said) == number


def test_a_plain_text_is_kept_as_it_is() -> None:
    findings = Findings("A")
    text = "Zeile eins\n\t矿工 👩‍🌾"
    assert clean_text(findings, "reflection", text) == text
    assert codes(findings) == []


def test_unsafe_characters_are_removed_and_shown_as_escapes_in_the_mend() -> None:
    findings = Findings("A")
    assert clean_text(findings, "reflection", "a\x1b[31mb\u202ec\ud800d") == "a[31mbcd"
    (mend,) = findings.mends
    assert mend.code == "reflection/unsafe-characters"
    assert mend.said == "a\\u001b[31mb\\u202ec\\ud800d"


@pytest.mark.parametrize("hidden", ["\xad", "\u180e", "\u200b", "\ufff9", "\U000e0049", "\U000e0100"])
def test_invisible_characters_are_removed(hidden: str) -> None:
    findings = Findings("A")
    assert clean_text(findings, "reflection", f"a{hidden}b") == "ab"
    assert codes(findings) == ["reflection/unsafe-characters"]


def test_a_text_is_cleaned_before_it_is_cut() -> None:
    findings = Findings("A")
    assert clean_text(findings, "reflection", "\x00" * 5 + "x" * 10, limit=10) == "x" * 10
    assert codes(findings) == ["reflection/unsafe-characters"]


def test_every_reflection_field_is_read() -> None:
    findings = Findings("A")
    answer: dict[str, Json] = {
        "notes": "m",
        "reasoning": "r",
        "summary_last_turn": "s",
        "history_summary": "h",
        "keeps_word_report": {"A": 10, "B": 1.0},
        "aggressor_report": {"B": 5},
    }
    assert reflect(findings, answer, AGENTS) == Reflection("r", "s", "h", "m", {"A": 10, "B": 1}, {"B": 5})
    assert codes(findings) == []
    assert set(answer) == set(ReflectionFields.model_fields)


def test_a_missing_field_is_empty_and_other_fields_are_ignored() -> None:
    findings = Findings("A")
    assert reflect(findings, {"claim": "x"}, AGENTS) == Reflection()
    assert codes(findings) == []


def test_a_world_may_read_fewer_fields() -> None:
    findings = Findings("A")
    said: dict[str, Json] = {"notes": "m", "reasoning": "r", "aggressor_report": {"A": 1}}
    assert reflect(findings, said, AGENTS, fields=("reasoning",)) == Reflection(reasoning="r")


@pytest.mark.parametrize("said", [None, 5, ["a"], {"a": "b"}])
def test_a_text_field_that_is_not_a_text_is_dropped(said: Json) -> None:
    findings = Findings("A")
    assert reflect(findings, {"notes": said}, AGENTS) == Reflection()
    assert codes(findings) == ["reflection/not-text"]


@pytest.mark.parametrize("said", [None, [1], "A: 5", {"A": "5"}, {"A": 5, "B": True}, {"A": 5.5}])
def test_a_report_with_a_wrong_type_is_dropped_as_a_whole(said: Json) -> None:
    findings = Findings("A")
    assert reflect(findings, {"aggressor_report": said}, AGENTS) == Reflection()
    assert codes(findings) == ["reflection/not-ratings"]


def test_entries_for_unknown_agents_or_outside_1_to_10_are_dropped_one_by_one() -> None:
    findings = Findings("A")
    report = {"A": 11, "B": 3, "X": 5}
    assert reflect(findings, {"keeps_word_report": report}, AGENTS).keeps_word_report == {"B": 3}
    assert codes(findings) == ["reflection/rating-out-of-range", "reflection/unknown-agent"]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("one two three", "one two"),
        ("我想开采", "我想"),
        ("我、想开采。", "我、想"),
        ("一 two three", "一 two"),
    ],
)
def test_words_are_counted_as_the_language_counts_them(said: str, kept: str) -> None:
    findings = Findings("A")
    assert cut_to_words(findings, "reflection", said, 2) == kept
    (mend,) = findings.mends
    assert (mend.code, mend.kept) == ("reflection/too-many-words", {"words": 2})
    assert cut_to_words(findings, "reflection", kept, 2) == kept


def test_a_long_text_is_cut_and_its_correction_says_how_much_was_kept() -> None:
    findings = Findings("A")
    assert len(clean_text(findings, "reflection", "x" * 3000)) == TEXT_LIMIT
    (mend,) = findings.mends
    assert mend.code == "reflection/too-long"
    assert (mend.said, mend.kept) == ({"characters": 3000}, {"characters": TEXT_LIMIT})
