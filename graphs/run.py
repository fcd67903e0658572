"""Play runs on the graph: start, resume, replay.

A run is one stream through the graph, with one checkpoint per turn, which `TurnSaver` keeps between two
turns. A run that was stopped goes on from the last turn of the run database, whose journal has the answers
that arrived since then. The checkpoints that it left are deleted unread: they may be of another moment, and
may know of a turn in progress what no journal has.
"""

import sqlite3
import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from filelock import FileLock
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    empty_checkpoint,
)
from langgraph.checkpoint.serde.base import CipherProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import INTERRUPT
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import get_runtime

from hobbes.graphs.turn import Node, build
from hobbes.nodes.state import PASSING, TurnState, Update

BUSY_SECONDS = 30.0
"""How many seconds to wait while another process writes."""

LASTING = ["run", "models", "turn", "world", "memories", "digest", "over"]
"""The channels that live longer than a turn. `log` writes the last five, and `observe` adds to the models."""


class TurnSaver(SqliteSaver):
    """Keeps the checkpoints between two turns, and those at which a person is asked.

    LangGraph itself would hand over a checkpoint after each node, and all that the node has written: two
    tasks of the event loop per node, a fifth of LangGraph's time. So it hands over a checkpoint only when
    the stream ends (durability "exit"), and those between two turns are made here. They are written in the
    event loop's own thread, because a thread of its own takes longer to wake than SQLite takes to write.
    """

    _keep: Callable[[], object]
    _kept: str | None = None

    def keep(self, run: str, turn: int, channels: Mapping[str, Any]) -> None:
        """Keep a checkpoint of a run between two turns, with the values of its channels."""
        versions: ChannelVersions = dict.fromkeys(channels, turn)
        checkpoint: Checkpoint = {
            **empty_checkpoint(),
            "channel_values": dict(channels),
            "channel_versions": versions,
        }
        here = {"thread_id": run, "checkpoint_ns": ""}
        self._put(here, checkpoint, {"source": "loop", "step": turn, "parents": {}}, versions)

    def get_next_version(self, current: int | None, channel: None) -> int:  # type: ignore[override]  # noqa: ARG002
        """Return the next version of a channel: numbers, which are quicker to make than unique texts."""
        return (current or 0) + 1

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a kept checkpoint."""
        return self.get_tuple(config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Be ready to keep the checkpoint at which the stream ends, if a person is asked there."""
        here = config["configurable"]
        self._keep = partial(self._put, here, checkpoint, metadata, new_versions)
        return {"configurable": {**here, "checkpoint_id": checkpoint["id"]}}

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep the checkpoint at which a person is asked, with the question."""
        if any(channel == INTERRUPT for channel, _ in writes):
            self._keep()
            self.put_writes(config, writes, task_id, task_path)

    def _put(self, here: Mapping[str, Any], checkpoint: Checkpoint, *rest: Any) -> None:  # noqa: ANN401  as handed over
        # The parent is the last checkpoint that was kept, not the last that was handed over.
        self.put({"configurable": {**here, "checkpoint_id": self._kept}}, checkpoint, *rest)
        self._kept = checkpoint["id"]


@contextmanager
def checkpoints(path: Path) -> Iterator[TurnSaver]:
    """Open the checkpoint database, and close it at the end."""
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
        # The state is plain JSON, so nothing else may be unpacked from the file.
        serde = EncryptedSerializer(Packing(), JsonPlusSerializer(allowed_msgpack_modules=None))
        saver = TurnSaver(connection, serde=serde)
        # Checkpoints are hardly ever read, and SQLite would keep 2 MB of them in memory.
        connection.execute("PRAGMA cache_size=-200")
        # A new file need not wait for the disk: one that a power cut has damaged is thrown away.
        connection.execute("PRAGMA synchronous=OFF")
        # `setup` switches a new file to WAL mode. SQLite does not wait if another process is doing the same.
        with FileLock(path.with_suffix(".lock"), timeout=BUSY_SECONDS):
            saver.setup()
        # Safe in WAL mode: a power cut may lose the last turns, which are then played again from the journal.
        connection.execute("PRAGMA synchronous=NORMAL")
        yield saver


def throw_away(path: Path) -> None:
    """Remove checkpoints that are damaged; every run goes on without them."""
    with FileLock(path.with_suffix(".lock"), timeout=BUSY_SECONDS):
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)


class Packing(CipherProtocol):
    """Packs checkpoints. LangGraph lets a cipher change the bytes that are stored, and notes its name."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        """Return the name of the packing and packed bytes."""
        return "zlib", zlib.compress(plaintext, level=1)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:  # noqa: ARG002  there is one
        """Return unpacked bytes; raise zlib.error for damaged ones."""
        return zlib.decompress(ciphertext)


class WaitingError(Exception):
    """The run waits for people, at a checkpoint. `questions` are what they are asked, as JSON."""

    def __init__(self, questions: list[dict[str, str]]) -> None:
        super().__init__(", ".join(question["address"] for question in questions))
        self.questions = questions


@cache
def _graph(name: str, nodes: tuple[str, ...]) -> "CompiledStateGraph[TurnState, Any, TurnState, TurnState]":
    """Return a compiled graph of nodes with these names. The nodes themselves are the context of a run.

    So runs share the graph. To build and compile one for each run would take a tenth of a run of one turn.
    """
    graph = build({node: _in_context(node) for node in nodes}).compile(name=name)
    writing = {
        key: node.copy(
            {"bound": WritingNode(cast("Any", node.bound).afunc, node.flat_writers), "writers": []}
        )
        for key, node in graph.nodes.items()
        if key != START
    }
    return graph.copy({"nodes": graph.nodes | writing})


class WritingNode(Runnable[TurnState, Any]):
    """A node that writes its channels itself.

    LangGraph plays a node and its writers as a sequence, with a task of the event loop and callbacks for
    each of them. That takes a fifth of LangGraph's time, and runs have no callbacks.
    """

    def __init__(
        self, node: Callable[[TurnState], Awaitable[Any]], writers: Sequence[Runnable[Any, Any]]
    ) -> None:
        self._node = node
        self._writers = writers

    # The base class calls the state `input`, which is the name of a builtin that a floor refuses here.
    def invoke(self, state: TurnState, config: RunnableConfig | None = None, **_: Any) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Raise NotImplementedError: nodes are asynchronous."""
        raise NotImplementedError

    async def ainvoke(self, state: TurnState, config: RunnableConfig | None = None, **_: Any) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Play the node, write its channels, and return what it returned."""
        # `interrupt` and `get_runtime` look for the config here.
        outer = var_child_runnable_config.set(config)
        try:
            update = await self._node(state)
        finally:
            var_child_runnable_config.reset(outer)
        for writer in self._writers:
            writer.invoke(update, config)
        return update


def _in_context(name: str) -> Node:
    """Return a node that calls the node of the run with this name."""

    async def node(state: TurnState) -> Update:
        nodes = cast("Mapping[str, Node]", get_runtime().context)
        return await nodes[name](state)

    return node


async def play(
    nodes: dict[str, Node],
    saver: TurnSaver,
    run: str,
    begin: TurnState,
) -> AsyncIterator[TurnState]:
    """Play a run; yield `begin`, then the lasting channels after each turn, once it is checkpointed.

    Raise WaitingError when people have to answer. Once the answers are in the journal, play again.
    """
    graph = _graph("turn", tuple(nodes)).copy({"checkpointer": saver})
    config: RunnableConfig = {"configurable": {"thread_id": run}, "recursion_limit": sys.maxsize}
    first, *_ = nodes
    on_to_first = dict.fromkeys(graph.nodes[first].triggers)
    _forget(saver, run, config)
    yield begin
    if begin["over"]:
        return
    turns = graph.astream(
        begin, config, context=nodes, stream_mode="values", output_keys=LASTING, durability="exit"
    )
    turn = begin["turn"]
    async with aclosing(cast("Any", turns)) as states:
        async for state in states:
            if INTERRUPT in state:
                raise WaitingError([one.value for one in state[INTERRUPT]])
            if state["turn"] > turn:
                turn = state["turn"]
                saver.keep(run, turn, {**PASSING, **state, **({} if state["over"] else on_to_first)})
                yield cast("TurnState", state)


def _forget(saver: TurnSaver, run: str, config: RunnableConfig) -> None:
    """Delete the checkpoints of a run. Raise sqlite3.DatabaseError if damage keeps some of them."""
    saver.delete_thread(run)
    try:
        left = saver.get_tuple(config)
    except (ValueError, TypeError, LookupError, zlib.error) as error:  # what damaged bytes are unpacked to
        raise sqlite3.DatabaseError(f"a checkpoint is damaged: {error}") from error
    if left is not None:
        raise sqlite3.DatabaseError("a deleted checkpoint is still there")


async def replay(nodes: dict[str, Node], first: TurnState, turns: int) -> TurnState:
    """Play again from a state up to a number of turns, and return the lasting channels after them.

    There are no checkpoints, and the journal has all answers.
    """
    steps = len(nodes) * turns
    if first["over"] or first["turn"] >= turns:
        return first
    graph = _graph("replay", tuple(nodes))
    last: dict[str, Any] = {}
    config: RunnableConfig = {"recursion_limit": steps + 1}
    played = graph.astream(first, config, context=nodes, stream_mode="values", output_keys=LASTING)
    async for last in played:
        if last["turn"] >= turns:
            break
    return cast("TurnState", last)
