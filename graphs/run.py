"""Play runs on the graph: start, resume, replay.

The graph is stopped after each turn with durability "exit". This writes one checkpoint per turn, between two
turns, and it is durable before the next turn begins. A run that is killed goes on from its last checkpoint;
the answers that arrived since then are in the journal.
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
    said: str | None = None,
) -> AsyncIterator[TurnState]:
    """Play a run turn by turn; yield `begin`, then the state after each turn, once it is checkpointed.

    A checkpoint of any other moment than `begin` is deleted: the run database has the last word. Raise
    WaitingError when a person has to answer; call again with the answer as `said`.
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
        if "__interrupt__" in after:  # the waiting checkpoint was lost, so the same question was asked again
            step, said = Command(resume=said), None
            continue
        state, step = cast("TurnState", after), None
        yield state


async def replay(nodes: dict[str, Node], first: TurnState, turns: int) -> TurnState:
    """Play a number of turns again from the first state, and return the state after them.

    There are no checkpoints, and the journal has all answers.
    """
    steps = len(nodes) * turns
    if not turns:
        return first
    graph = build(nodes).compile(name="replay")
    last: dict[str, Any] = {}
    async for last in graph.astream(first, {"recursion_limit": steps + 1}, stream_mode="values"):
        if last["turn"] >= turns:
            break
    return cast("TurnState", last)
