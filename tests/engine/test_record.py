"""Records are bounded, can be written, and are canonical; random draws are keyed."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hobbes.engine.chance import RngStream, chance, happens
from hobbes.engine.memory import EMPTY_MEMORY
from hobbes.engine.record import DEPTH, EXCERPT, Findings, Json, canonical, compact, excerpt


@pytest.mark.parametrize(
    "said", [None, True, 7, 2.5, "short", [1, "2", {"three": [4.0]}], {"a": None}, "矿工", "x" * EXCERPT]
)
def test_a_short_value_is_recorded_as_it_was_said(said: Json) -> None:
    assert excerpt(said) == said


@pytest.mark.parametrize("said", ["x" * 9999, ["x" * 9999], {"x" * 9999: 1}, list(range(9999))])
def test_of_a_long_value_the_beginning_is_recorded(said: Json) -> None:
    found = excerpt(said)
    text = said if isinstance(said, str) else json.dumps(said)
    assert found == text[:EXCERPT] + "…"


@pytest.mark.parametrize(
    ("said", "spelled"),
    [
        (float("nan"), "nan"),
        ([float("inf")], ["inf"]),
        ({"purchase_mils": float("nan")}, {"purchase_mils": "nan"}),
        ("\ud800", "\\ud800"),
        ({"\udfff": "\ud800"}, {"\\udfff": "\\ud800"}),
        (10**400, "a number of 1329 bits"),
        ([10**5000], ["a number of 16610 bits"]),
    ],
)
def test_a_value_that_json_or_utf_8_cannot_hold_is_recorded_as_text(said: Json, spelled: Json) -> None:
    assert excerpt(said) == spelled
    assert json.dumps(excerpt(said), allow_nan=False).encode()


def test_nesting_is_recorded_down_to_a_fixed_depth() -> None:
    deep: Any = "bottom"
    for _ in range(100_000):
        deep = [deep]
    assert excerpt(deep) == json.loads("[" * DEPTH + '"…"' + "]" * DEPTH)


class Read(list[Json]):
    """A list that counts how many of its entries are read."""

    read = 0

    def __iter__(self) -> Iterator[Json]:
        for entry in super().__iter__():
            self.read += 1
            yield entry


@pytest.mark.parametrize("entry", [1, "", [], {}, "x" * 9, [[]]])
def test_of_a_value_however_long_no_more_is_read_than_is_recorded(entry: Json) -> None:
    said = Read([entry] * 100_000)
    assert excerpt(said) == json.dumps(list(said))[:EXCERPT] + "…"
    said.read = 0
    excerpt({"a": {"b": said}})
    assert said.read <= EXCERPT + 1


def test_a_drop_and_a_mend_have_agent_stage_code_and_what_was_said() -> None:
    findings = Findings("A")
    findings.drop("rule", "mining/not-yours", {"mine": 1}, "because")
    findings.mend("budget", "mining/cut", {"s": 4}, {"s": 3})
    (drop,), (mend,) = findings.drops, findings.mends
    about = {"agent": "A", "stage": "rule", "code": "mining/not-yours"}
    assert drop.to_json() == {**about, "said": {"mine": 1}, "detail": "because"}
    about = {"agent": "A", "stage": "budget", "code": "mining/cut"}
    assert mend.to_json() == {**about, "said": {"s": 4}, "kept": {"s": 3}}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner)
        | st.dictionaries(st.text(), inner)
        | st.dictionaries(st.integers() | st.booleans(), inner)
    ),
)


@given(JSON_VALUES)
@example([1e-5, 1e-6, 1.5e-300, 1e16, 5e-324, -0.0, 2**63, 2**64, -(2**63) - 1, 10**400])
@example({"\x00\x1f\x7f\u2028\ud800": "\ud800", "é": 1, "z": 2, "\U0001f600": 3, "\uffff": 4})
@example([[]] * 3 + [{}])
def test_the_canonical_text_is_that_of_pythons_json(value: Json) -> None:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert canonical(value) == text
    assert compact(value) == json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_no_record_holds_a_number_that_json_does_not_have(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"here": [number], "null": None})


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", EMPTY_MEMORY, datetime(2026, 1, 1, tzinfo=UTC)])
def test_no_record_holds_what_json_does_not_have(value: Any) -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        canonical([value])


@given(st.integers(-(2**64), 2**64), st.none() | st.text(), st.text())
@example(1, "\x7f", "a\x00\x1f")
@example(1, "\ud800", "矿")
def test_the_key_of_a_draw_is_written_as_pythons_json_writes_it(
    seed: int, subject: str | None, event: str
) -> None:
    key = json.dumps([seed, 2, subject, event], separators=(",", ":"))
    assert chance(seed, 2, subject, event) == sha256(key.encode()).hexdigest()


def test_an_agents_draws_are_keyed_with_the_agent_as_subject() -> None:
    for event in ("kind/1", 'odd "name"', "矿"):
        assert RngStream(1, 2, "A").below(1000, event) == int(chance(1, 2, "A", event), 16) % 1000


def test_a_shuffle_keeps_every_item_and_depends_on_its_key_only() -> None:
    items = list(range(50))
    one = RngStream(1, 2, "A").shuffled(items, "claim")
    assert sorted(one) == items != one
    assert (
        one == RngStream(1, 2, "A").shuffled(items, "claim") != RngStream(1, 2, "A").shuffled(items, "raid")
    )
    assert RngStream(1, 2, "A").shuffled([], "claim") == []


def test_a_shuffle_puts_any_item_first_equally_often() -> None:
    first = [RngStream(1, turn, "A").shuffled("abcd", "claim")[0] for turn in range(400)]
    assert all(70 < first.count(item) < 130 for item in "abcd")


@pytest.mark.parametrize(("percent", "least", "most"), [(0, 0, 0), (25, 200, 300), (100, 1000, 1000)])
def test_something_happens_as_often_as_its_probability(percent: int, least: int, most: int) -> None:
    drawn = [happens(1, turn, "A", "return", percent).winner for turn in range(1000)]
    assert least <= drawn.count("yes") <= most


def test_an_agents_event_happens_as_often_as_its_probability() -> None:
    rng = RngStream(1, 2, "A")
    assert 150 < sum(rng.happens(0.2, str(k)) for k in range(1000)) < 250
    assert not any(rng.happens(0, str(k)) for k in range(100))
    assert all(rng.happens(1, str(k)) for k in range(100))


def test_a_pick_is_one_of_the_options() -> None:
    assert {RngStream(1, turn, "A").pick("abc", "which") for turn in range(50)} == {"a", "b", "c"}


def test_of_many_rejections_the_first_are_recorded_and_the_rest_counted() -> None:
    findings = Findings("A")
    for k in range(1_000):
        findings.drop("rule", "mining/not-yours", k)
        if k == 500:
            findings.drop("rule", "mining/off-grid", "elsewhere")
    told = [(drop.code, drop.said, drop.detail) for drop in findings.drops]
    assert told[:100] == [("mining/not-yours", k, "") for k in range(100)]
    assert told[100:] == [
        ("mining/not-yours", "…", "900 more for this reason"),
        ("mining/off-grid", "elsewhere", ""),
    ]


def test_of_many_notes_the_first_are_recorded_and_the_rest_counted() -> None:
    findings = Findings("A")
    for k in range(1_000):
        findings.note("schema", "mining/unknown-field", {f"f{k}": 1})
    told = [(mend.said, mend.kept) for mend in findings.mends]
    assert told[:100] == [({f"f{k}": 1}, {f"f{k}": 1}) for k in range(100)]
    assert told[100:] == [("… 900 more", "… 900 more")]


def test_of_many_corrections_the_first_are_recorded_and_the_rest_counted() -> None:
    findings = Findings("A")
    for k in range(1_000):
        findings.mend("read", "read/too-large", f"{k}e99", 10**18)
    told = [(mend.said, mend.kept) for mend in findings.mends]
    assert told[:100] == [(f"{k}e99", 10**18) for k in range(100)]
    assert told[100:] == [("…", "… 900 more")]
