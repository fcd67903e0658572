"""Play runs on the graph: start, resume, replay.

A run is one stream through the graph. LangGraph's own saver keeps a checkpoint of it after each turn, in the
thread that has the run's id. A run that was stopped goes on from the last turn of the run database, whose
journal has the answers that arrived since then; its checkpoints are history, which may end earlier.
"""

import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

import aiosqlite
from filelock import FileLock
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import INTERRUPT
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph.state import CompiledStateGraph

from hobbes.graphs.database import BUSY_SECONDS, connect
from hobbes.graphs.turn import Node, build
from hobbes.nodes.state import TurnState

ROWS_AT_A_TIME = 64
"""How many rows aiosqlite fetches at a time, as it does by default."""

Checkpoints: TypeAlias = aiosqlite.Connection
"""An open database of checkpoints."""

PLAIN = JsonPlusSerializer(allowed_msgpack_modules=None)
"""Reads plain values and LangGraph's own types. By default LangGraph calls whatever a checkpoint names."""

LASTING_CHANNELS = ["run", "models", "turn", "world", "memories", "digest", "over"]
"""The channels that live longer than a turn. `log` writes the last five, and `observe` adds to the models."""


class TurnSaver(AsyncSqliteSaver):
    """LangGraph's saver for one run, which keeps the checkpoints between turns, and where a person is asked.

    LangGraph hands over a checkpoint after each node. Those inside a turn hold all views and answers. There
    are four or five times as many, and they tell nothing that the run database does not have.
    """

    _parent: str | None = None
    """The id of the checkpoint that was kept last."""

    _inside: tuple[RunnableConfig, Checkpoint, CheckpointMetadata, ChannelVersions]
    """The last checkpoint inside a turn, which is kept only if the run stops there."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        super().__init__(checkpoints, serde=PLAIN)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint between two turns. Its parent is the one that was kept before it."""
        if metadata["source"] == "input" or checkpoint["channel_values"].get("views"):
            self._inside = (config, checkpoint, metadata, new_versions)
            return {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}
        return await super().aput(self._after_last(config, checkpoint), checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep the checkpoint at which a person is asked, with the question."""
        if any(channel == INTERRUPT for channel, _ in writes):
            inside, checkpoint, metadata, new_versions = self._inside
            await super().aput(self._after_last(inside, checkpoint), checkpoint, metadata, new_versions)
            await super().aput_writes(config, writes, task_id, task_path)

    def _after_last(self, config: RunnableConfig, checkpoint: Checkpoint) -> RunnableConfig:
        """Return the config with which a checkpoint is kept: its parent is the one that was kept last."""
        parent = self._parent or config["configurable"].get("checkpoint_id")
        self._parent = checkpoint["id"]
        return {"configurable": {**config["configurable"], "checkpoint_id": parent}}


def create_checkpoints(path: Path) -> None:
    """Create the checkpoint database if there is none. Raise sqlite3.DatabaseError if it is damaged."""
    # SQLite does not wait for another process that switches the same new file to WAL mode. While the lock is
    # held, nothing is awaited: other runs of this event loop need it, too.
    with (
        FileLock(path.with_suffix(".lock"), timeout=BUSY_SECONDS),
        closing(connect(path)) as first,
    ):
        first.execute("PRAGMA journal_mode=WAL")


@asynccontextmanager
async def open_checkpoints(path: Path) -> AsyncIterator[Checkpoints]:
    """Open the checkpoint database, and close it at the end.

    Runs of one event loop share a connection: LangGraph's saver awaits between a write and its commit, and
    with connections of their own all other runs would wait for that.
    """
    create_checkpoints(path)
    async with aiosqlite.Connection(partial(connect, path), ROWS_AT_A_TIME) as connection:
        # Safe in WAL mode: a power cut may lose the checkpoints of the last turns, and damages nothing.
        await connection.execute("PRAGMA synchronous=NORMAL")
        yield connection


def remove_checkpoints(path: Path) -> None:
    """Remove checkpoints that are damaged; every run goes on without them."""
    with FileLock(path.with_suffix(".lock"), timeout=BUSY_SECONDS):
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)


class WaitingError(Exception):
    """The run waits for people, at a checkpoint. `questions` are what they are asked, as JSON."""

    def __init__(self, questions: list[dict[str, str]]) -> None:
        super().__init__(", ".join(question["address"] for question in questions))
        self.questions = questions


async def play_run(
    nodes: dict[str, Node], saver: AsyncSqliteSaver, run: str, begin: TurnState
) -> AsyncIterator[TurnState]:
    """Play a run; yield `begin`, then the lasting channels after each turn, once it is checkpointed.

    Raise WaitingError when people have to answer. Once the answers are in the journal, play again. Raise
    sqlite3.DatabaseError for damaged checkpoints.
    """
    graph = build(nodes).compile(checkpointer=saver)
    config: RunnableConfig = {"configurable": {"thread_id": run}, "recursion_limit": sys.maxsize}
    first, *_ = nodes
    is_checkpointed = await _ends_before(graph, config, first, begin)
    yield begin
    if begin["over"]:
        return
    turns = graph.astream(
        None if is_checkpointed else begin,
        config,
        stream_mode="values",
        output_keys=LASTING_CHANNELS,
        durability="sync",
    )
    turn = begin["turn"]
    async with aclosing(cast("Any", turns)) as states:
        async for state in states:
            if INTERRUPT in state:
                raise WaitingError([one.value for one in state[INTERRUPT]])
            if state["turn"] > turn:
                turn = state["turn"]
                yield cast("TurnState", state)


async def _ends_before(
    graph: CompiledStateGraph[Any, Any, Any, Any], config: RunnableConfig, node: str, begin: TurnState
) -> bool:
    """Return whether the checkpoints of a run end in a state, with this node as the next one."""
    with _damage_as_database_error():
        last = await graph.aget_state(config)
    return last.next == (node,) and {name: last.values.get(name) for name in LASTING_CHANNELS} == begin


@contextmanager
def _damage_as_database_error() -> Iterator[None]:
    """Raise sqlite3.DatabaseError for what LangGraph raises when it reads a damaged checkpoint."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, NotImplementedError) as error:
        raise sqlite3.DatabaseError(f"a checkpoint is damaged: {error}") from error


async def copy_history(saver: AsyncSqliteSaver, parent: str, turns: int, fork: str) -> None:
    """Copy the checkpoints of a parent, up to a turn, to a fork that has no checkpoints yet.

    Raise sqlite3.DatabaseError if they are damaged.
    """
    if await saver.aget_tuple({"configurable": {"thread_id": fork}}) is not None:
        return
    with _damage_as_database_error():
        newest_first = [one async for one in saver.alist({"configurable": {"thread_id": parent}})]
        for kept in reversed(newest_first):
            values = kept.checkpoint["channel_values"]
            if values.get("turn", 0) <= turns and not values.get("views"):
                thread: RunnableConfig = {"configurable": {"thread_id": fork, "checkpoint_ns": ""}}
                await saver.aput(thread, kept.checkpoint, kept.metadata, kept.checkpoint["channel_versions"])


async def replay(nodes: dict[str, Node], first: TurnState, turns: int) -> TurnState:
    """Play again from a state up to a number of turns, and return the lasting channels after them.

    There are no checkpoints, and the journal has all answers.
    """
    if first["over"] or first["turn"] >= turns:
        return first
    graph = build(nodes).compile()
    last: dict[str, Any] = {}
    config: RunnableConfig = {"recursion_limit": len(nodes) * turns + 1}
    async for last in graph.astream(first, config, stream_mode="values", output_keys=LASTING_CHANNELS):
        if last["turn"] >= turns:
            break
    return cast("TurnState", last)
