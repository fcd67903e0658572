"""A turn as a ring of LangGraph nodes: observe, agent_reason, validate, resolve, log.

A world with an observer has one more node, between validate and resolve. A turn in which nobody requests
anything of the observer goes on without it.

The same ring serves two users. Our own runs stop after each `log`, for one checkpoint per turn; `langgraph
dev` runs the ring until the game is over.
"""

from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from itertools import pairwise
from typing import Any, TypeAlias, cast

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from hobbes.engine.world import OBSERVER, AnyWorld
from hobbes.nodes.agent_reason import Asking, agent_reason
from hobbes.nodes.journal import Journal
from hobbes.nodes.log import log
from hobbes.nodes.observe import observe
from hobbes.nodes.observer import observer
from hobbes.nodes.players import Players
from hobbes.nodes.present import Present
from hobbes.nodes.resolve import resolve
from hobbes.nodes.state import CHANNELS, TurnState, Update
from hobbes.nodes.validate import validate

Node: TypeAlias = Callable[[TurnState], Coroutine[Any, Any, Update]]
"""A node of the graph: from the state to the channels that it changes."""

Choice: TypeAlias = Callable[[Update], str]
"""From the channels that a node has changed to the name of the node that follows."""

OpenPlayers: TypeAlias = Callable[[TurnState], AbstractAsyncContextManager[Players]]
"""Opens the players of a run for the length of one node."""

JUDGING, LAST = "validate", "log"
"""The names of the nodes that choose which one follows."""


def ring(world: AnyWorld, open_players: OpenPlayers, journal: Journal) -> dict[str, Node]:
    """Return the nodes of a world's turn, by name and in order."""
    # All nodes are coroutines, because LangGraph runs plain functions in threads of its own. A journal may
    # hold a database connection, which belongs to one thread.
    present = Present(world)

    async def observing(state: TurnState) -> Update:
        return observe(present, state)

    async def reasoning(state: TurnState) -> Update:
        async with open_players(state) as players:
            return await agent_reason(Asking(present, players, journal, state))

    async def validating(state: TurnState) -> Update:
        return validate(present, state)

    async def ruling(state: TurnState) -> Update:
        async with open_players(state) as players:
            return await observer(Asking(present, players, journal, state))

    async def resolving(state: TurnState) -> Update:
        return resolve(present, state)

    async def logging(state: TurnState) -> Update:
        return log(present, journal, state)

    return {
        "observe": observing,
        "agent_reason": reasoning,
        JUDGING: validating,
        **({} if world.observer is None else {OBSERVER: ruling}),
        "resolve": resolving,
        LAST: logging,
    }


def build(nodes: Mapping[str, Node], context: type[Any] | None = None) -> "StateGraph[TurnState, Any]":
    """Return a graph that runs the nodes in order, again and again until the game is over."""
    graph = StateGraph(TurnState, context_schema=context)
    first, *_ = nodes
    following = dict(pairwise(nodes))
    choices: dict[str, Choice] = {LAST: lambda update: END if update["over"] else first}
    destinations = {LAST: (first, END)}
    if OBSERVER in nodes:
        unasked = following[OBSERVER]
        choices[JUDGING] = lambda update: OBSERVER if update["question"] else unasked
        destinations[JUDGING] = (OBSERVER, unasked)
    graph.add_edge(START, first)
    for name, node in nodes.items():
        checked = declared(name, node)
        if name in choices:
            chosen = cast("Any", choosing(checked, choices[name]))
            graph.add_node(name, chosen, destinations=destinations[name])
        else:
            graph.add_node(name, cast("Any", checked))
            graph.add_edge(name, following[name])
    return graph


def choosing(node: Node, choice: Choice) -> Callable[[TurnState], Coroutine[Any, Any, Command[str]]]:
    """Return the node with a choice of the node that follows, made from what the node has changed."""

    # The node itself says where to go on. A conditional edge would be one more step, which takes 0.07 ms.
    async def played(state: TurnState) -> Command[str]:
        update = await node(state)
        return Command(update=update, goto=choice(update))

    return played


def declared(name: str, node: Node) -> Node:
    """Return the node with a check: a channel that the state does not declare raises KeyError.

    LangGraph alone would drop it silently.
    """

    async def checked(state: TurnState) -> Update:
        update = await node(state)
        if undeclared := update.keys() - CHANNELS:
            raise KeyError(
                f"{name} returned {sorted(undeclared)}, which nodes.state.TurnState does not declare"
            )
        return update

    return checked
