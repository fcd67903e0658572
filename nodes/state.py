"""What flows through a turn and is checkpointed at its end.

Plain JSON, bounded in size, never changed in place. It lies here and not in `graphs`, because the nodes read
and write it, and no room imports from one above it.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from typing_extensions import TypedDict  # pydantic refuses typing.TypedDict before Python 3.12

from engine.memory import EMPTY_MEMORY, Memory
from engine.turn import first_digest
from engine.world import AnyWorld, Setting, settle

Update: TypeAlias = dict[str, Any]
"""What a node returns: some of the state's channels, each as its new value."""


class Identity(TypedDict):
    """What a run is, apart from what its agents say: world, settings, agents and seed."""

    world: str
    config: dict[str, Any]
    agents: list[str]
    seed: int


class TurnState(TypedDict, total=False):
    """The channels. Those of the second group live inside a turn only; `log` empties them."""

    run: Identity
    models: dict[str, str]
    """The spec of the player of each agent: `openai:NAME` or `policy:NAME?noise=0.1`."""
    turn: int
    world: dict[str, Any]
    memories: dict[str, dict[str, Any]]
    digest: str
    over: bool

    views: dict[str, dict[str, Any]]
    answers: dict[str, dict[str, Any]]
    judged: dict[str, Any]
    resolved: dict[str, Any]


CHANNELS = TurnState.__required_keys__ | TurnState.__optional_keys__

PASSING: Update = {"views": {}, "answers": {}, "judged": {}, "resolved": {}}
"""The channels of the second group, empty."""


def first_state(world: AnyWorld, setting: Setting[Any], models: dict[str, str]) -> TurnState:
    """Return the state before the first turn."""
    state = world.setup(setting.config, setting.agents, setting.seed)
    return state_at(world, setting, models, state, {}, first_digest(world, setting))


def state_at(  # noqa: PLR0913, PLR0917  all that a run stands on between two turns
    world: AnyWorld,
    setting: Setting[Any],
    models: dict[str, str],
    state: Any,  # noqa: ANN401  a world's own state
    memories: Mapping[str, Memory],
    digest: str,
) -> TurnState:
    """Return the state of a run between two turns; whoever has no memory yet has an empty one."""
    everyone = {**dict.fromkeys(setting.agents, EMPTY_MEMORY), **memories}
    return {
        "run": Identity(
            world=world.name,
            config=setting.config.model_dump(mode="json"),
            agents=list(setting.agents),
            seed=setting.seed,
        ),
        "models": models,
        "turn": state.turn,
        "world": world.state.to_json(state),
        "memories": {agent: dict(memory.to_json()) for agent, memory in everyone.items()},
        "digest": digest,
        "over": world.over(state),
    }


def setting_of(world: AnyWorld, run: Identity) -> Setting[Any]:
    """Return the setting of a run from its identity."""
    return settle(world, run["agents"], run["seed"], run["config"])


def memories_from(told: Mapping[str, Mapping[str, Any]]) -> dict[str, Memory]:
    """Return everybody's memory from its JSON."""
    return {agent: Memory(**memory) for agent, memory in told.items()}
