"""Small runs for tests."""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hobbes.nodes.journal import Prompt
from hobbes.play.people import keep_answer, the_question
from hobbes.play.playthrough import OnTurn, go_on
from hobbes.play.render import PromptQuestion
from hobbes.play.start import RunOptions, begin
from hobbes.prove.verification import verify
from hobbes.store.home import Store, open_store
from hobbes.store.recorded_run import Run

SMALL = RunOptions("mining", 3, values={"rounds": 4, "rows": 4, "cols": 4})


def edit(file: Path, old: str, new: str) -> None:
    """Replace what a file has."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def mining(store: Store, **asked: Any) -> Run:
    return played(store, replace(SMALL, **asked)) if asked else played_once(store, SMALL)


def played_once(store: Store, request: RunOptions) -> Run:
    """Play a run to its end. The first run of a home is a copy of one that this process plays only once."""
    if store.db.table("runs").count:
        return played(store, request)
    runs, checkpoints = _home_of(request)
    runs.backup(store.connection)
    (store.home / "checkpoints.db").write_bytes(checkpoints)
    return store.runs.find("last")


_homes: dict[str, tuple[sqlite3.Connection, bytes]] = {}


def _home_of(request: RunOptions) -> tuple[sqlite3.Connection, bytes]:
    """Return a copy of the run database of a home with one run, and its checkpoints."""
    if repr(request) not in _homes:
        with TemporaryDirectory() as folder:
            home = Path(folder)
            with open_store(home) as store:
                played(store, request)
                runs = sqlite3.connect(":memory:", check_same_thread=False)
                store.connection.backup(runs)
            _homes[repr(request)] = runs, (home / "checkpoints.db").read_bytes()
    return _homes[repr(request)]


def go(store: Store, run: Run, said: str | None = None, on_turn: OnTurn = lambda _: None) -> Run:
    """Go on with a run as a new process would; a person who was asked has `said` something before."""
    if said is not None:
        keep_answer(store, run, the_question(run), said)
    asyncio.run(go_on(store, store.runs.find(run.id), on_turn))
    return store.runs.find(run.id)


def played(store: Store, request: RunOptions) -> Run:
    """Play a run to its end; whatever was played, it verifies."""
    run = go(store, begin(store, request))
    assert list(verify(store, run)) == []
    return run


def prompt_of(question: PromptQuestion) -> Prompt:
    """Return the prompt of a question as the files say it now."""
    return question.render(question.load_prompts())
