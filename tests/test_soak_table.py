"""The table that `make soak` ends with."""

from typing import Literal

import pytest

from tests.soak.conftest import rows_of


def report(test: str, outcome: Literal["passed", "failed"], tried: str = "") -> pytest.TestReport:
    """Return the report of a test that has told what it tried."""
    told: list[tuple[str, object]] = [("tried", tried)] if tried else []
    return pytest.TestReport(test, ("", 0, ""), {}, outcome, None, "call", user_properties=told)


def test_the_table_says_of_each_soak_what_was_tried_how_often_and_what_was_lost() -> None:
    rows = rows_of(
        [
            report("tests/soak/test_kills.py::test_runs[mining]", "passed", "34 kills"),
            report("tests/soak/test_kills.py::test_runs[trust]", "failed", "8 kills"),
            report("tests/soak/test_fuzz.py::test_texts", "failed"),
            report("tests/mining/test_laws.py::test_one", "passed"),
            report("tests/mining/test_laws.py::test_another", "failed"),
            report("tests/trust/test_laws.py::test_one", "passed"),
        ]
    )
    assert rows == [
        ("laws of mining", "2 laws", "1 BROKEN"),
        ("laws of trust", "1 laws", "nothing"),
        ("runs[mining]", "34 kills", "nothing"),
        ("runs[trust]", "8 kills", "FAILED"),
        ("texts", "", "FAILED"),
    ]
