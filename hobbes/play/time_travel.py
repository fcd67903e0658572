"""The graph of a recorded run, for LangGraph's own API: its history, and playing on from a checkpoint.

Nothing that is played here enters the run database. LangGraph adds new checkpoints to the run's thread, whose
metadata say that they are no part of the run.
"""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from hobbes.engine.turn import TurnRecord
from hobbes.errors import HobbesError
from hobbes.graphs.ring import LAST, Node, build, ring
from hobbes.graphs.run import WHAT_IF, damage_as_database_error, keep_history, open_checkpoints
from hobbes.nodes.journal import MemoryJournal
from hobbes.nodes.players import RunPlayers
from hobbes.nodes.turn_state import TurnState, between_turns
from hobbes.play.playthrough import CHECKPOINTS, meter_of, next_state, states_of
from hobbes.store.history import past_turns
from hobbes.store.home import DAMAGE, Store
from hobbes.store.recorded_run import Run

RunGraph: TypeAlias = CompiledStateGraph[TurnState, Any, TurnState, TurnState]
"""The graph of a run, with its checkpoints."""


@asynccontextmanager
async def run_graph(store: Store, run: Run) -> AsyncIterator[tuple[RunGraph, RunnableConfig]]:
    """Yield the graph of a run with its checkpoints, and the config of its thread.

    If the run has no checkpoints, they are written first, from the run database. Raise HobbesError if they
    cannot be read.
    """
    stretches = Stretches(store, run)
    attempts = lru_cache(maxsize=1)(partial(store.calls.attempts, run.id))

    journal = MemoryJournal(lambda: run.id, lambda turn, agent: run.kept_calls(attempts(turn).get(agent, ())))
    nodes = ring(run.world, stretches.players, journal)
    nodes[LAST] = _forking(run, nodes[LAST])
    config: RunnableConfig = {"configurable": {"thread_id": run.id}}
    path = store.home / CHECKPOINTS
    async with AsyncExitStack() as opened:
        opened.push_async_callback(stretches.close)
        with _saying_what_to_do(path):
            checkpoints = await opened.enter_async_context(open_checkpoints(path))
            graph = build(nodes).compile(checkpointer=checkpoints.saver(), name=run.world.name)
            await keep_history(graph, checkpoints, run.id, states_of(store, run))
        try:
            yield graph.with_config(metadata=WHAT_IF, recursion_limit=sys.maxsize), config
        except Exception:
            # What LangGraph raises for a damaged checkpoint does not say that it is one.
            with _saying_what_to_do(path), damage_as_database_error():
                async for _ in checkpoints.saver().alist(config):
                    pass
            raise


@contextmanager
def _saying_what_to_do(path: Path) -> Iterator[None]:
    """Raise HobbesError for checkpoints that cannot be read."""
    try:
        yield
    except DAMAGE as error:
        raise HobbesError(
            f"cannot read {path}: {error}; if it is damaged, delete it: it is made again from runs.db"
        ) from error


def _forking(run: Run, log: Node) -> Node:
    """Return the last node of a turn. After the turns of its parent, a fork goes on in its own way."""
    forks = {one.until for one in run.earlier}

    async def node(state: TurnState) -> TurnState:
        after = await log(state)
        if after["turn"] not in forks:
            return after
        record = TurnRecord.from_json(state["resolved"]["record"])
        return between_turns(next_state(run, state["turn"], record, after["digest"]))

    return node


class Stretches:
    """The players of a run. A fork may have others before the turn of the fork."""

    def __init__(self, store: Store, run: Run) -> None:
        self._run = run
        self._meter = meter_of(store, run)
        self._past = partial(past_turns, store, run.id)
        self._opened: dict[int, RunPlayers] = {}

    @asynccontextmanager
    async def players(self, state: TurnState) -> AsyncIterator[RunPlayers]:
        """Yield the players of a turn."""
        first = next((one.until for one in self._run.earlier if state["turn"] < one.until), 0)
        if first not in self._opened:
            run_at_turn = self._run.at(state["turn"])
            self._opened[first] = RunPlayers(
                run_at_turn.world,
                run_at_turn.setting,
                run_at_turn.prompts,
                self._meter,
                models=run_at_turn.model_settings,
                past=self._past,
            )
        yield self._opened[first]

    async def close(self) -> None:
        """Close the connections."""
        for players in self._opened.values():
            await players.close()
