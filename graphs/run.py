"""Playing runs: start, resume, replay.

A run stops after `log` every turn, with durability "exit": one checkpoint a turn, at its boundary, durable
before the next turn begins. Killed anywhere, it goes on from that boundary, and the journal has the answers
that had arrived since.
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
    """Play a run turn by turn from where it stands; yield the state after each turn.

    The first state yielded is `begin`. A checkpoint of another moment, before or after it, is thrown away.
    The state has been checkpointed when it is yielded. WaitingError: a person is asked; play again with what
    was `said`.
    """
    graph = build(nodes).compile(checkpointer=saver, name="turn")
    config: RunnableConfig = {"configurable": {"thread_id": run}}
    snapshot = await graph.aget_state(config)
    found = cast("TurnState", snapshot.values)
    current = (found.get("turn"), found.get("digest")) == (begin["turn"], begin["digest"])
    if not current:
        await saver.adelete_thread(run)
    step: TurnState | Command[Any] | None = None if current else begin
    if said is not None and current and any(task.interrupts for task in snapshot.tasks):
        step, said = Command(resume=said), None
    state = begin
    yield state
    while not state["over"]:
        after = await graph.ainvoke(step, config, interrupt_after=[LAST], durability="exit")
        if "__interrupt__" in after and said is None:
            raise WaitingError(after["__interrupt__"][0].value)
        if "__interrupt__" in after:  # the checkpoint that waited was lost: it is the same question again
            step, said = Command(resume=said), None
            continue
        state, step = cast("TurnState", after), None
        yield state


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
