"""Kills by the hundred, while a server fails in every way that passes.

In every world, each resume ends in the reference digest, and no answer is lost.
"""

import json
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from subprocess import TimeoutExpired

import pytest

from hobbes.worlds import WORLDS
from tests import faults
from tests.conftest import Hobbes
from tests.faults import ANSWER
from tests.play.test_kills import Player, Start, answers, kill_at, watch
from tests.soak import times
from tests.soak.test_faults import HEALED, healed
from tests.wire.test_faults import OUTCOMES, log_of, served

pytestmark = pytest.mark.soak

RUNS, KILLS, ROUNDS, AGENTS, SHARE = times(5), 8, 30, 4, 0.3
"""A world's runs, the kills of each, its rounds, agents and share of faults: 120 kills in three worlds."""
FILES = ("runs.db-wal", "checkpoints.db-wal")


def written(home: Path) -> list[int]:
    """When the files that a run writes were written last, in nanoseconds. A run may end and remove them."""
    moments = []
    for name in FILES:
        with suppress(FileNotFoundError):
            moments.append((home / name).stat().st_mtime_ns)
    return moments


def kill_in_a_write(player: Player, home: Path, moment: int) -> None:
    """Kill a player at the first sign of a write, once so many answers are on disk."""
    while len(answers(home)) < moment and player.poll() is None:
        try:
            player.wait(timeout=0.002)
        except TimeoutExpired:
            continue
    before = written(home)
    while written(home) == before and player.poll() is None:
        pass
    player.kill()
    player.wait()


LATE = 0.5
"""Seconds that a stalled answer takes here."""
GIVEN = {ANSWER, "stall", *(name for name in HEALED if OUTCOMES[name] == ("answered", 1))}
"""What the server did where it gave an answer in the end, if anybody was there to take it."""


def kill_in_a_pause(player: Player, home: Path, moment: int) -> None:
    """Kill a player at any time in the half second after so many answers: in a try, or between two."""
    watch(player, home, moment)
    try:
        player.wait(timeout=random.Random(moment).random() / 2)  # noqa: S311  no secret
    except TimeoutExpired:
        player.kill()
        player.wait()


def kept(home: Path) -> dict[str, tuple[object, ...]]:
    """Return the answers that are on disk, by address."""
    if not answers(home):
        return {}
    with sqlite3.connect(f"file:{home / 'runs.db'}?mode=ro", uri=True) as connection:
        rows = connection.execute("select turn, agent, attempt, outcome, answer, tries from calls")
        return {f"{turn}/{agent}/{attempt}": tuple(rest) for turn, agent, attempt, *rest in rows}


COMPARED = ("digest", "calls", "outcomes", "drops", "mends")


@pytest.mark.parametrize("world", WORLDS)
def test_runs_that_are_killed_again_and_again_while_the_server_fails(  # noqa: PLR0913, PLR0917  fixtures
    world: str,
    home: Path,
    hobbes: Hobbes,
    process: Start,
    monkeypatch: pytest.MonkeyPatch,
    tried: Callable[[str], None],
) -> None:
    """The server is a thread of this process, so that its faults pass; the players are processes."""
    monkeypatch.setattr(faults, "STALL_SECONDS", LATE)
    monkeypatch.setattr(faults, "draw_fault", healed)
    model = f"openai:policy/{WORLDS[world].policies.default}?noise=0.2"
    size = ("--agents", str(AGENTS), "--rounds", str(ROUNDS))
    play: tuple[str, ...] = ("run", world, *size, "--model", model, "--set", "reask=1", "--name", "killed")
    with served({}):
        whole = json.loads(hobbes(*play, "--json", env={"HOBBES_HOME": str(home / "whole")}).stdout)
    rng, kills, met, repeated = random.Random(world), Counter[str](), Counter[str](), 0  # noqa: S311  no secret
    manners = cycle([kill_at, kill_in_a_pause, kill_in_a_write])
    for run in range(RUNS):
        place, command, seen = home / str(run), play, list[tuple[int, dict[str, tuple[object, ...]]]]()
        there = {"HOBBES_HOME": str(place)}
        # A server of its own for each run: it counts how often an address was asked.
        with served(dict.fromkeys(HEALED, SHARE / len(HEALED))) as base:
            for moment in sorted(rng.sample(range(1, whole["calls"] - AGENTS), KILLS)):
                player, kill = process(*command, env=there), next(manners)
                kill(player, place, moment)
                kills[kill.__name__] += player.wait() < 0
                seen.append((len(log_of(base)), kept(place)))
                command = ("resume", "killed") if seen[-1][1] else play
            ended = hobbes("resume", "killed", "--json", env=there)
            log = log_of(base)
        assert ended.returncode == 0, ended.stderr
        told = json.loads(ended.stdout)
        assert {name: told[name] for name in COMPARED} == {name: whole[name] for name in COMPARED}
        last = kept(place)
        for requests, before in seen:
            assert before.items() <= last.items(), "an answer was lost or written over"
            assert {entry["address"] for entry in log[requests:]}.isdisjoint(before), "it had been answered"
        given = Counter(entry["address"] for entry in log if entry["did"] in GIVEN)
        assert given.keys() == last.keys()
        assert given.total() - len(last) <= KILLS * AGENTS, "more was asked again than was in flight"
        repeated += given.total() - len(last)
        met.update(entry["did"] for entry in log if entry["did"] != ANSWER)
    tried(
        f"{kills.total()} kills in {RUNS} runs of {whole['calls']} calls; "
        f"{met.total()} faults of {len(met)} kinds, {repeated} answers given again"
    )
