"""Excerpts: what a drop or mend keeps of what an agent said."""

import json
from typing import Any

import pytest

from hobbes.engine.record import DEPTH, EXCERPT, excerpt


@pytest.mark.parametrize("said", [None, True, 3, 2.5, "text", [1, "2", {"three": [4.0]}], {"a": None}])
def test_a_short_and_plain_value_is_recorded_unchanged(said: Any) -> None:
    assert excerpt(said) == said


def test_of_a_long_value_the_beginning_is_recorded() -> None:
    assert excerpt("x" * (EXCERPT + 1)) == "x" * EXCERPT + "…"
    assert excerpt(["x" * EXCERPT]) == '["' + "x" * (EXCERPT - 2) + "…"


@pytest.mark.parametrize(
    ("said", "recorded"),
    [
        (float("inf"), "inf"),
        ({"purchase_mils": float("nan")}, {"purchase_mils": "nan"}),
        ([10**5000], ["a number of 16610 bits"]),
        ("\ud800", "\\ud800"),
        ({"\udfff": "\ud800"}, {"\\udfff": "\\ud800"}),
    ],
)
def test_a_value_that_json_or_utf_8_cannot_hold_is_recorded_as_text(said: Any, recorded: Any) -> None:
    assert excerpt(said) == recorded
    assert json.dumps(excerpt(said), allow_nan=False).encode()


def test_nesting_is_recorded_down_to_a_fixed_depth() -> None:
    deep: Any = "bottom"
    for _ in range(100_000):
        deep = [deep]
    assert excerpt(deep) == json.loads("[" * DEPTH + '"…"' + "]" * DEPTH)
