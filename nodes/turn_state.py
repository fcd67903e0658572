"""The graph state: what flows through the nodes of a turn and is checkpointed at its end.

It is plain JSON, bounded in size, and never changed in place. It is defined here and not in `graphs`, because
the nodes read and write it, and `nodes` must not import from `graphs`.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic refuses typing.TypedDict before Python 3.12

from hobbes.engine.digest import first_digest
from hobbes.engine.memory import EMPTY_MEMORY, Memory
from hobbes.engine.world import AnyWorld, Setting, in_one_line, make_setting

T = TypeVar("T")


class Identity(TypedDict):
    """What a run plays, apart from what its agents say: world, settings, agents and seed."""

    world: str
    config: dict[str, Any]
    agents: list[str]
    seed: int


class MemoryState(TypedDict, total=False):
    """An agent's memory; `engine.memory` says what the fields mean."""

    notes: str
    previous_turn_summary: str
    history_summary: str
    keeps_word_report: dict[str, int]
    aggressor_report: dict[str, int]
    feedback: list[dict[str, Any]]


MEMORIES = TypeAdapter(
    dict[str, MemoryState], config=ConfigDict(strict=True, extra="forbid", defer_build=True)
)
"""The shape of the channel `memories`."""


def check_memories(memories: object) -> None:
    """Raise ValueError, with one line, for memories of another shape than agents have."""
    try:
        MEMORIES.validate_python(memories)
    except ValidationError as error:
        fields = ", ".join(MemoryState.__annotations__)
        raise ValueError(f"memories: {in_one_line(error, 2)}; a memory has {fields}") from error


def check_agents(channel: str, agents: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Raise ValueError if a change of a channel names an agent that has nothing in it."""
    if strangers := sorted(new.keys() - agents.keys()):
        raise ValueError(
            f"{channel}: there is no agent {', '.join(strangers)}; the agents are {', '.join(agents)}"
        )


def check_values(channel: str, new: object, kind: type, name: str) -> None:
    """Raise ValueError for a change of a channel that is no dict, or that has a value of another kind."""
    if not isinstance(new, dict):
        raise ValueError(f"{channel}: a dict of agents is due, not {new!r}")  # noqa: TRY004  what a person wrote
    for agent, value in new.items():
        if not isinstance(value, kind):
            raise ValueError(f"{channel}: {agent}: a {name} is due, not {value!r}")  # noqa: TRY004  what a person wrote


def by_agent(channel: str) -> Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]:
    """Return what replaces the values of some agents. It raises ValueError for one that is no dict."""

    def replaced(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        check_values(channel, new, dict, "dict")
        return {**old, **new} if old else new

    return replaced


def with_players(old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    """Replace the players of some agents. Raise ValueError for no text, or an agent that does not play."""
    check_values("models", new, str, "text")
    check_agents("models", old or new, new)
    return {**old, **new}


def by_field(old: dict[str, MemoryState], new: dict[str, MemoryState]) -> dict[str, MemoryState]:
    """Merge the memories of two channels: a field of the new one replaces that field of the old one.

    Raise ValueError for a memory of another shape, or of an agent that has none.
    """
    check_memories(new)
    check_agents("memories", old or new, new)
    return old | {agent: {**old.get(agent, {}), **fields} for agent, fields in new.items()}


class TurnState(TypedDict, total=False):
    """The channels of the graph. Those of the second group live inside one turn; `log` empties them."""

    run: Identity
    models: Annotated[dict[str, str], with_players]
    """The player spec of each agent: `openai:NAME` or `policy:NAME?noise=0.1`."""
    prompts: dict[str, str]
    """The variant, the language and the hash of the prompts, whose texts stand elsewhere."""
    context: dict[str, Any]
    """The options with which a thread of `langgraph dev` began."""
    turn: int
    world: dict[str, Any]
    memories: Annotated[dict[str, MemoryState], by_field]
    digest: str
    over: bool

    views: Mapping[str, Mapping[str, Any]]
    calls: Annotated[dict[str, dict[str, str]], by_agent("calls")]
    """Each agent's system text, prompt, raw answer and outcome; no node reads them."""
    answers: Annotated[dict[str, dict[str, Any]], by_agent("answers")]
    judged: dict[str, Any]
    question: Mapping[str, Any] | None
    """The observer's view with the requests of the turn, None if nobody requests anything."""
    resolved: dict[str, Any]


PASSING = TurnState(views={}, calls={}, answers={}, judged={}, question=None, resolved={})
"""The channels that live inside one turn, emptied."""


def replacing(value: T) -> T:
    """Return an update that replaces a channel which would merge it. It has the type of the channel."""
    from langgraph.types import Overwrite  # noqa: PLC0415  slow to import: readers of runs do without

    return cast("T", Overwrite(value))


def between_turns(lasting: TurnState) -> TurnState:
    """Return the update that sets channels which live longer than a turn, and empties those that do not."""
    update: TurnState = {**PASSING, **lasting}
    for name in ("models", "memories", "calls", "answers"):
        if name in update:
            update[name] = replacing(update[name])
    return update


def first_state(world: AnyWorld, setting: Setting[Any], models: dict[str, str]) -> TurnState:
    """Return the state before the first turn."""
    state = world.setup(setting.config, setting.agents, setting.seed)
    return state_at(world, setting, models, state, {}, first_digest(world, setting))


def state_at(  # noqa: PLR0913, PLR0917  a state has this many parts
    world: AnyWorld,
    setting: Setting[Any],
    models: dict[str, str],
    state: Any,  # noqa: ANN401  a world's own state
    memories: Mapping[str, Memory],
    digest: str,
) -> TurnState:
    """Return the state of a run between two turns. An agent without a memory gets an empty one."""
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
        "memories": {
            agent: cast("MemoryState", dict(memory.to_json())) for agent, memory in everyone.items()
        },
        "digest": digest,
        "over": world.over(state),
    }


def setting_of(world: AnyWorld, run: Identity) -> Setting[Any]:
    """Return the setting of a run from its identity."""
    return make_setting(world, run["agents"], run["seed"], run["config"])


def memories_from(told: Mapping[str, Mapping[str, Any]]) -> dict[str, Memory]:
    """Return everybody's memory from its JSON. Raise ValueError, with one line, for another shape."""
    check_memories(told)
    return {agent: Memory.from_json(memory) for agent, memory in told.items()}
