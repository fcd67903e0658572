"""Small runs for tests."""

import asyncio
from typing import Any

from lab.play.playing import RunOptions, begin, go_on
from lab.proof.verifying import faults
from lab.store.database import Run, Store


def mining(store: Store, **asked: Any) -> Run:
    """Play a small mining run to its end."""
    asked = {"agents": 3, "values": {"rounds": 4, "rows": 4, "cols": 4}, **asked}
    return played(store, RunOptions("mining", **asked))


def played(store: Store, request: RunOptions) -> Run:
    """Play a run to its end; whatever was played, it verifies."""
    run = begin(store, request)
    asyncio.run(go_on(store, run, lambda _: None))
    run = store.find(run.id)
    assert list(faults(store, run)) == []
    return run
