"""A new part of the record is one declaration, and the code that fills it: all else follows."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import ROOT

MINERS = ("miner-01", "miner-02", "miner-03")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Let a hobbes with a longer record play."""
    home = tmp_path_factory.mktemp("home")
    command = [sys.executable, "-m", "tests.contract.longer_record", str(home)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_it_is_hashed(told: dict[str, Any]) -> None:
    assert sorted(told["hashed"]) == [*MINERS]
    assert told["link"]


def test_its_table_is_made_and_filled(told: dict[str, Any]) -> None:
    assert [(turn, agent) for turn, agent, *_ in told["rows"]] == [(t, a) for t in range(4) for a in MINERS]
    words = [words for _, _, words, _ in told["rows"]]
    assert words == [json.loads(mood)["words"] for *_, mood in told["rows"]]
    assert all(words)


def test_it_is_verified_and_replayed(told: dict[str, Any]) -> None:
    assert told["faults"] == []
    assert told["replay"]
    assert told["tampered"][0][0] == 0
    assert told["tampered"][0][1].startswith("the part moods of the record differs from the memories")


def test_where_it_differs_its_layer_is_named(told: dict[str, Any]) -> None:
    assert told["difference"] == ["miner-01", "memory", "moods"]


def test_it_is_exported(told: dict[str, Any]) -> None:
    assert [(row["turn"], row["agent"], row["words"]) for row in told["exported"]] == [
        (turn, agent, words) for turn, agent, words, _ in told["rows"]
    ]
    assert all(row["mood"]["words"] == row["words"] for row in told["exported"])
