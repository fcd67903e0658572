"""A cache whose results live as long as the value that they were worked out from."""

import gc
from dataclasses import dataclass
from weakref import ref

from hobbes.engine.weak_cache import weak_cache


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Value:
    """A value that is compared by identity."""

    n: int


class Result:
    """What is worked out."""


worked_out: list[tuple[int, str]] = []


@weak_cache
def result(value: Value, name: str) -> Result:
    worked_out.append((value.n, name))
    return Result()


def test_a_result_is_worked_out_once_for_each_value_and_argument() -> None:
    worked_out.clear()
    one, other = Value(1), Value(1)
    assert result(one, "a") is result(one, "a")
    assert result(one, "b") is not result(one, "a")
    assert result(other, "a") is not result(one, "a")
    assert worked_out == [(1, "a"), (1, "b"), (1, "a")]


def test_results_go_with_their_value() -> None:
    value = Value(2)
    kept = ref(result(value, "a"))
    gc.collect()
    assert kept() is not None
    del value
    gc.collect()
    assert kept() is None
