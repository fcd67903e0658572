"""Recording and playing cassettes: a run file `cassettes/NAME.toml` is recorded into `NAME.yaml`.

`make record` records all of them again with the real client, from the stand-in server or, if OPENAI_BASE_URL
and MODEL are set, from any chat-completions server.
"""

import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette

from hobbes.files import CASSETTE_SUFFIX
from hobbes.loop import play_out
from hobbes.play.playthrough import go_on
from hobbes.play.run_file import read_run_file
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import Store, open_store
from hobbes.wire.cassette_files import description_file, read_description, recorded_options, write_description
from hobbes.wire.cassettes import NEUTRAL_BASE_URL, answer_from_cassette, record_cassette
from hobbes.wire.listener import listener, url
from hobbes.wire.stand_in import server, stand_in

STAND_IN = "hobbes serve, the rule-based stand-in server"


@contextmanager
def in_thread(app: Starlette) -> Iterator[str]:
    """Serve an application as the stand-in server, in a thread of this process, and yield its base URL."""
    with run_server(server(app)) as url:
        yield f"{url}/v1"


@contextmanager
def run_server(config: uvicorn.Config) -> Iterator[str]:
    """Run a server in a thread of this process, and yield its URL without a path."""
    started = uvicorn.Server(config)
    with listener("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=started.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield url("127.0.0.1", listening)
        finally:
            started.should_exit = True
            thread.join()


def environment(**values: str) -> AbstractContextManager[object]:
    """Set environment variables, and restore all of them afterwards."""
    return patch.dict(os.environ, values)


def record(file: Path, base_url: str, source: str, model: str | None) -> dict[str, Any]:
    """Play a run file against a server, record the exchanges, and return the description of the run."""
    request = read_run_file(file)
    request = replace(request, models=model or request.models, name=None)
    path = cassette_of(file)
    description_file(path).unlink(missing_ok=True)
    with environment(OPENAI_BASE_URL=base_url), record_cassette(path), _fresh() as home:
        description = {"source": source, "run": asdict(request), **_play_and_report(home, request)}
    write_description(path, description)
    return description


def source_of(base_url: str | None) -> str:
    """Return where the answers come from: only the host of a server, since its URL may contain secrets."""
    return STAND_IN if base_url is None else urlsplit(base_url).hostname or "a server"


def cassette_of(file: Path) -> Path:
    """Return the path of a run file's cassette."""
    return file.with_suffix(CASSETTE_SUFFIX)


def play_cassette(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Play the run of a cassette again without a network; return its recorded and its present results.

    Raise CassetteMissError, with turn and agent, at the first prompt that differs from the recorded one.
    """
    then = read_description(path)
    # Nothing is sent, but the client needs a URL and a key.
    no_server = environment(OPENAI_BASE_URL=NEUTRAL_BASE_URL, OPENAI_API_KEY="none")
    with no_server, answer_from_cassette(path), _fresh() as home:
        return then, _play_and_report(home, recorded_options(path, then))


def _play_and_report(home: Store, request: RunOptions) -> dict[str, Any]:
    """Play a run and return its results: the digest of each turn, counts and scores."""
    run = begin(home, request)
    play_out(go_on(home, run, lambda _: None))
    result = home.figures.result(home.runs.find(run.id))
    names = ("turns", "digest", "calls", "outcomes", "drops", "mends", "scores")
    return {
        **{name: result[name] for name in names},
        "found_as": home.figures.counts(run.id, "calls", "found_as"),
        "digests": [turn.digest for turn in home.turns.of(home.runs.find(run.id))],
    }


@contextmanager
def _fresh() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder)) as opened:
        yield opened


def first_difference(then: dict[str, Any], now: dict[str, Any]) -> int | None:
    """Return the first turn whose digest differs, or None."""
    pairs = zip(then["digests"], now["digests"], strict=False)
    return next((turn for turn, (a, b) in enumerate(pairs) if a != b), None)


def main() -> None:
    """Record every run file in cassettes/, or those named on the command line."""
    names = [Path(name) for name in sys.argv[1:]] or sorted(Path("cassettes").glob("*.toml"))
    base_url = os.environ.get("OPENAI_BASE_URL")
    with nullcontext(base_url) if base_url else in_thread(stand_in()) as url:
        for file in names:
            began = time.monotonic()
            source = os.environ.get("SOURCE") or source_of(base_url)
            recorded = record(file, str(url), source, os.environ.get("MODEL"))
            took = f"{recorded['calls']} calls in {time.monotonic() - began:.1f} s"
            print(f"{cassette_of(file)}: {took}, digest {recorded['digest'][:12]}")  # noqa: T201  progress


if __name__ == "__main__":
    main()
