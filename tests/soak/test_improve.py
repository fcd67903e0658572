"""`hobbes improve` by the dozen: how often it finds a planted cure, and how often it accepts what is none."""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired

import pytest

from hobbes.lab.store.home import Store, open_store
from tests.conftest import Cli
from tests.lab.improving import CURE, FALSE, USELESS, improved, situations, village, written
from tests.lab.test_kills import Start
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


def test_an_improvement_whose_process_is_killed(
    opened: Store, tmp_path: Path, cli: Cli, process: Start, tried: Callable[[str], None]
) -> None:
    """What was under way when it was killed is asked again, and nothing else; the cure is found."""
    command = ("improve", str(written(tmp_path)), "--to", str(tmp_path / "calm"), "--yes", "--json")
    moments = range(5, 200, 15)
    killed_at_once = 0
    with village("killed", CURE, FALSE, USELESS[0]) as server:
        situations(opened)
        before = server.asked.total()
        for moment in moments:
            killed = process(*command)
            while server.asked.total() - before < moment and killed.poll() is None:
                with suppress(TimeoutExpired):
                    killed.wait(timeout=0.002)
            killed.kill()
            killed_at_once += killed.wait() < 0
        told = json.loads(cli(*command).stdout)
        asked = server.asked.total() - before
    kept = sum(of_kind["calls"] for of_kind in told["spent"].values())
    tried(f"{killed_at_once} kills, {asked} calls, of which {asked - kept} were asked again")
    assert told["accepted"]
    assert killed_at_once > 5
    under_way = 2 * 24  # the two agents of each game, at most
    assert 0 <= asked - kept <= len(moments) * under_way
