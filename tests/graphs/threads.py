"""The thread of a run: its checkpoints as LangGraph's own saver lists them, and what somebody does in it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.sqlite import SqliteSaver

import hobbes
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from tests.small_runs import go


def kept(home: Path, run: str, by: str = "") -> list[CheckpointTuple]:
    """The checkpoints of a thread as LangGraph's own saver lists them, the oldest first.

    `by` leaves those that a `run` wrote, or a `what-if`.
    """
    with SqliteSaver.from_conn_string(str(home / "checkpoints.db")) as saver:
        filter_ = {"hobbes": by} if by else None
        return [*saver.list({"configurable": {"thread_id": run}}, filter=filter_)][::-1]


def turns_in(checkpoints: list[CheckpointTuple]) -> list[int]:
    return [one.checkpoint["channel_values"]["turn"] for one in checkpoints]


def is_one_line(checkpoints: list[CheckpointTuple]) -> bool:
    """Whether the first checkpoint has no parent, and each other one's parent is the one before it."""
    ids = [one.config["configurable"]["checkpoint_id"] for one in checkpoints]
    parents = [
        one.parent_config and one.parent_config["configurable"]["checkpoint_id"] for one in checkpoints
    ]
    return parents == [None, *ids[:-1]]


def stop_after(store: Store, run: Run, turn: int) -> None:
    """Play a run until somebody stops it after a turn."""

    def stop(state: Any) -> None:
        if state["turn"] == turn:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(store, run, on_turn=stop)


def with_graph(home: Path, run: str, act: Callable[[Any, Any], Awaitable[Any]]) -> Any:
    """Return what an action returns for the graph of a run and its config."""

    async def acting() -> Any:
        async with hobbes.graph(run, home) as (graph, config):
            return await act(graph, config)

    return asyncio.run(acting())
