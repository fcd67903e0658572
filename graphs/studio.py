"""A world's graph for `langgraph dev`, which keeps its own checkpoints and plays each thread to its end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import get_runtime
from typing_extensions import TypedDict

from hobbes.engine.world import AnyWorld, make_setting
from hobbes.graphs.turn import build, ring
from hobbes.nodes.journal import NoJournal
from hobbes.nodes.observe import observe
from hobbes.nodes.players import Players, RunPlayers, deal
from hobbes.nodes.prompting import load_prompts
from hobbes.nodes.state import TurnState, Update, first_state, setting_of
from hobbes.nodes.turn_cache import TurnCache

ROUNDS = 3
"""How many rounds are played if the context does not say. It is small: a thread keeps every step."""


class StudioContext(TypedDict, total=False):
    """The options of a run in `langgraph dev`. Each has a default."""

    agents: int
    seed: int
    models: str
    """A mix of player specs such as `openai:NAME*2,policy:random*2`."""
    prompts: str
    """A variant of the world's prompts, or a folder with prompts of your own."""
    lang: str
    """The language of the prompts: `en` or `zh`."""
    observer: str
    """The player that observes, in a world with an observer."""
    config: dict[str, Any]
    """Settings of the world, by name."""


def studio_graph(world: AnyWorld) -> "CompiledStateGraph[TurnState, Any, TurnState, TurnState]":
    """Return the compiled graph of a world. The input `{}` plays a few rounds with its default policy."""
    cache = TurnCache(world)

    async def observing(state: TurnState) -> Update:
        # The first node of a thread sees the empty input, and begins the run.
        begun = state if "run" in state else _begin(world, _context())
        return {**begun, **observe(cache, begun)}

    @asynccontextmanager
    async def open_players(state: TurnState) -> AsyncIterator[Players]:
        setting, context = setting_of(world, state["run"]), _context()
        variant = context.get("prompts") or world.prompts(setting.config)
        # Reading a folder waits for the disk, which `langgraph dev` refuses in its event loop.
        prompts = await asyncio.to_thread(load_prompts, world, variant, context.get("lang", "en"), setting)
        players = RunPlayers(world, setting, prompts)
        try:
            yield players
        finally:
            await players.close()

    nodes = {**ring(world, open_players, NoJournal()), "observe": observing}
    return build(nodes, StudioContext).compile(name=world.name)


def _context() -> StudioContext:
    """Return the options of the run that is played."""
    return get_runtime(StudioContext).context or {}


def _begin(world: AnyWorld, context: StudioContext) -> TurnState:
    """Return the first state of the run that the context asks for."""
    agents = world.names(context.get("agents", world.default_agents))
    values = {"rounds": ROUNDS, **context.get("config", {})}
    if "observer" in context:
        values["observer"] = context["observer"]
    setting = make_setting(world, agents, context.get("seed", 1), values)
    models = deal(world, context.get("models", f"policy:{world.policies.default}"), setting.agents)
    return first_state(world, setting, models)
