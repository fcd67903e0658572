"""Law 6: kill it anywhere; it goes on, and asks only what had not been answered.

Ten kills; `make soak` makes a hundred, in every world.
"""

import json
import random
import signal
import sqlite3
import urllib.request
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import Any

import pytest

from tests.conftest import Hobbes

Start = Callable[..., "Popen[str]"]

ROUNDS, AGENTS, KILLS = 40, 6, 3
INTERRUPTED = 130
RUN = ("run", "mining", "--rounds", str(ROUNDS), "--agents", str(AGENTS), "--name", "killed")


def answers(home: Path) -> list[tuple[int, str]]:
    """Which answers are on disk: (turn, agent)."""
    if not (home / "runs.db").exists():
        return []
    with sqlite3.connect(f"file:{home / 'runs.db'}?mode=ro", uri=True) as connection:
        try:
            return connection.execute("select turn, agent from calls").fetchall()
        except sqlite3.OperationalError:  # the tables are not there yet
            return []


def kill_at(player: "Popen[str]", home: Path, moment: int) -> None:
    """Kill a player as soon as so many answers are on disk."""
    watch(player, home, moment)
    player.kill()
    player.wait()


def watch(player: "Popen[str]", home: Path, moment: int) -> None:
    """Wait until so many answers are on disk, or the player has ended."""
    while len(answers(home)) < moment:
        try:
            player.wait(timeout=0.002)
        except TimeoutExpired:
            continue
        return


def moments(seed: int) -> list[int]:
    """Draw the moments of the kills, in answers; most of them lie inside a turn."""
    return sorted(random.Random(seed).sample(range(1, ROUNDS * AGENTS), KILLS))  # noqa: S311  no secret


def played_with_kills(
    home: Path, start: Start, hobbes: Hobbes, seed: int, env: dict[str, str], *options: str
) -> Any:
    """Play a run, killed three times, to its end."""
    command: tuple[str, ...] = (*RUN, *options)
    for moment in moments(seed):
        kill_at(start(*command, env=env), home, moment)
        command = ("resume", "killed") if answers(home) else command
    ended = hobbes("resume", "killed", "--json", env=env)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize("seed", [1])
def test_a_run_killed_three_times_ends_with_the_digest_of_one_never_stopped(
    seed: int, home: Path, hobbes: Hobbes, process: Start, tmp_path: Path
) -> None:
    noisy = ("--model", "policy:guided?noise=0.2")
    reference = json.loads(
        hobbes(*RUN, *noisy, "--json", env={"HOBBES_HOME": str(tmp_path / "other")}).stdout
    )
    ended = played_with_kills(home, process, hobbes, seed, {}, *noisy)
    assert ended["digest"] == reference["digest"]
    assert ended["calls"] == ROUNDS * AGENTS
    assert ended["drops"] == reference["drops"]


@pytest.mark.parametrize("seed", [3])
def test_against_a_server_only_unanswered_calls_are_asked_again(
    seed: int, home: Path, hobbes: Hobbes, process: Start, tmp_path: Path
) -> None:
    serving = process("serve", "--port", "0", "--delay", "0.01")
    assert serving.stdout is not None
    base = serving.stdout.readline().strip()
    env = {"OPENAI_BASE_URL": base, "OPENAI_API_KEY": "none"}
    model = ("--model", "openai:policy/guided")
    reference = json.loads(
        hobbes(*RUN, *model, "--json", env={**env, "HOBBES_HOME": str(tmp_path / "other")}).stdout
    )
    before = stats(base)
    ended = played_with_kills(home, process, hobbes, seed, env, *model)
    asked = {address: count - before.get(address, 0) for address, count in stats(base).items()}
    assert ended["digest"] == reference["digest"]
    assert ended["calls"] == ROUNDS * AGENTS
    assert all(count >= 1 for count in asked.values())
    assert len(asked) == ROUNDS * AGENTS
    repeated = sum(count - 1 for count in asked.values())
    assert repeated <= KILLS * AGENTS, "more was asked again than was in flight"


def stats(base: str) -> dict[str, int]:
    """How often the server was asked at each address."""
    with urllib.request.urlopen(f"{base.removesuffix('/v1')}/stats") as answer:  # noqa: S310  our own server
        counted: dict[str, int] = json.load(answer)["addresses"]
    return counted


def test_an_interrupted_run_says_how_to_go_on_and_does(home: Path, hobbes: Hobbes, process: Start) -> None:
    player = process(*RUN, "--model", "policy:random")
    watch(player, home, AGENTS * 3)
    player.send_signal(signal.SIGINT)
    assert player.wait() == INTERRUPTED
    ended = json.loads(hobbes("resume", "killed", "--json").stdout)
    again = json.loads(hobbes(*RUN[:-1], "whole", "--model", "policy:random", "--json").stdout)
    assert ended["digest"] == again["digest"]
