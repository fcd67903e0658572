"""What is uploaded to LangSmith: nothing, unless somebody asks for it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from hobbes.wire.recorder import in_thread
from hobbes.wire.stand_in import stand_in
from tests.conftest import ROOT

COMMANDS = """
import os
import urllib.request
from contextlib import suppress
from hobbes.cli import app
from hobbes.errors import HobbesError
from langchain_core.tracers.langchain import wait_for_all_tracers
from langsmith.utils import tracing_is_enabled

def hobbes(*words):
    with suppress(HobbesError, SystemExit):
        app(words, standalone_mode=False)
    wait_for_all_tracers()

SMALL = ("run", "mining", "--agents", "2", "--rounds", "2")
"""


@contextmanager
def langsmith() -> Iterator[tuple[str, list[str]]]:
    """Serve in LangSmith's place; yield its address and the paths to which something was sent."""
    uploads: list[str] = []

    async def take(request: Request) -> JSONResponse:
        if request.method != "GET":
            uploads.append(request.url.path)
        return JSONResponse({})

    with in_thread(Starlette(routes=[Route("/{path:path}", take, methods=["GET", "POST", "PATCH"])])) as base:
        yield base, uploads


def uploads_of(script: str, home: Path) -> tuple[list[str], str]:
    """Run a script in whose environment tracing is on. Return what it uploads and what it prints."""
    with langsmith() as (there, uploads), in_thread(stand_in()) as models:
        env = {
            **os.environ,
            "HOBBES_HOME": str(home),
            "LANGSMITH_TRACING": "true",
            "LANGSMITH_API_KEY": "any",
            "LANGSMITH_ENDPOINT": there,
            "OPENAI_BASE_URL": models,
        }
        words = [sys.executable, "-c", COMMANDS + script]
        done = subprocess.run(
            words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=True
        )
    return uploads, done.stdout


def test_nothing_is_uploaded_of_what_commands_play_and_the_tracing_of_their_program_stays_on(
    home: Path,
) -> None:
    uploads, printed = uploads_of(
        """
hobbes(*SMALL, "--max-calls", "2")
hobbes("resume", "last", "--max-calls", "99")
hobbes(*SMALL, "--model", "openai:policy/guided")
hobbes("replay", "last")
hobbes("fork", "last", "--turn", "1", "--times", "2")
hobbes("replay", "last")
print(tracing_is_enabled())
""",
        home,
    )
    assert uploads == []
    assert printed.endswith("True\n")


def test_the_graphs_of_studio_follow_the_environment(home: Path) -> None:
    studio = """
import asyncio
from hobbes.graphs.mining import graph

asyncio.run(graph.ainvoke({}, context={"agents": 1, "config": {"rounds": 1}}))
wait_for_all_tracers()
"""
    assert uploads_of(studio, home)[0]


def test_a_run_is_uploaded_where_somebody_asks_for_it_and_hobbes_graph_follows_the_environment(
    home: Path,
) -> None:
    script = """
hobbes(*SMALL, "--trace-langsmith")
urllib.request.urlopen(f"{os.environ['LANGSMITH_ENDPOINT']}/then", data=b"")
import asyncio
import hobbes as api

async def travel():
    async with api.graph("last") as (graph, config):
        history = [one async for one in graph.aget_state_history(config)]
        await graph.ainvoke(None, history[1].config)

asyncio.run(travel())
wait_for_all_tracers()
"""
    uploads, _ = uploads_of(script, home)
    of_run, of_graph = uploads[: uploads.index("/v1/then")], uploads[uploads.index("/v1/then") + 1 :]
    assert of_run
    assert of_graph
