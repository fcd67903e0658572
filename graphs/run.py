"""Play runs on the graph: start, resume, replay.

The graph is stopped after each turn with durability "exit". This writes one checkpoint per turn, between two
turns, and it is durable before the next turn begins. A run that was stopped goes on from the last turn of the
run database, whose journal has the answers that arrived since then. The checkpoints that it left are deleted
unread: they may be of another moment, and may know of a turn in progress what no journal has.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import aiosqlite
from filelock import FileLock
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from graphs.turn import LAST, Node, build
from nodes.state import TurnState

BUSY_SECONDS = 30.0
"""How many seconds to wait while another process writes."""


@asynccontextmanager
async def checkpoints(path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    """Open the checkpoint database, and close it at the end.

    An open connection has a thread that would keep the process alive.
    """
    async with aiosqlite.connect(path, timeout=BUSY_SECONDS) as connection:
        # The state is plain JSON, so nothing else may be unpacked from the file.
        saver = AsyncSqliteSaver(connection, serde=JsonPlusSerializer(allowed_msgpack_modules=None))
        # `setup` switches a new file to WAL mode. SQLite does not wait if another process is doing the same.
        with FileLock(path.with_suffix(".lock"), timeout=BUSY_SECONDS):
            await saver.setup()
        # Safe in WAL mode: a power cut may lose the last turns, which are then played again from the journal.
        await connection.execute("PRAGMA synchronous=NORMAL")
        yield saver


def throw_away(path: Path) -> None:
    """Remove checkpoints that are damaged; every run goes on without them."""
    with FileLock(path.with_suffix(".lock"), timeout=BUSY_SECONDS):
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)


class WaitingError(Exception):
    """The run waits for a person, at a checkpoint. `question` is what is asked, as JSON."""

    def __init__(self, question: dict[str, Any]) -> None:
        super().__init__(question["address"])
        self.question = question


async def play(
    nodes: dict[str, Node],
    saver: BaseCheckpointSaver[str],
    run: str,
    begin: TurnState,
) -> AsyncIterator[TurnState]:
    """Play a run turn by turn; yield `begin`, then the state after each turn, once it is checkpointed.

    Raise WaitingError when a person has to answer. Once the answer is in the journal, play again.
    """
    graph = build(nodes).compile(checkpointer=saver, name="turn")
    config: RunnableConfig = {"configurable": {"thread_id": run}}
    await _forget(saver, run, config)
    state, step = begin, cast("TurnState | None", begin)
    yield state
    while not state["over"]:
        after = await graph.ainvoke(step, config, interrupt_after=[LAST], durability="exit")
        if "__interrupt__" in after:
            raise WaitingError(after["__interrupt__"][0].value)
        state, step = cast("TurnState", after), None
        yield state


async def _forget(saver: BaseCheckpointSaver[str], run: str, config: RunnableConfig) -> None:
    """Delete the checkpoints of a run. Raise aiosqlite.DatabaseError if damage keeps some of them."""
    await saver.adelete_thread(run)
    try:
        left = await saver.aget_tuple(config)
    except (ValueError, TypeError, LookupError) as error:  # what damaged bytes are unpacked to
        raise aiosqlite.DatabaseError(f"a checkpoint is damaged: {error}") from error
    if left is not None:
        raise aiosqlite.DatabaseError("a deleted checkpoint is still there")


async def replay(nodes: dict[str, Node], first: TurnState, turns: int) -> TurnState:
    """Play again from a state up to a number of turns, and return the state after them.

    There are no checkpoints, and the journal has all answers.
    """
    steps = len(nodes) * turns
    if first["over"] or first["turn"] >= turns:
        return first
    graph = build(nodes).compile(name="replay")
    last: dict[str, Any] = {}
    async for last in graph.astream(first, {"recursion_limit": steps + 1}, stream_mode="values"):
        if last["turn"] >= turns:
            break
    return cast("TurnState", last)
