"""A world's graph for `langgraph dev`, which keeps its own checkpoints and plays each thread to its end."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from langgraph.graph import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import get_runtime
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from hobbes.engine.world import MAX_AGENTS, AnyWorld, make_setting
from hobbes.graphs.ring import Node, build, ring
from hobbes.nodes.journal import MemoryJournal, PlayerKind
from hobbes.nodes.observe import observe
from hobbes.nodes.players import Players, RunPlayers, deal, parse_spec
from hobbes.nodes.prompting import load_prompts
from hobbes.nodes.turn_cache import TurnCache
from hobbes.nodes.turn_state import TurnState, first_state, setting_of

ROUNDS = 3
"""How many rounds are played if the context does not say. It is small: a thread keeps every step."""


class StudioContext(BaseModel):
    """The options of a run in `langgraph dev`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agents: int | None = Field(
        None, ge=1, le=MAX_AGENTS, description="How many agents play; null for as many as are usual."
    )
    seed: int = Field(1, description="The seed of all random draws.")
    models: str | None = Field(
        None, description="A mix of players such as openai:NAME*2,policy:random*2; null for the usual policy."
    )
    prompts: str | None = Field(
        None, description="A variant of the prompts, or the path of a folder; null for the usual variant."
    )
    lang: str = Field("en", description="The language of the prompts: en or zh.")
    config: dict[str, Any] = Field(
        {}, description=f"Settings by name, such as rounds, which is {ROUNDS} here."
    )


class NoInput(TypedDict):
    """Nothing: the context says what is played."""


def studio_graph(world: AnyWorld) -> "CompiledStateGraph[TurnState, Any, Any, Any]":
    """Return the compiled graph of a world. The input `{}` plays a few rounds with its default policy."""
    cache = TurnCache(world)

    async def observing(state: TurnState) -> TurnState:
        if "run" in state:
            return observe(cache, state)
        # Reading a folder waits for the disk, which `langgraph dev` refuses in its event loop.
        begun = await asyncio.to_thread(_begin, world, get_runtime(StudioContext).context or StudioContext())
        return {**begun, **observe(cache, begun)}

    @asynccontextmanager
    async def open_players(state: TurnState) -> AsyncIterator[Players]:
        players = await asyncio.to_thread(_players, world, state)
        try:
            yield players
        finally:
            await players.close()

    def with_its_context(node: Node) -> Node:
        async def checked(state: TurnState) -> TurnState:
            _check_context(state)
            return await node(state)

        return checked

    # An input to a finished thread starts no node.
    async def begin_with_its_context(state: TurnState) -> list[str]:
        _check_context(state)
        return []

    journal = MemoryJournal(_checkpoint)
    nodes = {**ring(world, open_players, journal), "observe": observing}
    graph = build({name: with_its_context(node) for name, node in nodes.items()}, StudioContext, NoInput)
    graph.add_conditional_edges(START, begin_with_its_context, [])
    return graph.compile(name=world.name)


def _checkpoint() -> str:
    """Return the id of the checkpoint that a node starts from."""
    info = get_runtime().execution_info
    return info.checkpoint_id if info else ""


def _check_context(state: TurnState) -> None:
    """Raise ValueError if a thread would go on with another context than that with which it began."""
    context = get_runtime(StudioContext).context
    # An empty context is what a client sends that has nothing to say.
    is_given = context is not None and context.model_fields_set and "context" in state
    if is_given and context.model_dump() != state["context"]:
        raise ValueError("this thread was begun with another context; begin a new thread for this one")


def _players(world: AnyWorld, state: TurnState) -> RunPlayers:
    """Return the players of a thread. Raise ValueError for Python players and for prompts that changed."""
    _check_no_code(world, state["models"])
    setting, then = setting_of(world, state["run"]), state["prompts"]
    prompts = load_prompts(world, then["variant"], then["lang"], setting)
    if prompts.identity != then:
        raise ValueError(
            f"the prompts {then['variant']} ({then['lang']}) have changed since this thread began; "
            "begin a new thread"
        )
    return RunPlayers(world, setting, prompts)


def _check_no_code(world: AnyWorld, models: Mapping[str, str]) -> None:
    """Raise ValueError for Python players."""
    if any(parse_spec(world.policies, spec).kind is PlayerKind.PYTHON for spec in {*models.values()}):
        raise ValueError("python: players run code of their own, which `langgraph dev` does not call")


def _begin(world: AnyWorld, context: StudioContext) -> TurnState:
    """Return the first state of the run that the context asks for."""
    agents = world.names(context.agents or world.default_agents)
    setting = make_setting(world, agents, context.seed, {"rounds": ROUNDS, **context.config})
    models = deal(world, context.models or f"policy:{world.policies.default}", setting.agents)
    _check_no_code(world, models)
    prompts = load_prompts(world, context.prompts or world.prompts(setting.config), context.lang, setting)
    begun = first_state(world, setting, models)
    return {**begun, "prompts": prompts.identity, "context": context.model_dump()}
