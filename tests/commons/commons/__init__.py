"""commons: agents take units from one stock, which grows by a percentage of what is left."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from hobbes.engine.chance import RngStream
from hobbes.engine.policy import Policies
from hobbes.engine.record import Event, Findings, JsonObject
from hobbes.engine.reflection import Reflection, ReflectionFields, reflect
from hobbes.engine.said import whole
from hobbes.engine.world import (
    ALL_PLAYED,
    Codec,
    Config,
    Percent,
    Resolved,
    RunSetting,
    Setting,
    StateCodec,
    Validated,
    World,
)

PROMPTS = Path(__file__).parent / "prompts" / "plain"

Units = Annotated[int, Field(ge=0, le=1_000_000)]


class CommonsConfig(Config):
    """The numbers of the rules."""

    rounds: int = Field(10, ge=1, le=100_000, description="rounds to play")
    stock: Units = Field(50, description="units at the start")
    capacity: Units = Field(100, description="units that there can be at most")
    growth: Percent = Field(25, description="by how much the stock grows in a round, in percent")
    limit: Units = Field(10, description="units that an agent may take in a round")


class CommonsAction(ReflectionFields):
    """The schema of an answer."""

    take: int = Field(ge=0, description="units to take this round, at most the limit")


@dataclass(frozen=True, slots=True)
class State:
    """The stock at the start of round `turn`, counted from 0, and what each agent has taken up to now."""

    setting: RunSetting[CommonsConfig]
    turn: Annotated[int, Field(ge=0)]
    stock: Units
    taken: Mapping[str, int]

    @property
    def config(self) -> CommonsConfig:
        """The numbers of this run's rules."""
        return self.setting.config


@dataclass(frozen=True, slots=True)
class Intent:
    """How much an agent wants to take: nothing, if its answer was lost or rejected."""

    take: int = 0
    reflection: Reflection = field(default_factory=Reflection)


def setup(config: CommonsConfig, agents: tuple[str, ...], seed: int) -> State:
    """Return the first state: nobody has taken anything."""
    return State(Setting(config, agents, seed), 0, config.stock, dict.fromkeys(agents, 0))


def observe(state: State, agent: str) -> JsonObject:
    """Return the view of an agent, which may know everything."""
    return {
        "world": "commons",
        "you": agent,
        "turn": state.turn,
        "stock": state.stock,
        "limit": state.config.limit,
        "growth": state.config.growth,
        "taken": dict(state.taken),
    }


def validate(state: State, agent: str, answer: JsonObject | None) -> Validated[Intent]:
    """Return the intent of an answer: a whole number of units, which is cut to the limit."""
    if answer is None:
        return Validated(Intent())
    findings = Findings(agent)
    for name in sorted(answer.keys() - CommonsAction.model_fields.keys()):
        findings.drop("schema", "commons/unknown-field", {name: answer[name]})
    take = whole(answer.get("take"))
    if take is None or take < 0:
        findings.drop("schema", "commons/no-number", {"take": answer.get("take")}, "nothing is taken")
        take = 0
    elif take > state.config.limit:
        findings.mend("rule", "commons/over-limit", {"take": take}, {"take": state.config.limit})
        take = state.config.limit
    reflection = reflect(findings, answer, state.setting.agents)
    return Validated(Intent(take, reflection), tuple(findings.drops), tuple(findings.mends))


def resolve(state: State, intents: Mapping[str, Intent]) -> Resolved[State]:
    """Return the next state and who took what.

    Agents that want more than there is get shares of it in proportion, rounded down, and nothing is left.
    What is left grows by `growth` percent, rounded down, up to the capacity.
    """
    config, wanted = state.config, {agent: intent.take for agent, intent in intents.items()}
    total = sum(wanted.values())
    got = {agent: take * min(state.stock, total) // max(total, 1) for agent, take in wanted.items()}
    left = max(0, state.stock - total)
    return Resolved(
        replace(
            state,
            turn=state.turn + 1,
            stock=min(config.capacity, left + left * config.growth // 100),
            taken={agent: taken + got.get(agent, 0) for agent, taken in state.taken.items()},
        ),
        tuple(Event("take", agent, {"units": got[agent]}) for agent in state.taken if got.get(agent)),
    )


def over(state: State) -> bool:
    """Return whether the rounds have been played or nothing is left."""
    return state.turn >= state.config.rounds or state.stock == 0


def modest(view: JsonObject, rng: RngStream) -> JsonObject:  # noqa: ARG001  the shape of a Policy
    """Take an equal share of what the stock grows by."""
    seen: Any = view
    growth = seen["stock"] * seen["growth"] // (100 + seen["growth"])
    return {"take": min(growth // len(seen["taken"]), seen["limit"]), "reasoning": "It can last."}


def greedy(view: JsonObject, rng: RngStream) -> JsonObject:  # noqa: ARG001  the shape of a Policy
    """Take as much as is allowed."""
    return {"take": view["limit"], "reasoning": "Before others do."}


COMMONS: World[CommonsConfig, State, Intent] = World(
    name="commons",
    rules_version=1,
    config=CommonsConfig,
    action=lambda _: CommonsAction,
    setup=setup,
    observe=observe,
    validate=validate,
    resolve=resolve,
    over=over,
    ending=lambda state: ALL_PLAYED if state.stock else "nothing is left",
    scores=lambda state: state.taken,
    state=StateCodec(State),
    intent=Codec(Intent),
    policies=Policies({"modest": modest, "greedy": greedy}, default="modest"),
    prompts=lambda _: str(PROMPTS),
)
