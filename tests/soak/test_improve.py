"""`hobbes improve` by the dozen: how often it finds a planted cure, and how often it accepts what is none."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from hobbes.lab.store.home import open_store
from tests.lab.improving import CURE, FALSE, USELESS, improved, situations, village, written
from tests.soak import times

pytestmark = pytest.mark.soak

MAX_CALLS, SEEDS = 400, 12
"""The budget of an improvement, of which the games take 216 calls."""


def tally(folder: Path, n: int, *sentences: str) -> Counter[str]:
    """Return how often improvements play games, and which words they accept, of these sentences."""
    found = Counter[str]()
    for k in range(n):
        place = folder / str(k)
        place.mkdir()
        path = written(place, MAX_CALLS, SEEDS)
        with open_store(place / "home") as store, village(str(k), *sentences) as server:
            situations(store, seed=100 + k)
            before = server.asked.total()
            result = improved(store, path)
            assert server.asked.total() - before == result.spent.calls <= MAX_CALLS
        found["games"] += result.games is not None
        if result.is_accepted:
            found[result.lineage.candidates[result.lineage.chosen or 0].text] += 1
    return found


def test_improvements_that_find_a_planted_cure(tmp_path: Path, tried: Callable[[str], None]) -> None:
    n = times(10)
    found = tally(tmp_path, n, CURE, FALSE, *USELESS)
    tried(f"{n} improvements, {found['games']} played games, {found[CURE]} found it")
    assert found[CURE] >= 0.8 * n


def test_improvements_in_which_no_sentence_can_help(tmp_path: Path, tried: Callable[[str], None]) -> None:
    n = times(20)
    found = tally(tmp_path, n, FALSE, *USELESS)
    accepted = found.total() - found["games"]
    tried(f"{n} improvements, {found['games']} played games, {accepted} accepted a candidate")
    assert accepted <= 0.05 * n
