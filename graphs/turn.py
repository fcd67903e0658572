"""A turn as a ring of LangGraph nodes: observe, agent_reason, validate, resolve, log.

A world whose agents can ask an observer for something has one more, between validate and resolve.

The same ring serves our own runs, which stop after each `log` for one checkpoint a turn, and `langgraph dev`,
which runs it to its end.
"""

from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from itertools import pairwise
from typing import Any, TypeAlias, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from engine.world import AnyWorld
from nodes.agent_reason import Asking, agent_reason
from nodes.journal import Journal
from nodes.log import log
from nodes.observe import observe
from nodes.observer import observer
from nodes.players import Players
from nodes.present import Present
from nodes.resolve import resolve
from nodes.state import CHANNELS, TurnState, Update
from nodes.validate import validate

Node: TypeAlias = Callable[[TurnState], Coroutine[Any, Any, Update]]
Meeting: TypeAlias = Callable[[TurnState], AbstractAsyncContextManager[Players]]
"""Brings together whoever answers in a run, for one node."""

Ring: TypeAlias = "CompiledStateGraph[TurnState, Any, TurnState, TurnState]"

LAST = "log"
"""The node that closes a turn."""


def ring(world: AnyWorld, meeting: Meeting, journal: Journal) -> dict[str, Node]:
    """Give the nodes of a world's turn, in their order: five, and one more where there is an observer."""
    # Coroutines, so that LangGraph runs them in its loop and not in threads of its own: a journal may hold
    # a database connection, which belongs to one thread.
    present = Present(world)

    async def observing(state: TurnState) -> Update:
        return observe(present, state)

    async def reasoning(state: TurnState) -> Update:
        async with meeting(state) as players:
            return await agent_reason(Asking(present, players, journal, state))

    async def validating(state: TurnState) -> Update:
        return validate(present, state)

    async def ruling(state: TurnState) -> Update:
        async with meeting(state) as players:
            return await observer(Asking(present, players, journal, state))

    async def resolving(state: TurnState) -> Update:
        return resolve(present, state)

    async def logging(state: TurnState) -> Update:
        return log(present, journal, state)

    return {
        "observe": observing,
        "agent_reason": reasoning,
        "validate": validating,
        **({} if world.observer is None else {"observer": ruling}),
        "resolve": resolving,
        LAST: logging,
    }


def build(nodes: Mapping[str, Node], context: type[Any] | None = None) -> "StateGraph[TurnState, Any]":
    """Join nodes to a ring, in the order given; after the last the game goes on or is over."""
    graph = StateGraph(TurnState, context_schema=context)
    names = list(nodes)
    for name, node in nodes.items():
        graph.add_node(name, cast("Any", declared(name, node)))
    graph.add_edge(START, names[0])
    for here, there in pairwise(names):
        graph.add_edge(here, there)
    graph.add_conditional_edges(names[-1], lambda state: END if state["over"] else names[0], [names[0], END])
    return graph


def declared(name: str, node: Node) -> Node:
    """Refuse what the state does not declare; LangGraph would drop it without a word."""

    async def checked(state: TurnState) -> Update:
        update = await node(state)
        if undeclared := update.keys() - CHANNELS:
            raise KeyError(f"{name} gave {sorted(undeclared)}, which nodes.state.TurnState does not declare")
        return update

    return checked
