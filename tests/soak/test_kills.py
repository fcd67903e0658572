"""A hundred kills, in every world: each resume ends in the reference digest, and no answer is lost."""

import json
import random
from pathlib import Path
from subprocess import Popen, TimeoutExpired

import pytest

from engine.worlds import WORLDS
from tests.conftest import Hobbes
from tests.lab.test_kills import Start, answers, kill_at, stats

pytestmark = pytest.mark.soak

KILLS, ROUNDS, AGENTS = 34, 60, 4
"""A world's kills; with three worlds there are more than a hundred."""
FILES = ("runs.db-wal", "checkpoints.db-wal")


def written(home: Path) -> list[int]:
    """When the files that a run writes were written last, in nanoseconds."""
    return [(home / name).stat().st_mtime_ns for name in FILES if (home / name).exists()]


def kill_in_a_write(player: "Popen[str]", home: Path, moment: int) -> None:
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


@pytest.mark.parametrize("world", WORLDS)
def test_runs_that_are_killed_again_and_again(
    world: str, tmp_path: Path, home: Path, hobbes: Hobbes, process: Start
) -> None:
    serving = process("serve", "--port", "0", "--delay", "0.01")
    assert serving.stdout is not None
    base = serving.stdout.readline().strip()
    env = {"OPENAI_BASE_URL": base, "OPENAI_API_KEY": "none"}
    policy = WORLDS[world].policies.default
    play = (
        "run",
        world,
        "--agents",
        str(AGENTS),
        "--rounds",
        str(ROUNDS),
        "--model",
        f"openai:policy/{policy}",
    )
    whole = json.loads(hobbes(*play, "--json", env={**env, "HOBBES_HOME": str(tmp_path / "whole")}).stdout)
    before, luck, kills, in_writes, runs = stats(base), random.Random(world), 0, 0, 0  # noqa: S311  no secret
    while kills < KILLS:
        runs += 1
        place = home / str(runs)
        there = {**env, "HOBBES_HOME": str(place)}
        command: tuple[str, ...] = (*play, "--name", "killed")
        for moment in sorted(luck.sample(range(1, whole["calls"] - AGENTS), 6)):
            player = process(*command, env=there)
            in_a_write = kills % 4 == 3
            (kill_in_a_write if in_a_write else kill_at)(player, place, moment)
            kills, in_writes = kills + 1, in_writes + in_a_write
            if answers(place):
                command = ("resume", "killed")
        ended = hobbes("resume", "killed", "--json", env=there)
        assert ended.returncode == 0, ended.stderr
        told = json.loads(ended.stdout)
        assert (told["digest"], told["calls"]) == (whole["digest"], whole["calls"])
    asked = {address: count - before.get(address, 0) for address, count in stats(base).items()}
    repeated = sum(asked.values()) - runs * whole["calls"]
    calls = runs * whole["calls"]
    print(
        f"\n{world}: {kills} kills, {in_writes} at a write, {runs} runs, {repeated} of {calls} calls repeated"
    )
    assert all(count >= runs for count in asked.values())
    assert repeated <= kills * AGENTS, "more was asked again than was in flight"
