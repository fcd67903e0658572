"""Small runs for tests."""

import asyncio
from typing import Any

from lab.play.answering import the_question
from lab.play.playing import RunOptions, begin, go_on, keep_answer
from lab.proof.verifying import faults
from lab.store.database import Run, Store


def mining(store: Store, **asked: Any) -> Run:
    """Play a small mining run to its end."""
    asked = {"agents": 3, "values": {"rounds": 4, "rows": 4, "cols": 4}, **asked}
    return played(store, RunOptions("mining", **asked))


def go(store: Store, run: Run, said: str | None = None) -> Run:
    """Go on with a run as a new process would; a person who was asked has `said` something before."""
    if said is not None:
        keep_answer(store, run, the_question(run), said)
    asyncio.run(go_on(store, store.find(run.id), lambda _: None))
    return store.find(run.id)


def played(store: Store, request: RunOptions) -> Run:
    """Play a run to its end; whatever was played, it verifies."""
    run = go(store, begin(store, request))
    assert list(faults(store, run)) == []
    return run
