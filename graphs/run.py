"""Playing runs: start, resume, replay.

A run stops after `log` every turn, with durability "exit": one checkpoint a turn, at its boundary, durable
before the next turn begins. Wherever a run was stopped, it goes on from the last turn of the run database,
and its journal has the answers that had arrived since. The checkpoints that it left are thrown away unread:
they may be of another moment, and what a checkpoint knows of a turn in progress may be in no journal.
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
from langgraph.types import Command

from graphs.turn import LAST, Node, build
from nodes.state import TurnState

BUSY_SECONDS = 30.0
"""How long to wait while another process writes."""


@asynccontextmanager
async def checkpoints(path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    """Open the checkpoints; they must be closed, since the connection's thread keeps a process alive."""
    async with aiosqlite.connect(path, timeout=BUSY_SECONDS) as connection:
        # Plain JSON is all that the state holds; nothing else shall be made from a file.
        saver = AsyncSqliteSaver(connection, serde=JsonPlusSerializer(allowed_msgpack_modules=None))
        # SQLite waits for no other process that turns the same new file to WAL, as `setup` does.
        with FileLock(path.with_suffix(".lock"), timeout=BUSY_SECONDS):
            await saver.setup()
        await connection.execute("PRAGMA synchronous=NORMAL")
        yield saver


def throw_away(path: Path) -> None:
    """Remove checkpoints that are damaged; every run goes on without them."""
    with FileLock(path.with_suffix(".lock"), timeout=BUSY_SECONDS):
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)


class WaitingError(Exception):
    """The run stands at a question to a person, checkpointed; `question` is what was asked, as JSON."""

    def __init__(self, question: dict[str, Any]) -> None:
        super().__init__(question["address"])
        self.question = question


async def play(
    nodes: dict[str, Node],
    saver: BaseCheckpointSaver[str],
    run: str,
    begin: TurnState,
    said: str | None = None,
) -> AsyncIterator[TurnState]:
    """Play a run turn by turn from the state that it begins with; yield that, and the state after each turn.

    The state has been checkpointed when it is yielded. WaitingError: a person is asked; play again with what
    was `said`, which answers the question of the first turn.
    """
    graph = build(nodes).compile(checkpointer=saver, name="turn")
    config: RunnableConfig = {"configurable": {"thread_id": run}}
    await saver.adelete_thread(run)
    state, step = begin, cast("TurnState | Command[Any] | None", begin)
    yield state
    while not state["over"]:
        after = await graph.ainvoke(step, config, interrupt_after=[LAST], durability="exit")
        if "__interrupt__" not in after:
            state, step, said = cast("TurnState", after), None, None
            yield state
        elif said is not None:
            step, said = Command(resume=said), None
        else:
            raise WaitingError(after["__interrupt__"][0].value)


async def replay(nodes: dict[str, Node], first: TurnState, turns: int) -> TurnState:
    """Play turns once more from the first state, without checkpoints; the journal has all answers."""
    steps = len(nodes) * turns
    if not turns:
        return first
    graph = build(nodes).compile(name="replay")
    last: dict[str, Any] = {}
    async for last in graph.astream(first, {"recursion_limit": steps + 1}, stream_mode="values"):
        if last["turn"] >= turns:
            break
    return cast("TurnState", last)
