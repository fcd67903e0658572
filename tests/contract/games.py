"""Small games of every world, which the contract suite plays and looks at.

A world is in the suite as soon as it is in `hobbes.worlds.WORLDS`; the example of
tests/fishery is, too. It is played with its defaults and with
what the JSON schema of its config offers: each switch (a boolean or a choice) in each of its positions. EXTRA
adds the settings that no schema can tell, such as land of uneven worth or an observer who has to be asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from hobbes.engine import turn as turns
from hobbes.engine.answer import ParsedAnswer
from hobbes.engine.chance import RngStream
from hobbes.engine.memory import Memory
from hobbes.engine.policy import speak
from hobbes.engine.record import Json, JsonObject
from hobbes.engine.turn import Turn
from hobbes.engine.world import OBSERVER, AnyWorld, Config, Setting, make_setting
from hobbes.nodes.journal import Reply
from hobbes.nodes.reading import read
from hobbes.worlds import WORLDS
from tests.fishery.world import FISHERY

Values = dict[str, Json]

AGENTS = 4
ROUNDS = 10
NOISES = (0.0, 0.4)

EXTRA: Mapping[str, Sequence[Values]] = {
    "fishery": ({"observer": "human", "stock": 60, "quota": 20, "storm": 60},),
    "mining": (
        {
            "rows": 2,
            "cols": 3,
            "alpha": {"plots": 2, "multiplier": 5},
            "authority": "raid_tax",
            "immunity": 0,
        },
        {"rows": 2, "cols": 3, "stamina": [9, 3, 0, 5], "authority": "punishment", "communication": True},
        {"rows": 2, "cols": 2, "communication": True, "private_messages": True, "own_history": True},
        {"rows": 2, "cols": 2, "authority": "adjudication", "immunity": 0, "fault_policy": "rationalize"},
    ),
    "nations": (
        {"resources": True, "observability": "own", "map": "ring"},
        {"bad_actors": {"AgentA": {"goal": "damage", "target": "AgentB"}}, "army": {"AgentA": 60}},
    ),
    "trust": (
        {
            "observer": "human",
            "victory": "team",
            "start": 110,
            "clone_start": 3,
            "miss": 40,
            "fumble": 20,
            "shock": 40,
        },
        {"start": 30, "alliances": [["unit-a", "unit-b", "unit-c"]], "observer": "always", "rounds": 30},
        {
            "alliances": "declared",
            "observer": "reading",
            "miss": 30,
            "misread": 40,
            "start": 95,
            "threshold": 120,
            "rounds": 20,
        },
    ),
}
"""Further settings of a world, for what neither its defaults nor its switches lead to."""


@dataclass(frozen=True, eq=False)
class Case:
    """A world with the settings of one game, and how each agent's policy is called."""

    world: AnyWorld
    values: Values
    number: int

    def __str__(self) -> str:
        return f"{self.world.name}-{self.number}"

    @property
    def setting(self) -> Setting[Any]:
        return settled(self.world, self.values)

    @property
    def players(self) -> Mapping[str, tuple[str, float]]:
        """The policy and the noise of each agent: all policies of the world have their turn."""
        names = list(self.world.policies.by_name)
        # Each game begins one policy further on, so that the same ones do not always play together.
        return {
            agent: (
                names[(k + (AGENTS + 1) * self.number) % len(names)],
                NOISES[(k + self.number) % len(NOISES)],
            )
            for k, agent in enumerate(self.setting.agents)
        }

    @property
    def models(self) -> str:
        """The players as `hobbes run --model` takes them."""
        return ",".join(f"policy:{name}?noise={noise}*1" for name, noise in self.players.values())


@dataclass(frozen=True, eq=False)
class Moment:
    """One turn of a game: the state and memories it began with, what was said, and what became of it."""

    state: Any
    memories: Mapping[str, Memory]
    texts: Mapping[str, str]
    ruled: str | None
    played: Turn[Any, Any]

    @cached_property
    def answers(self) -> dict[str, ParsedAnswer]:
        return {agent: heard(agent, text) for agent, text in self.texts.items()}

    @cached_property
    def ruling(self) -> ParsedAnswer | None:
        """The parsed ruling of an observer who was asked."""
        return None if self.ruled is None else heard(OBSERVER, self.ruled)


def heard(agent: str, text: str) -> ParsedAnswer:
    """Return the parsed answer of a text."""
    return read(agent, Reply(text, "game"), ())


def settled(world: AnyWorld, values: Mapping[str, Json]) -> Setting[Any]:
    """Return the setting of a game, with these values."""
    return make_setting(world, world.names(AGENTS), 1, {"rounds": ROUNDS, **values})


def start(world: AnyWorld, setting: Setting[Any]) -> Any:
    return world.setup(setting.config, setting.agents, setting.seed)


def switches(world: AnyWorld) -> dict[str, list[Json]]:
    """Return the settings of a world that are booleans or choices, with their values, the default last."""
    found: dict[str, list[Json]] = {}
    for name, schema in world.config.model_json_schema()["properties"].items():
        values = [False, True] if schema.get("type") == "boolean" else schema.get("enum", [])
        if name not in Config.model_fields and values:
            found[name] = [value for value in values if value != schema["default"]] + [schema["default"]]
    return found


def switched(world: AnyWorld) -> Iterator[Values]:
    """Yield settings that put each switch in each position at least once, as far as they go together."""
    found = switches(world)
    for k in range(max(map(len, found.values()), default=0)):
        values: Values = {}
        for place, (name, options) in enumerate(found.items()):
            tried = {**values, name: options[(k + place) % len(options)]}
            try:
                start(world, settled(world, tried))
            except ValueError:
                continue
            values = tried
        yield values


def cases(world: AnyWorld) -> list[Case]:
    values = [{}, *switched(world), *EXTRA.get(world.name, ())]
    return [Case(world, one, number) for number, one in enumerate(values)]


ALL_WORLDS = (*WORLDS.values(), FISHERY)

CASES = [case for world in ALL_WORLDS for case in cases(world)]


def games(world: AnyWorld) -> Iterator[tuple[Case, tuple[Moment, ...]]]:
    return ((case, game(case)) for case in CASES if case.world is world)


@cache
def game(case: Case) -> tuple[Moment, ...]:
    return tuple(moments(case))


def moments(case: Case) -> Iterator[Moment]:
    """Play a game turn by turn. Each agent has a policy, noise spoils the answers of some."""
    world = case.world
    state, memories = start(world, case.setting), dict[str, Memory]()
    while not world.over(state):
        texts = {
            agent: said(case, state, agent, view)
            for agent, view in turns.views(world, state, memories).items()
        }
        judged = turns.judge(world, state, {agent: heard(agent, text) for agent, text in texts.items()})
        ruled = ruling_said(case, state, turns.question_of(world, state, judged.intents))
        judged = turns.rule(world, state, judged, None if ruled is None else heard(OBSERVER, ruled))
        played = turns.resolve(world, state, memories, judged)
        yield Moment(state, memories, texts, ruled, played)
        state, memories = played.resolved.state, dict(played.memories)


def said(case: Case, state: Any, agent: str, view: JsonObject) -> str:
    name, noise = case.players[case.world.owner(state, agent)]
    return speak(case.world.policies, name, noise, view, RngStream(case.setting.seed, state.turn, agent))


def ruling_said(case: Case, state: Any, question: JsonObject | None) -> str | None:
    """Return what the observer says, None if there is none or none has to be asked."""
    observer = case.world.observer
    if observer is None or question is None or not observer.asks(state):
        return None
    stand_ins = observer.stand_ins
    rng = RngStream(case.setting.seed, state.turn, OBSERVER)
    return speak(stand_ins, stand_ins.default, NOISES[state.turn % len(NOISES)], question, rng)
