"""A turn as a ring of LangGraph nodes: observe, agent_reason, validate, resolve, log.

Each person is asked by a task of their own of agent_reason, with an interrupt of their own. All other agents
are asked by one task: if one of several failed, LangGraph would cancel the others, whose calls are paid for.

A world with an observer has one more node, between validate and resolve. A turn in which nobody requests
anything of the observer goes on without it.

The same ring serves runs, replays, `hobbes.graph` and `langgraph dev`.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias, cast

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from hobbes.engine.world import OBSERVER, AnyWorld
from hobbes.nodes.agent_reason import Asking, agent_reason
from hobbes.nodes.journal import Journal, PlayerKind
from hobbes.nodes.log import log
from hobbes.nodes.observe import observe
from hobbes.nodes.observer import observer
from hobbes.nodes.players import Players
from hobbes.nodes.resolve import resolve
from hobbes.nodes.turn_cache import TurnCache
from hobbes.nodes.turn_state import TurnState
from hobbes.nodes.validate import validate

Node: TypeAlias = Callable[[TurnState], Coroutine[Any, Any, TurnState]]
"""A node of the graph: from the state to the channels that it changes."""

OpenPlayers: TypeAlias = Callable[[TurnState], AbstractAsyncContextManager[Players]]
"""Opens the players of a run for the length of one node."""

ASKING = "agent_reason"
"""The name of the node that asks the agents."""

LAST = "log"
"""The name of the node that ends a turn."""


def ring(world: AnyWorld, open_players: OpenPlayers, journal: Journal) -> dict[str, Node]:
    """Return the nodes of a world's turn, by name and in order."""
    cache = TurnCache(world)

    # All nodes are coroutines, because LangGraph runs plain functions in threads of its own. A journal may
    # hold a database connection, which belongs to one thread.
    def computing(act: Callable[[TurnState], TurnState]) -> Node:
        async def node(state: TurnState) -> TurnState:
            return act(state)

        return node

    def asking(act: Callable[[Asking], Awaitable[TurnState]]) -> Node:
        async def node(state: TurnState) -> TurnState:
            async with open_players(state) as players:
                return await act(Asking(cache, players, journal, state, get_stream_writer()))

        return node

    return {
        "observe": computing(partial(observe, cache)),
        ASKING: asking(agent_reason),
        "validate": computing(partial(validate, cache)),
        **({} if world.observer is None else {OBSERVER: asking(observer)}),
        "resolve": computing(partial(resolve, cache)),
        LAST: computing(partial(log, cache, journal)),
    }


def build(
    nodes: Mapping[str, Node], context: type[Any] | None = None, given: type[Any] | None = None
) -> "StateGraph[TurnState, Any, Any, Any]":
    """Return a graph that runs the nodes in order, again and again until the game is over.

    `context` and `given` are the schemas of its context and of its input, which is a state by default.
    """
    graph = StateGraph(TurnState, context_schema=context, input_schema=given)
    first, *_ = nodes

    # LangGraph would run plain functions in threads of their own.
    async def next_turn(state: TurnState) -> str:
        return END if state.get("over") else first

    async def after_observe(state: TurnState) -> str | list[Send]:
        views, models = state["views"], state["models"]
        people = [agent for agent in views if models[agent] == PlayerKind.HUMAN]
        if not people:
            return ASKING
        others = [agent for agent in views if agent not in people]
        tasks = [*([others] if others else []), *([person] for person in people)]
        return [Send(ASKING, {**state, "views": {agent: views[agent] for agent in task}}) for task in tasks]

    async def after_validate(state: TurnState) -> str:
        return OBSERVER if state["question"] else "resolve"

    for name, node in nodes.items():
        graph.add_node(name, cast("Any", node))
    for name in (START, LAST):
        graph.add_conditional_edges(name, next_turn, [first, END])
    for name, following in pairwise(nodes):
        if following == ASKING:
            graph.add_conditional_edges(name, after_observe, [ASKING])
        elif following == OBSERVER:
            graph.add_conditional_edges(name, after_validate, [OBSERVER, "resolve"])
        else:
            graph.add_edge(name, following)
    return graph
