"""The limits of a model hold over four processes, as a server sees it that counts."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hobbes.nodes.chat import ADDRESS_HEADER
from hobbes.wire.recorder import in_thread
from tests.play.test_kills import Start
from tests.play.test_models import completion, table, write

pytestmark = pytest.mark.soak

AT_ONCE, PER_MINUTE, RUNS, CALLS = 20, 600, 4, 200
FILE = """
name = "counted"
world = "mining"
rounds = 10
agents = 20
seeds = 2
model = "alice"

[arms.open]
"""


def test_four_processes_keep_the_limits_of_a_server_that_fails_and_asks_to_wait(
    home: Path, tmp_path: Path, process: Start, tried: Callable[[str], None]
) -> None:
    """It takes longer than a minute. On a slow machine there are fewer calls at a time, never more."""
    seen, under_way, most, tries = list[float](), 0, 0, Counter[str]()

    async def complete(request: Request) -> Response:
        nonlocal under_way, most
        seen.append(time.monotonic())
        under_way += 1
        most = max(most, under_way)
        address = request.headers[ADDRESS_HEADER]
        tries[address] += 1
        status = {1: 429, 3: 500}.get(tries[address])  # all runs have the same addresses
        try:
            await asyncio.sleep(0.2)  # so that others come
            if status is None:
                return completion("{}")
            return Response("later", status, {"retry-after": "1"} if status == 429 else {})
        finally:
            under_way -= 1

    file = tmp_path / "counted.toml"
    file.write_text(FILE)
    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    with in_thread(app) as base:
        write(home, alice=table(base, more=f"parallel = {AT_ONCE}\ncalls_per_minute = {PER_MINUTE}"))
        playing = process("experiment", str(file), "--yes", "--jobs", "4")
        told, _ = playing.communicate()
    assert f"{RUNS} runs, {RUNS} of them played now" in told
    assert len(seen) >= RUNS * CALLS + 2 * CALLS
    assert most <= AT_ONCE
    minutes = [later - earlier for earlier, later in zip(seen, seen[PER_MINUTE:], strict=False)]
    assert min(minutes) >= 60
    tried(f"{len(seen)} calls; at most {most} at once, and {PER_MINUTE + 1} took {min(minutes):.1f} s")
