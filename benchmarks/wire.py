"""What a run costs over HTTP: its wall-clock time divided by the ideal, in which only the model takes time.

The stand-in server runs in another process and delays each answer. For comparison, the same prompts are sent
by openai's client alone, which shows what it and the machine cost anyway. A further row is about many games
at once.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias

import httpx2
import openai

from benchmarks._runs import serving
from hobbes.loop import play_out
from hobbes.nodes.journal import Prompt
from hobbes.nodes.rate_limits import RateLimiter
from hobbes.play.playthrough import Shared, go_on
from hobbes.play.side_by_side import Progress, play_runs
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import Store, open_store
from hobbes.store.recorded_run import Run
from hobbes.wire.recorder import environment

TURNS, DELAY, REPEATS = 20, 0.05, 3
IDEAL = TURNS * DELAY
"""Seconds. The agents of a turn are asked at once, so each turn takes one delay."""

REACH = {10: 1.35, 20: 1.50, 100: 3.00}
"""Wall-clock time of a run divided by the ideal that is aimed at, by the number of agents."""

GAMES, GAME_AGENTS, GAME_TURNS, GAME_DELAY = 20, 4, 10, 0.2
"""Games that are played side by side, and the seconds of an answer in them."""

HOBBES = Path(sys.executable).with_name("hobbes")

Prompts: TypeAlias = list[dict[str, Prompt]]
"""The prompts of each turn, by agent, in the order of turns."""


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table: wall over ideal of a run and of openai's client."""
    with served(DELAY) as url, environment(OPENAI_BASE_URL=url, OPENAI_API_KEY="none"):
        rows = [row for agents in REACH for row in _rows(url, agents)]
    with served(GAME_DELAY) as url, environment(OPENAI_BASE_URL=url, OPENAI_API_KEY="none"):
        return [*rows, *_side_by_side()]


def _side_by_side() -> list[tuple[str, str, str]]:
    """Return how much longer many games take side by side than one of them alone."""
    (one,), alone = _games(1)
    many, together = _games(GAMES)
    assert many[0] == one, "a game has another digest beside others than alone"  # noqa: S101
    load = f"{GAMES} games of {GAME_AGENTS} agents x {GAME_TURNS} turns at {GAME_DELAY * 1000:.0f} ms a call"
    return [
        (f"{load}, side by side: seconds", f"{together:.1f}", ""),
        ("  that time over the time of one game alone", f"{together / alone:.2f}", "<= 1.30"),
    ]


def _games(count: int) -> tuple[list[str], float]:
    """Play so many games side by side, each with its seed. Return their digests, and the seconds."""
    with _home() as home:
        options = (
            RunOptions("mining", GAME_AGENTS, seed, "openai:policy/guided", values={"rounds": GAME_TURNS})
            for seed in range(1, count + 1)
        )
        runs = [begin(home, one) for one in options]
        began = time.perf_counter()
        play_runs(home, runs, count, Shared(limiter=RateLimiter()), Progress())
        seconds = time.perf_counter() - began
        return [home.runs.find(run.id).digest for run in runs], seconds


def _rows(url: str, agents: int) -> list[tuple[str, str, str]]:
    """Return the rows of runs with a number of agents."""
    with _home() as home:
        run, _ = _run(home, agents)
        prompts = [
            {call.address.agent: call.prompt for call in home.calls.of_turn(run.id, turn)}
            for turn in range(TURNS)
        ]
        repeats = [(_run(home, agents)[1], timed(lambda: _posted(url, prompts))) for _ in range(REPEATS)]
    whole, posted = (min(seconds) / IDEAL for seconds in zip(*repeats, strict=True))
    load = f"{agents} agents x {TURNS} turns at {DELAY * 1000:.0f} ms a call"
    return [
        (f"wall over ideal over HTTP, all recorded: {load}", f"{whole:.2f}", f"<= {REACH[agents]:.2f}"),
        ("  floor: openai's client.post on aiohttp", f"{posted:.2f}", ""),
    ]


def served(delay: float, hobbes: Path = HOBBES) -> AbstractContextManager[str]:
    """Run the stand-in server in another process, with this delay, and yield its base URL."""
    return serving([str(hobbes), "serve", "--port", "0", "--delay", str(delay)])


@contextmanager
def _home() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder)) as opened:
        yield opened


def _run(home: Store, agents: int) -> tuple[Run, float]:
    """Play a run through the server. Return the run and the seconds that it took."""
    request = RunOptions("mining", agents=agents, models="openai:policy/guided", values={"rounds": TURNS})
    run = begin(home, request)
    return run, timed(lambda: go_on(home, run, lambda _: None))


def timed(act: Callable[[], Awaitable[None]]) -> float:
    """Return how many seconds an action takes."""

    async def acting() -> float:
        began = time.perf_counter()
        await act()
        return time.perf_counter() - began

    return play_out(acting())


async def _posted(url: str, prompts: Prompts) -> None:
    """Send the prompts turn by turn through openai's client alone."""
    http = openai.DefaultAioHttpClient(limits=httpx2.Limits(max_connections=None))
    async with openai.AsyncOpenAI(base_url=url, http_client=http, max_retries=0) as client:
        for asked in prompts:
            await asyncio.gather(
                *(
                    client.post("/chat/completions", cast_to=httpx2.Response, body=_body(prompt))
                    for prompt in asked.values()
                )
            )


def _body(prompt: Prompt) -> dict[str, object]:
    """Return the smallest request body that the protocol allows."""
    messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.turn}]
    return {"model": "policy/guided", "messages": messages}
