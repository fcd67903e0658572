import json
from typing import Any

import pytest

from engine.record import DEPTH, EXCERPT, excerpt


@pytest.mark.parametrize("said", [None, True, 3, 2.5, "text", [1, "2", {"three": [4.0]}], {"a": None}])
def test_what_is_short_and_plain_is_recorded_as_it_is(said: Any) -> None:
    assert excerpt(said) == said


def test_what_is_long_is_recorded_by_its_beginning() -> None:
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
def test_what_json_or_utf_8_cannot_carry_is_spelled_out(said: Any, recorded: Any) -> None:
    assert excerpt(said) == recorded
    assert json.dumps(excerpt(said), allow_nan=False).encode()


def test_nesting_is_recorded_to_a_depth() -> None:
    deep: Any = "bottom"
    for _ in range(100_000):
        deep = [deep]
    assert excerpt(deep) == json.loads("[" * DEPTH + '"…"' + "]" * DEPTH)
