"""Play runs on the graph: start, resume, replay.

Each turn is one call of the graph, which ends before the first node of the next turn. LangGraph's own saver
keeps the checkpoint at its end, in the thread that has the run's id. A run that was stopped goes on from the
last turn of the run database, whose journal has the answers that arrived since then; its checkpoints are
history, which may end earlier.
"""

import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias, cast

import aiosqlite
from filelock import FileLock
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot, StateUpdate

from hobbes.engine.record import canonical
from hobbes.graphs.database import BUSY_SECONDS, connect
from hobbes.graphs.turn import LAST, Node, build
from hobbes.nodes.state import PASSING, TurnState, replacing

ROWS_AT_A_TIME = 64
"""How many rows aiosqlite fetches at a time, as it does by default."""

Checkpoints: TypeAlias = aiosqlite.Connection
"""An open database of checkpoints."""

PLAIN = JsonPlusSerializer(allowed_msgpack_modules=None)
"""Reads plain values and LangGraph's own types. By default LangGraph calls whatever a checkpoint names."""

AnyGraph: TypeAlias = CompiledStateGraph[Any, Any, Any, Any]

RUN, WHAT_IF = {"hobbes": "run"}, {"hobbes": "what-if"}
"""The metadata of the checkpoints that a run writes, and of those that somebody tries in its thread."""

LASTING_CHANNELS = ["run", "models", "prompts", "turn", "world", "memories", "digest", "over"]
"""The channels that live longer than a turn. `log` writes the last five, and `observe` adds to the models."""


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


def saver_on(connection: Checkpoints) -> AsyncSqliteSaver:
    """Return LangGraph's own saver for one run, which reads plain values and LangGraph's own types alone."""
    return AsyncSqliteSaver(connection, serde=PLAIN)


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
    saver: AsyncSqliteSaver,
    run: str,
    begin: TurnState,
    history: Iterable[TurnState],
) -> AsyncIterator[TurnState]:
    """Play a run; yield `begin`, then the lasting channels after each turn, once it is checkpointed.

    A run without checkpoints gets those of its `history`. Raise WaitingError when people have to answer. Once
    the answers are in the journal, play again. Raise sqlite3.DatabaseError for damaged checkpoints.
    """
    graph = build(nodes).compile(checkpointer=saver)
    first, *_ = nodes
    config = RunnableConfig(configurable={"thread_id": run}, recursion_limit=len(nodes) + 1, metadata=RUN)
    options: Any = {"durability": "exit", "interrupt_before": [first], "output_keys": LASTING_CHANNELS}
    play = partial(graph.ainvoke, version="v2", **options)
    await _remove_checkpoints_of_a_later_clock(graph, saver, config)
    if begin["turn"]:
        await keep_history(graph, config, takewhile(lambda state: state["turn"] < begin["turn"], history))
    here, last = await _end_of_run(graph, config)
    is_there = last.next == (first,) and {name: last.values.get(name) for name in LASTING_CHANNELS} == begin
    if not (begin["over"] or is_there):
        # A turn that was broken off may have left its channels.
        await play(replacing({**PASSING, **begin}), here)
        here = config
    state = begin
    yield state
    while not state["over"]:
        played = await play(None, here)
        here = config
        if played.interrupts:
            asked = [question.value for question in played.interrupts]
            raise WaitingError([{**one, "asked": canonical(one["asked"])} for one in asked])
        state = played.value
        yield state


async def keep_history(graph: AnyGraph, config: RunnableConfig, history: Iterable[TurnState]) -> None:
    """Write the checkpoints of a run that has none: one for each state between two turns.

    Raise sqlite3.DatabaseError for damaged checkpoints.
    """
    with _damage_as_database_error():
        is_empty = (await graph.aget_state(config)).metadata is None
    if is_empty:
        steps = [[StateUpdate(replacing({**PASSING, **state}), as_node=LAST)] for state in history]
        await graph.with_config(metadata=RUN).abulk_update_state(config, steps)


async def _remove_checkpoints_of_a_later_clock(
    graph: AnyGraph, saver: AsyncSqliteSaver, config: RunnableConfig
) -> None:
    """Remove the checkpoints of a run if they were written by a clock that was ahead of this process's clock.

    Their ids begin with the time, and LangGraph takes the one with the greatest id for the last one: it would
    go on from these, and not from those that are written now. They are history, which is written again.
    """
    with _damage_as_database_error():
        head = (await graph.aget_state(config)).config["configurable"]
    if head.get("checkpoint_id", "") > empty_checkpoint()["id"]:
        await saver.adelete_thread(head["thread_id"])


async def _end_of_run(graph: AnyGraph, config: RunnableConfig) -> tuple[RunnableConfig, StateSnapshot]:
    """Return the last checkpoint of a run, and the config with which it goes on from there.

    That is not the end of the thread if somebody has tried something since.
    """
    with _damage_as_database_error():
        head = await graph.aget_state(config)
        if (head.metadata or {}).get("hobbes") == WHAT_IF["hobbes"]:
            async for last in graph.aget_state_history(config, filter=RUN, limit=1):
                return {**config, "configurable": last.config["configurable"]}, last
    return config, head


@contextmanager
def _damage_as_database_error() -> Iterator[None]:
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
