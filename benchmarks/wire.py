"""What a run costs over HTTP: its wall clock over the ideal, in which nothing takes time but the model.

The stand-in server runs beside it as a process of its own. The same prompts are sent by the same client in a
bare loop, without graph and record, and by raw httpx2: what the client and the machine cost anyway.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import httpx2

from lab.play.playing import RunOptions, begin, go_on
from lab.store.database import Run, Store, open_store
from lab.wire.recording import environment
from nodes.chat import ChatPlayer
from nodes.journal import Address, Prompt

AGENTS, TURNS, DELAY, GOES = 10, 50, 0.05, 3
IDEAL = TURNS * DELAY
WANTED = 1.5

Asked: TypeAlias = list[dict[str, Prompt]]
"""The prompts of each turn, by agent."""


def measure() -> list[tuple[str, str, str]]:
    """Give wall over ideal of a run, of the bare loop and of raw HTTP, measured in turns."""
    with _served() as url, environment(OPENAI_BASE_URL=url, OPENAI_API_KEY="none"), _home() as home:
        run, _ = _run(home)
        asked = [
            {call.address.agent: call.prompt for call in home.calls(run.id, turn)} for turn in range(TURNS)
        ]
        goes = [
            (_run(home)[1], _timed(lambda: _bare(run, asked)), _timed(lambda: _raw(url, asked)))
            for _ in range(GOES)
        ]
    whole, bare, raw = (min(seconds) / IDEAL for seconds in zip(*goes, strict=True))
    load = f"{AGENTS} agents x {TURNS} turns at {DELAY * 1000:.0f} ms a call"
    return [
        (f"wall over ideal over HTTP, all recorded: {load}", f"{whole:.2f}", f"<= {WANTED}"),
        ("  the same client in a bare loop, neither graph nor record", f"{bare:.2f}", ""),
        ("  raw httpx2, no client", f"{raw:.2f}", ""),
    ]


@contextmanager
def _served() -> Iterator[str]:
    """Start the stand-in server as a process of its own; give its base URL."""
    command = [sys.executable, "-m", "lab.cli", "serve", "--port", "0", "--delay", str(DELAY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as server:
        assert server.stdout is not None  # noqa: S101  it is a pipe
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


@contextmanager
def _home() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder)) as opened:
        yield opened


def _run(home: Store) -> tuple[Run, float]:
    """Play a run through the server; give it, with the seconds that it took."""
    request = RunOptions("mining", agents=AGENTS, models="openai:policy/guided", values={"rounds": TURNS})
    run = begin(home, request)
    return run, _timed(lambda: go_on(home, run, lambda _: None))


def _timed(act: Callable[[], Awaitable[None]]) -> float:
    """Give the seconds that something takes."""

    async def acting() -> float:
        began = time.perf_counter()
        await act()
        return time.perf_counter() - began

    return asyncio.run(acting())


async def _bare(run: Run, asked: Asked) -> None:
    """Ask all that the run asked, a turn at a time, through its client."""
    mind = ChatPlayer("policy/guided", "", run.prompts)
    for turn, prompts in enumerate(asked):
        await asyncio.gather(*(mind.reply(Address(turn, agent), prompts[agent]) for agent in prompts))
    await mind.close()


async def _raw(url: str, asked: Asked) -> None:
    """Ask it all with nothing but HTTP."""
    async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
        for prompts in asked:
            await asyncio.gather(
                *(client.post("/chat/completions", json=_body(prompt)) for prompt in prompts.values())
            )


def _body(prompt: Prompt) -> dict[str, object]:
    """Give the least that the protocol asks for."""
    messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.turn}]
    return {"model": "policy/guided", "messages": messages}
