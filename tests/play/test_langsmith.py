"""What is uploaded to LangSmith: nothing, unless somebody asks for it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from hobbes.wire.recorder import in_thread
from hobbes.wire.stand_in import stand_in
from tests.conftest import ROOT

SCRIPT = """
import asyncio
import os
import urllib.request
from contextlib import suppress

import hobbes as api
from hobbes.cli import app
from hobbes.errors import HobbesError
from hobbes.graphs.mining import graph
from langchain_core.tracers.langchain import wait_for_all_tracers
from langsmith.utils import tracing_is_enabled

def hobbes(*words):
    with suppress(HobbesError, SystemExit):
        app(words, standalone_mode=False)

def ended(part):
    wait_for_all_tracers()
    urllib.request.urlopen(f"{os.environ['LANGSMITH_ENDPOINT']}/ended/{part}", data=b"")

async def travel():
    async with api.graph("last") as (graph, config):
        history = [one async for one in graph.aget_state_history(config)]
        await graph.ainvoke(None, history[1].config)

SMALL = ("run", "mining", "--agents", "2", "--rounds", "2")

hobbes(*SMALL, "--max-calls", "2")
hobbes("resume", "last", "--max-calls", "99")
hobbes(*SMALL, "--model", "openai:policy/guided")
hobbes("replay", "last")
hobbes("fork", "last", "--turn", "1", "--times", "2")
hobbes("replay", "last")
assert tracing_is_enabled()
ended("commands")
asyncio.run(graph.ainvoke({}, context={"agents": 1, "config": {"rounds": 1}}))
ended("studio")
hobbes(*SMALL, "--trace-langsmith")
ended("asked")
asyncio.run(travel())
ended("graph")
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


@pytest.fixture(scope="module")
def uploads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What each part of the script uploads, in a process in whose environment tracing is on."""
    home = tmp_path_factory.mktemp("langsmith")
    with langsmith() as (there, sent), in_thread(stand_in()) as models:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "HOBBES_HOME": str(home / "runs"),
            "LANGSMITH_TRACING": "true",
            "LANGSMITH_API_KEY": "any",
            "LANGSMITH_ENDPOINT": there,
            "OPENAI_BASE_URL": models,
        }
        words = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(
            words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
    of_part: dict[str, list[str]] = {}
    since: list[str] = []
    for path in sent:
        before, ended, part = path.partition("/ended/")
        if ended:
            of_part[part], since = since, []
        else:
            since.append(before)
    return of_part


def test_nothing_is_uploaded_of_what_commands_play_though_the_tracing_of_their_program_is_on(
    uploads: dict[str, list[str]],
) -> None:
    assert uploads["commands"] == []


@pytest.mark.parametrize("part", ["studio", "asked", "graph"])
def test_a_run_is_uploaded_where_somebody_asks_and_graphs_follow_the_environment(
    part: str, uploads: dict[str, list[str]]
) -> None:
    assert uploads[part]
