"""What flows through a turn and is checkpointed at its end.

Plain JSON, bounded in size, never changed in place. It lies here and not in `graphs`, because the nodes read
and write it and the floors let nobody import upwards.
"""

from typing import Any, TypeAlias, cast

from typing_extensions import TypedDict  # pydantic refuses typing.TypedDict before Python 3.12

from engine.record import JsonObject, canonical, sha256
from engine.world import AnyWorld, Setting, settle

Update: TypeAlias = dict[str, Any]
"""What a node gives: some of the state's channels, each as its new value."""


class Identity(TypedDict):
    """What a run is, apart from what its agents say: two runs alike in this share all their luck."""

    world: str
    config: dict[str, Any]
    agents: list[str]
    seed: int


class TurnState(TypedDict, total=False):
    """The channels. Those of the second group live inside a turn only; `log` empties them."""

    run: Identity
    models: dict[str, str]
    """Who answers for each agent: `openai:NAME` or `policy:NAME?noise=0.1`."""
    turn: int
    world: dict[str, Any]
    minds: dict[str, dict[str, Any]]
    digest: str
    outcomes: dict[str, int]
    """How the calls of the run ended so far, counted."""
    over: bool

    views: dict[str, dict[str, Any]]
    answers: dict[str, dict[str, Any]]
    intents: dict[str, dict[str, Any]]
    drops: list[dict[str, Any]]
    mends: list[dict[str, Any]]
    resolved: dict[str, Any]


CHANNELS = TurnState.__required_keys__ | TurnState.__optional_keys__

PASSING: Update = {"views": {}, "answers": {}, "intents": {}, "drops": [], "mends": [], "resolved": {}}
"""The channels of the second group, empty."""

EMPTY_MIND: dict[str, Any] = {
    "memory": "",
    "last_summary": "",
    "history_summary": "",
    "keeps_word_report": {},
    "aggressor_report": {},
}


def first_state(world: AnyWorld, setting: Setting[Any], models: dict[str, str]) -> TurnState:
    """Give the state before the first turn."""
    state = world.setup(setting.config, setting.agents, setting.seed)
    run = identity(world, setting)
    return {
        "run": run,
        "models": models,
        "turn": 0,
        "world": world.state.to_json(state),
        "minds": dict.fromkeys(setting.agents, EMPTY_MIND),
        "digest": first_digest(world, run),
        "outcomes": {},
        "over": world.over(state),
    }


def identity(world: AnyWorld, setting: Setting[Any]) -> Identity:
    """Give what a run is."""
    return Identity(
        world=world.name,
        config=setting.config.model_dump(mode="json"),
        agents=list(setting.agents),
        seed=setting.seed,
    )


def first_digest(world: AnyWorld, run: Identity) -> str:
    """Give the first link of the chain: the run's identity, which does not depend on who answers."""
    rules = {name: value for name, value in run["config"].items() if name not in world.config.WHO}
    return sha256(canonical(cast("JsonObject", {**run, "config": rules})))


def setting_of(world: AnyWorld, run: Identity) -> Setting[Any]:
    """Give the setting of a run from its identity."""
    return settle(world, run["agents"], run["seed"], run["config"])


def now(world: AnyWorld, state: TurnState) -> Any:  # noqa: ANN401  a world's own state
    """Give the world's state at the start of this turn."""
    return world.load(setting_of(world, state["run"]), state["world"])
