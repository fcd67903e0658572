"""Law 6: kill it anywhere; it goes on, and asks only what had not been answered.

A few kills; `make soak` makes a hundred in all worlds. A player that is killed is a process; what plays the
run to its end, and the run that it is compared with, are in the process of the tests.
"""

import json
import random
import signal
import sqlite3
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import Any, TypeAlias

import pytest

from hobbes.wire.recorder import in_thread
from tests import faults
from tests.conftest import Cli
from tests.faults import ANSWER, failing
from tests.forking import Command

Start = Callable[..., Command]
Player: TypeAlias = "Command | Popen[str]"

ROUNDS, AGENTS = 40, 6
INTERRUPTED = 130
RUN = ("run", "mining", "--rounds", str(ROUNDS), "--agents", str(AGENTS), "--name", "killed")


def answers(home: Path) -> list[tuple[int, str]]:
    if not (home / "runs.db").exists():
        return []
    with sqlite3.connect(f"file:{home / 'runs.db'}?mode=ro", uri=True) as connection:
        try:
            return connection.execute("select turn, agent from calls").fetchall()
        except sqlite3.OperationalError:  # the tables are not there yet
            return []


def kill_at(player: Player, home: Path, moment: int) -> None:
    watch(player, home, moment)
    player.kill()
    player.wait()


def watch(player: Player, home: Path, moment: int) -> None:
    """Wait until so many answers are on disk, or the player has ended."""
    while len(answers(home)) < moment:
        try:
            player.wait(timeout=0.002)
        except TimeoutExpired:
            continue
        return


def played_with_kills(
    home: Path, start: Start, cli: Cli, moments: Iterable[int], *run: str, env: dict[str, str] | None = None
) -> Any:
    """Play a run to its end, killed whenever so many answers are on disk."""
    command = run
    for moment in moments:
        kill_at(start(*command, env=env), home, moment)
        command = ("resume", "killed") if answers(home) else command
    ended = cli("resume", "killed", "--json", env=env)
    assert ended.exit_code == 0, ended.exception
    return json.loads(ended.stdout)


def test_a_run_killed_three_times_ends_with_the_digest_of_one_never_stopped(
    home: Path, cli: Cli, process: Start, tmp_path: Path
) -> None:
    """Most of the moments, in answers, lie inside a turn."""
    moments = sorted(random.Random(1).sample(range(1, ROUNDS * AGENTS), 3))  # noqa: S311  no secret
    run = (*RUN, "--model", "policy:guided?noise=0.2")
    reference = json.loads(cli(*run, "--json", env={"HOBBES_HOME": str(tmp_path / "other")}).stdout)
    ended = played_with_kills(home, process, cli, moments, *run)
    assert ended["digest"] == reference["digest"]
    assert ended["calls"] == ROUNDS * AGENTS
    assert ended["drops"] == reference["drops"]


def test_against_a_server_only_unanswered_calls_are_asked_again(
    home: Path, cli: Cli, process: Start, tmp_path: Path
) -> None:
    """Killed in the third of eight rounds. An answer takes long enough for the kill to come in its round."""
    size = ("--rounds", "8", "--agents", str(AGENTS))
    run = ("run", "mining", *size, "--name", "killed", "--model", "openai:policy/guided")
    with in_thread(failing(delay=0.05)) as base:
        env = {"OPENAI_BASE_URL": base, "OPENAI_API_KEY": "none"}
        ended = played_with_kills(home, process, cli, [2 * AGENTS + 1], *run, env=env)
        asked = stats(base)
        reference = json.loads(
            cli(*run, "--json", env={**env, "HOBBES_HOME": str(tmp_path / "other")}).stdout
        )
    assert ended["digest"] == reference["digest"]
    assert ended["calls"] == len(asked) == 8 * AGENTS
    repeated = sum(asked.values()) - len(asked)
    assert repeated <= AGENTS, "more was asked again than was in flight"


def stats(base: str) -> dict[str, int]:
    """How often the server was asked at each address."""
    with urllib.request.urlopen(f"{base.removesuffix('/v1')}/stats") as answer:  # noqa: S310  our own server
        counted: dict[str, int] = json.load(answer)["addresses"]
    return counted


def test_an_interrupted_run_says_how_to_go_on_and_does(
    home: Path, cli: Cli, process: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted in the fourth of eight rounds, in which the server answers nobody until then."""
    unanswered = {"3"}
    monkeypatch.setattr(
        faults,
        "draw_fault",
        lambda _, address, __: "stall" if address.split("/")[0] in unanswered else ANSWER,
    )
    size = ("--rounds", "8", "--agents", str(AGENTS))
    run = ("run", "mining", *size, "--name", "killed", "--model", "openai:policy/random")
    with in_thread(failing()) as base:
        env = {"OPENAI_BASE_URL": base, "OPENAI_API_KEY": "none"}
        player = process(*run, env=env)
        watch(player, home, AGENTS * 3)
        player.send_signal(signal.SIGINT)
        assert player.wait() == INTERRUPTED
        unanswered.clear()
        ended = json.loads(cli("resume", "killed", "--json", env=env).stdout)
        again = json.loads(cli(*run, "--json", env={**env, "HOBBES_HOME": str(tmp_path / "other")}).stdout)
    assert ended["digest"] == again["digest"]
