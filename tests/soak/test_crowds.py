"""Probes that are killed again and again, and probes that several processes ask at once."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired

import pytest

from hobbes.probe.probe_plan import MAX_CELLS
from hobbes.store.home import Store
from hobbes.wire.recorder import in_thread
from tests.conftest import Cli
from tests.faults import failing
from tests.forking import Command
from tests.play.test_kills import Start, stats
from tests.soak import times

pytestmark = pytest.mark.soak

KILLS = times(12)
PARALLEL = 4
"""How many requests are under way at once."""
MODELS = f'[slow]\nmodel = "policy/random"\nparallel = {PARALLEL}\n'
CELLS, TIMES = 4 * 2 * 2, 3
"""A probe: four turns of two agents in two columns, each asked three times."""
PROBE = ("probe", "r", "--prompts", "survivor", "--times", str(TIMES), "--yes", "--json", "--name")


@pytest.fixture
def env(home: Path, cli: Cli) -> Iterator[dict[str, str]]:
    """The address of a server that counts, and a run `r` that it has played."""
    home.mkdir(exist_ok=True)
    (home / "models.toml").write_text(MODELS)
    with in_thread(failing(delay=0.03)) as base:
        env = {"OPENAI_BASE_URL": base, "OPENAI_API_KEY": "none"}
        asked = ("run", "trust", "--model", "slow", "--rounds", "4", "--name", "r")
        assert cli(*asked, env=env).exit_code == 0
        yield env


def kill_once(killed: Command, there: Callable[[], int], moment: int) -> bool:
    """Kill a process as soon as so many answers are on disk. Return whether it was still at work."""
    while there() < moment and killed.poll() is None:
        with suppress(TimeoutExpired):
            killed.wait(timeout=0.002)
    killed.kill()
    return killed.wait() < 0


def requests(env: dict[str, str]) -> dict[str, int]:
    return stats(env["OPENAI_BASE_URL"])


def on_disk(store: Store, probe: str) -> set[str]:
    """Return the addresses of the answers of a probe that are on disk, as the server counts them."""
    rows = store.db.execute(
        "select situation, column, number from probe_answers where probe = ?", [probe]
    ).fetchall()
    (text,) = store.db.execute("select situations from probes where name = ?", [probe]).fetchone() or ("[]",)
    places = json.loads(text)
    columns = ("recorded", "survivor")
    return {
        f"{places[n - 1]['turn']}/{places[n - 1]['agent']}/{(k - 1) * MAX_CELLS + columns.index(column) + 1}"
        for n, column, k in rows
    }


def test_a_probe_that_is_killed_asks_nothing_again_but_what_was_under_way(
    opened: Store, cli: Cli, process: Start, env: dict[str, str], tried: Callable[[str], None]
) -> None:
    before, answers, kills = requests(env), CELLS * TIMES, 0
    seen: list[tuple[set[str], dict[str, int]]] = []
    for moment in sorted(random.Random(1).sample(range(1, answers - PARALLEL), KILLS)):  # noqa: S311  no secret
        kills += kill_once(process(*PROBE, "killed", env=env), lambda: len(on_disk(opened, "killed")), moment)
        seen.append((on_disk(opened, "killed"), requests(env)))
    ended = json.loads(cli(*PROBE, "killed", env=env).stdout)
    after = requests(env)
    for answered, then in seen:
        assert {address: after[address] for address in answered} == {a: then[a] for a in answered}
    asked = sum(after.values()) - sum(before.values())
    reference = json.loads(cli(*PROBE, "unstopped", env=env).stdout)
    assert ended == {**reference, "probe": "killed"}
    assert asked <= answers + kills * PARALLEL
    tried(f"{kills} kills of a probe of {answers} answers; {asked} requests")


@pytest.mark.parametrize(("cap", "most"), [((), CELLS * TIMES), (("--max-calls", "20"), 20)])
def test_three_processes_that_ask_one_probe_pay_once(  # noqa: PLR0913, PLR0917  fixtures
    cap: tuple[str, ...],
    most: int,
    opened: Store,
    process: Start,
    env: dict[str, str],
    tried: Callable[[str], None],
) -> None:
    before = sum(requests(env).values())
    crowd = [process(*PROBE, "crowd", *cap, env=env) for _ in range(3)]
    codes = sorted(one.wait() for one in crowd)
    asked = sum(requests(env).values()) - before
    assert len(on_disk(opened, "crowd")) == asked == most
    assert codes.count(1) >= 2, "two are told that another one is at work"
    tried(f"3 processes; {asked} requests")
