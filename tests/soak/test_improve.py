"""`hobbes improve` by the dozen: how often it finds a planted cure, and how often it accepts what is none."""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired

import pytest

from hobbes.store.home import Store, open_store
from hobbes.store.probe_tables import answers_of, probe_named
from tests.conftest import Cli
from tests.play.test_kills import Start
from tests.proposer import CURE, FALSE, NOISY, PROPOSER, USELESS, situations, village, written
from tests.soak import times

pytestmark = pytest.mark.soak

MAX_CALLS, SEEDS = 500, 12


@pytest.fixture
def improve(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Counter[str]]:
    """Improve a prompt n times, with what the proposer knows; return what came of it."""

    def improved(n: int, *sentences: str) -> Counter[str]:
        found = Counter[str]()
        for k in range(n):
            place = tmp_path / str(k)
            place.mkdir()
            monkeypatch.chdir(place)
            with open_store(place / "home") as store, village(str(k), *sentences, rates=NOISY):
                situations(store, seed=100 + k)
                command = (
                    "improve",
                    str(written(place, max_calls=MAX_CALLS, seeds=SEEDS)),
                    "--yes",
                    "--json",
                )
                told = json.loads(cli(*command, env={"HOBBES_HOME": str(place / "home")}).stdout)
            found["games"] += bool(told["hypotheses"])
            found["accepted"] += told["accepted"]
            found["cured"] += told["accepted"] and CURE in (place / "calm/prompts/system.en.md").read_text()
        return found

    return improved


def test_improvements_that_find_a_planted_cure(
    improve: Callable[..., Counter[str]], tried: Callable[[str], None]
) -> None:
    n = times(10)
    found = improve(n, CURE, FALSE, *USELESS)
    tried(f"{n} improvements, {found['games']} played games, {found['cured']} found it")
    assert found["cured"] == found["accepted"] >= 0.8 * n


def test_improvements_in_which_no_sentence_can_help(
    improve: Callable[..., Counter[str]], tried: Callable[[str], None]
) -> None:
    n = times(20)
    found = improve(n, FALSE, *USELESS)
    tried(f"{n} improvements, {found['games']} played games, {found['accepted']} accepted a candidate")
    assert found["accepted"] <= 0.05 * n


def test_an_improvement_whose_process_is_killed(  # noqa: PLR0913, PLR0917  what is killed, and where
    opened: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
    process: Start,
    tried: Callable[[str], None],
) -> None:
    """What was under way when it was killed is asked again, and nothing else; the cure is found."""
    monkeypatch.chdir(tmp_path)
    command = ("improve", str(written(tmp_path)), "--yes", "--json")
    moments = range(5, 120, 10)
    killed_at_once = 0
    with village("killed", CURE, FALSE, USELESS[0]) as server:
        run = situations(opened)
        before = server.asked.total()
        for moment in moments:
            killed = process(*command)
            while server.asked.total() - before < moment and killed.poll() is None:
                with suppress(TimeoutExpired):
                    killed.wait(timeout=0.002)
            killed.kill()
            killed_at_once += killed.wait() < 0
        assert json.loads(cli(*command).stdout)["accepted"]
        asked = server.asked.total() - before - server.asked[PROPOSER]
    kept = len([*answers_of(opened, probe_named(opened, "calm"))])
    kept += opened.db.table("calls").count_where("run <> ? and outcome = 'answered'", [run.id])
    tried(f"{killed_at_once} kills, {asked} calls, of which {asked - kept} were asked again")
    assert killed_at_once > 5
    under_way = 2 * 24  # the two agents of each game, at most
    assert 0 <= asked - kept <= len(moments) * under_way
