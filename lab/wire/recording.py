"""Recording and playing cassettes: a run's file `cassettes/NAME.toml`, and beside it `NAME.json.gz`.

`make record` records all of them anew, through the real client, against the stand-in server or, with
OPENAI_BASE_URL and MODEL, against any server that speaks OpenAI's chat completions.
"""

import asyncio
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette

from lab.errors import UsageError
from lab.play.playing import RunOptions, begin, go_on
from lab.play.runfile import read_run_file
from lab.store.database import Store, open_store
from lab.wire.cassettes import meta_of, playing, recording
from lab.wire.serving import configured, stand_in

STAND_IN = "hobbes serve, the rule-based stand-in server"


@contextmanager
def in_thread(app: Starlette) -> Iterator[str]:
    """Serve an application in a thread of this process; give its base URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(configured(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Set variables for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def record(file: Path, base_url: str, source: str, model: str | None) -> dict[str, Any]:
    """Play a run's file against a server and keep what went over the wire; give the run's description."""
    request = read_run_file(file)
    request = replace(request, models=model or request.models, name=None)
    with environment(OPENAI_BASE_URL=base_url), recording(cassette_of(file)) as cassette, _fresh() as home:
        cassette.meta.update({"source": source, "run": asdict(request), **_played(home, request)})
        return cassette.meta


def source_of(base_url: str | None) -> str:
    """Say where a cassette comes from: a server by its host alone, since a URL may carry secrets."""
    return STAND_IN if base_url is None else urlsplit(base_url).hostname or "a server"


def cassette_of(file: Path) -> Path:
    """Name the cassette of a run's file."""
    return file.with_name(f"{file.stem}.json.gz")


def play_cassette(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Play a cassette's run again without a network; give what it came to then and now.

    CassetteMissError names turn and agent of the first prompt that is not the recorded one.
    """
    then = meta_of(path)
    # No key is needed, and no address: nothing is sent.
    nowhere = environment(OPENAI_BASE_URL="https://model.invalid/v1", OPENAI_API_KEY="none")
    try:
        request = RunOptions(**then["run"])
    except TypeError as error:
        raise UsageError(f"{path} holds a run that this hobbes cannot ask for: {error}") from error
    with nowhere, playing(path), _fresh() as home:
        return then, _played(home, request)


def _played(home: Store, request: RunOptions) -> dict[str, Any]:
    """Play a run; give what is compared: the digest of each turn, and the counts that people look at."""
    run = begin(home, request)
    asyncio.run(go_on(home, run, lambda _: None))
    result = home.result(home.find(run.id))
    told = {
        name: result[name] for name in ("turns", "digest", "calls", "outcomes", "drops", "mends", "scores")
    }
    found_as = home.counts(run.id, "calls", "found_as")
    return told | {"found_as": found_as, "digests": [turn.digest for turn in home.turns(run.id)]}


@contextmanager
def _fresh() -> Iterator[Store]:
    """Open a home that is forgotten afterwards."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder)) as opened:
        yield opened


def first_difference(then: dict[str, Any], now: dict[str, Any]) -> int | None:
    """Give the first turn whose digest differs."""
    pairs = zip(then["digests"], now["digests"], strict=False)
    return next((turn for turn, (a, b) in enumerate(pairs) if a != b), None)


def main() -> None:
    """Record every run's file of cassettes/, or those named."""
    names = [Path(name) for name in sys.argv[1:]] or sorted(Path("cassettes").glob("*.toml"))
    base_url = os.environ.get("OPENAI_BASE_URL")
    with nullcontext(base_url) if base_url else in_thread(stand_in()) as url:
        for file in names:
            began = time.monotonic()
            meta = record(file, str(url), source_of(base_url), os.environ.get("MODEL"))
            took = f"{meta['calls']} calls in {time.monotonic() - began:.1f} s"
            print(f"{cassette_of(file)}: {took}, digest {meta['digest'][:12]}")  # noqa: T201  its progress


if __name__ == "__main__":
    main()
