"""The graph of a recorded run, for LangGraph's own API: its history, and playing on from a checkpoint.

Nothing that is played here enters the run database. LangGraph adds new checkpoints to the run's thread, whose
metadata say that they are no part of the run.
"""

import sys
from collections.abc import AsyncIterator, Callable, Iterator
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
from hobbes.nodes.journal import Journal, MemoryJournal
from hobbes.nodes.players import RunPlayers
from hobbes.nodes.turn_state import TurnState, between_turns
from hobbes.play.playthrough import meter_of, next_state, states_of
from hobbes.store.checked_connection import DAMAGE
from hobbes.store.history import past_turns
from hobbes.store.home import CHECKPOINTS, Store
from hobbes.store.recorded_run import Run

RunGraph: TypeAlias = CompiledStateGraph[TurnState, Any, TurnState, TurnState]
"""The graph of a run, with its checkpoints."""


@asynccontextmanager
async def run_graph(store: Store, run: Run) -> AsyncIterator[tuple[RunGraph, RunnableConfig]]:
    """Yield the graph of a run with its checkpoints, and the config of its thread.

    If the run has no checkpoints, they are written first, from the run database. Raise HobbesError if they
    cannot be read.
    """
    meter, past = meter_of(store, run), partial(past_turns, store, run.id)

    def players(run_at_turn: Run) -> RunPlayers:
        prompts, models = run_at_turn.prompts, run_at_turn.model_settings
        return RunPlayers(run.world, run_at_turn.setting, prompts, meter, models=models, past=past)

    attempts = lru_cache(maxsize=1)(partial(store.calls.attempts, run.id))

    journal = MemoryJournal(lambda: run.id, lambda turn, agent: run.kept_calls(attempts(turn).get(agent, ())))
    config: RunnableConfig = {"configurable": {"thread_id": run.id}}
    path = store.home / CHECKPOINTS
    async with AsyncExitStack() as opened:
        nodes = await opened.enter_async_context(nodes_of(run, players, journal))
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
    try:
        yield
    except DAMAGE as error:
        raise HobbesError(
            f"cannot read {path}: {error}; if it is damaged, delete it: it is made again from runs.db"
        ) from error


@asynccontextmanager
async def nodes_of(
    run: Run, make: Callable[[Run], RunPlayers], journal: Journal
) -> AsyncIterator[dict[str, Node]]:
    """Yield the nodes of a run's turn, and close the players that they asked.

    `make` returns the players of the run with the setting, players and prompts of a turn. After the turns of
    its parent, a fork may have others, and goes on in its own way.
    """
    forks = [stretch.until for stretch in run.earlier]
    opened: dict[int, RunPlayers] = {}

    @asynccontextmanager
    async def players(state: TurnState) -> AsyncIterator[RunPlayers]:
        until = next((fork for fork in forks if state["turn"] < fork), 0)
        if until not in opened:
            opened[until] = make(run.at(state["turn"]))
        yield opened[until]

    nodes = ring(run.world, players, journal)

    async def log_and_fork(state: TurnState) -> TurnState:
        after = await nodes[LAST](state)
        if after["turn"] not in forks:
            return after
        record = TurnRecord.from_json(state["resolved"]["record"])
        return between_turns(next_state(run, state["turn"], record, after["digest"]))

    try:
        yield {**nodes, LAST: log_and_fork}
    finally:
        for asked_players in opened.values():
            await asked_players.close()
