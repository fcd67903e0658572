"""No live calls in tests: the network is blocked but for this machine, and the environment is bare."""

import asyncio
import gc
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
import typer.testing
import uvicorn.server
from hypothesis import settings
from starlette.testclient import TestClient
from typer.main import get_command
from typer.testing import CliRunner, Result

from hobbes.cli import app
from hobbes.experiment import worker_processes
from hobbes.nodes import call_failures, prompt_set
from hobbes.show.terminal import ERR, OUT
from hobbes.show.web.server import site
from hobbes.store.home import Store, open_store
from hobbes.worlds import WORLDS
from tests import forking
from tests.fishery.world import FISHERY
from tests.forking import Command
from tests.pages import LOCAL
from tests.small_experiment import documents, play_all, written
from tests.soak import times

# Ten times as many as Hypothesis tries by itself, if the soak is not a small one.
settings.register_profile("soak", max_examples=max(10, times(1_000)))

# Hundreds of processes import the same modules; compiled once, they are kept for all.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

ROOT = Path(__file__).parents[1]
# Imports and collection only add objects that stay; to look for garbage among them takes two seconds.
gc.disable()

LOOPBACK = {"127.0.0.1", "::1", "localhost"}


SYSTEM_REQUIRED = os.environ.get("HOBBES_REQUIRE_SYSTEM") == "1"
"""Whether a test that this machine has no means for fails, rather than being skipped."""


def missing(what: str) -> NoReturn:
    """Skip a test for what the machine lacks; fail where it must not (HOBBES_REQUIRE_SYSTEM=1)."""
    if SYSTEM_REQUIRED:
        pytest.fail(f"HOBBES_REQUIRE_SYSTEM=1, and {what}")
    pytest.skip(what)


class LiveCallError(AssertionError):
    """A test tried to reach the network."""


@pytest.hookimpl(optionalhook=True)  # there is no such hook without pytest-xdist
def pytest_xdist_auto_num_workers() -> int:
    """Three workers for two processors: tests that wait for a process or a browser leave theirs idle."""
    return (os.cpu_count() or 1) * 3 // 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the long tests, so that no worker is left alone with one at the end."""
    items.sort(key=lambda item: ROOT / "tests" / "engine" in item.path.parents)


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of garbage collections, which takes a fifth off the suite."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] not in LOOPBACK:
            raise LiveCallError(f"live call to {address}")
        connect(self, address)

    def guarded_look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host not in LOOPBACK:
            raise LiveCallError(f"live look-up of {host}")
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)


@pytest.fixture(scope="session", autouse=True)
def _commands_are_made_once() -> Iterator[None]:
    """A process makes the commands once; CliRunner would make them again for each call, in 10 ms."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(typer.testing, "_get_command", cache(get_command))
        yield


@pytest.fixture(scope="session", autouse=True)
def _servers_stop_at_once() -> Iterator[None]:
    """A server looks every 10 ms whether it should stop; uvicorn waits up to 200 ms until it has stopped."""

    async def soon(_: float) -> None:
        await asyncio.sleep(0.01)

    hurried = SimpleNamespace(**{**vars(asyncio), "sleep": soon})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(uvicorn.server, "asyncio", hurried)
        yield


@pytest.fixture(scope="session")
def nobody(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The home of nobody: there is no such folder. One for all tests, most of which need no `tmp_path`."""
    return str(tmp_path_factory.getbasetemp() / "nobody")


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch, nobody: str) -> None:
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "HOBBES_", "LANGSMITH_", "LANGCHAIN_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", nobody)
    monkeypatch.setenv("HOBBES_JOBS", "1")  # other processes start slowly, and know nothing of patches
    monkeypatch.setenv("COLUMNS", "200")
    for console in (OUT, ERR):  # pytest-xdist sets COLUMNS before they are made, which would fix their width
        monkeypatch.setattr(console, "_width", None)


@pytest.fixture(autouse=True)
def waits() -> Iterator[list[float]]:
    """The seconds that a run waited between its tries; nobody waits in tests."""
    waited: list[float] = []

    async def no_wait(seconds: float) -> None:
        waited.append(seconds)

    before = call_failures.wait.set(no_wait)
    yield waited
    call_failures.wait.reset(before)


@pytest.fixture
def prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the prompts, which is used in place of the checkout's."""
    monkeypatch.setattr(prompt_set, "ROOT", shutil.copytree(prompt_set.ROOT, tmp_path / "prompts"))
    return prompt_set.ROOT


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def opened(home: Path) -> Iterator[Store]:
    with open_store(home) as found:
        yield found


@pytest.fixture
def with_fishery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WORLDS, FISHERY.name, FISHERY)


Hobbes = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def hobbes(home: Path) -> Hobbes:
    """The command, as a process of its own with this home; `through` is a command that starts it."""

    def run(*arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "HOBBES_HOME": str(home), **options.pop("env", {})}
        return subprocess.run(
            [*options.pop("through", ()), sys.executable, "-m", "hobbes", *arguments],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **options,
        )

    return run


Cli = Callable[..., Result]


@pytest.fixture
def cli(home: Path) -> Cli:
    """The command in this process; an error for people is the exception of the result."""

    def run(*arguments: str, env: dict[str, str] | None = None, **options: Any) -> Result:
        return CliRunner().invoke(app, arguments, env={"HOBBES_HOME": str(home), **(env or {})}, **options)

    return run


@pytest.fixture
def pages(home: Path) -> Iterator[TestClient]:
    with TestClient(site(home, "127.0.0.1"), base_url=LOCAL) as visitor:
        yield visitor


@pytest.fixture(scope="session", autouse=True)
def _forks_have_imported_the_command() -> Iterator[None]:
    """The process whose forks play experiments is also that whose forks are commands."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(worker_processes, "GAMES", forking.__name__)
        yield


@pytest.fixture
def process(home: Path) -> Iterator[Callable[..., Command]]:
    """A command that is left running; whatever is left at the end is killed."""
    started: list[Command] = []

    def start(*arguments: str, env: dict[str, str] | None = None) -> Command:
        found = Command(arguments, {**os.environ, "HOBBES_HOME": str(home), **(env or {})})
        started.append(found)
        return found

    yield start
    for one in started:
        one.kill()
        one.wait()
        one.stdout.close()


@pytest.fixture(scope="session")
def small_experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which `tests.small_experiment.FILE` has been played; no test changes it."""
    folder = tmp_path_factory.mktemp("small")
    with open_store(folder / "home") as store:
        play_all(store, written(folder))
    return folder / "home"


@pytest.fixture(scope="session")
def whole(small_experiment: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The report of that experiment, which was played in this process without a stop."""
    home = tmp_path_factory.mktemp("whole") / "home"
    shutil.copytree(small_experiment, home)  # a report plays games again, and keeps their turns
    found = documents(home)
    assert all(found)
    return found


@pytest.fixture
def small(small_experiment: Path, home: Path) -> Iterator[Store]:
    """The run database of a home of its own in which that experiment has been played."""
    shutil.copytree(small_experiment, home)
    with open_store(home) as found:
        yield found
