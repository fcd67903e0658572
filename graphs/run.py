"""Play runs on the graph: start, resume, replay.

Each turn is one call of the graph, which ends before the first node of the next turn. LangGraph's own saver
keeps the checkpoint at its end, in the thread that has the run's id. A run that was stopped goes on from the
last turn of the run database, whose journal has the answers that arrived since then; its checkpoints are
history, which may end earlier.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import aiosqlite
from filelock import AsyncFileLock, FileLock
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot, StateUpdate

from hobbes.engine.record import canonical
from hobbes.graphs.database import BUSY_SECONDS, connect
from hobbes.graphs.ring import LAST, Node, build
from hobbes.nodes.turn_state import TurnState, between_turns

PLAIN = JsonPlusSerializer(allowed_msgpack_modules=None)
"""Reads plain values and LangGraph's own types. By default LangGraph calls whatever a checkpoint names."""

AnyGraph: TypeAlias = CompiledStateGraph[Any, Any, Any, Any]

RUN, WHAT_IF = {"hobbes": "run"}, {"hobbes": "what-if"}
"""The metadata of the checkpoints that a run writes, and of those that somebody tries in its thread."""

LASTING_CHANNELS = ["run", "models", "prompts", "turn", "world", "memories", "digest", "over"]
"""The channels that live longer than a turn. `log` writes the last five, and `observe` adds to the models."""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """An open database of checkpoints."""

    connection: aiosqlite.Connection
    locks: Path
    """The folder of the locks of single threads."""

    def saver(self) -> AsyncSqliteSaver:
        """Return LangGraph's own saver for one run, which reads plain values and LangGraph's types alone."""
        return AsyncSqliteSaver(self.connection, serde=PLAIN)

    def lock(self, run: str) -> AsyncFileLock:
        """Return the lock of a run's thread. It lets other tasks go on, and ends with this process."""
        return AsyncFileLock(self.locks / f"{run}.checkpoints.lock")


def create_checkpoints(path: Path) -> None:
    """Create the checkpoint database if there is none. Raise sqlite3.DatabaseError if it is damaged."""
    # SQLite does not wait for another process that switches the same new file to WAL mode.
    with FileLock(path.with_suffix(".lock"), timeout=BUSY_SECONDS), closing(connect(path)) as first:
        first.execute("PRAGMA journal_mode=WAL")


@asynccontextmanager
async def open_checkpoints(path: Path) -> AsyncIterator[Checkpoints]:
    """Open the checkpoint database, and close it at the end.

    Runs of one event loop share a connection: LangGraph's saver awaits between a write and its commit, and
    with connections of their own all other runs would wait for that.
    """
    await asyncio.to_thread(create_checkpoints, path)
    async with aiosqlite.connect(path, timeout=BUSY_SECONDS) as connection:
        # Safe in WAL mode: a power cut may lose the checkpoints of the last turns, and damages nothing.
        await connection.execute("PRAGMA synchronous=NORMAL")
        yield Checkpoints(connection, path.parent / "locks")


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
    nodes: dict[str, Node],
    checkpoints: Checkpoints,
    run: str,
    begin: TurnState,
    history: Iterable[TurnState],
) -> AsyncIterator[TurnState]:
    """Play a run; yield `begin`, then the lasting channels after each turn, once it is checkpointed.

    A run without checkpoints gets those of its `history`, which ends with `begin`. Raise WaitingError when
    people have to answer. Once the answers are in the journal, play again. Raise sqlite3.DatabaseError for
    damaged checkpoints.
    """
    saver = checkpoints.saver()
    graph = build(nodes).compile(checkpointer=saver)
    first, *_ = nodes
    thread = RunnableConfig(configurable={"thread_id": run}, recursion_limit=len(nodes) + 1, metadata=RUN)
    options: Any = {"durability": "exit", "interrupt_before": [first], "output_keys": LASTING_CHANNELS}
    last = await keep_history(graph, checkpoints, run, history)
    here, is_there = last.config, {name: last.values.get(name) for name in LASTING_CHANNELS} == begin
    if not (begin["over"] or (is_there and last.next == (first,))):
        # A turn that was broken off may have left its channels.
        with damage_as_database_error():
            here = await graph.with_config(metadata=RUN).aupdate_state(
                here, between_turns(begin), as_node=LAST
            )
    state = begin
    config: RunnableConfig = {**thread, "configurable": here["configurable"]}
    yield state
    while not state["over"]:
        played = await graph.ainvoke(None, config, version="v2", **options)
        if played.interrupts:
            questions = [interrupt.value for interrupt in played.interrupts]
            raise WaitingError([{**value, "asked": canonical(value["asked"])} for value in questions])
        state, config = played.value, thread
        yield state
        with damage_as_database_error():
            newest = await saver.aget_tuple(thread)
            if newest is None or not RUN.items() <= newest.metadata.items():
                # Somebody tried something meanwhile. A checkpoint is only named where it has to be, since
                # LangGraph counts one step more for it.
                async for own in saver.alist(thread, filter=RUN, limit=1):
                    config = {**thread, "configurable": own.config["configurable"]}


async def keep_history(
    graph: AnyGraph, checkpoints: Checkpoints, run: str, history: Iterable[TurnState]
) -> StateSnapshot:
    """Return the last checkpoint of a run. One without checkpoints gets one for each state of its history.

    What somebody tried in its thread is no part of the run. Ids of checkpoints begin with the time, and
    LangGraph takes the greatest one for the last. So if a clock that was ahead of this one wrote some, all
    are removed and written again. Raise sqlite3.DatabaseError for damaged checkpoints.
    """
    thread = RunnableConfig(configurable={"thread_id": run})
    async with checkpoints.lock(run):
        with damage_as_database_error():
            head = await graph.aget_state(thread)
            if head.config["configurable"].get("checkpoint_id", "") > empty_checkpoint()["id"]:
                await checkpoints.saver().adelete_thread(run)
            elif head.metadata:
                async for last in graph.aget_state_history(thread, filter=RUN, limit=1):
                    return last
                return head
        steps = [[StateUpdate(dict(between_turns(state)), as_node=LAST)] for state in history]
        return await graph.aget_state(await graph.with_config(metadata=RUN).abulk_update_state(thread, steps))


@contextmanager
def damage_as_database_error() -> Iterator[None]:
    """Raise sqlite3.DatabaseError for what LangGraph raises when it reads a damaged checkpoint."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, NotImplementedError) as error:
        raise sqlite3.DatabaseError(f"a checkpoint is damaged: {error}") from error


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
