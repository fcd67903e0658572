"""How tests play a turn: with the engine's own steps, as everybody else does."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hobbes.engine import turn
from hobbes.engine.answer import FoundAs, Outcome, ParsedAnswer
from hobbes.engine.chance import RngStream
from hobbes.engine.memory import Memory
from hobbes.engine.policy import speak
from hobbes.engine.record import JsonObject
from hobbes.engine.world import AnyWorld, Validated

NO_MEMORIES: Mapping[str, Memory] = {}


def parsed(answer: JsonObject | None) -> ParsedAnswer:
    """Return an object as the parsed answer that it would be; None is a call that failed."""
    if answer is None:
        return ParsedAnswer(Outcome.TIMED_OUT, FoundAs.NONE, None)
    return ParsedAnswer(Outcome.ANSWERED, FoundAs.JSON, dict(answer))


def play(
    world: AnyWorld,
    state: Any,
    answers: Mapping[str, JsonObject | None],
    memories: Mapping[str, Memory] = NO_MEMORIES,
    ruling: JsonObject | None = None,
) -> "turn.Turn[Any, Any]":
    said = {agent: parsed(answer) for agent, answer in answers.items()}
    return turn.play_turn(world, state, memories, said, parsed(ruling) if ruling is not None else None)


def play_policies(
    world: AnyWorld, state: Any, names: Sequence[str], noise: float = 0.0
) -> "Iterator[turn.Turn[Any, Any]]":
    """Play policies to the end of the game, dealt to the agents in order, each with its own memory.

    A text that noise has spoiled so that it is no JSON is a call that failed.
    """
    memories = NO_MEMORIES
    while not world.over(state):
        answers: dict[str, JsonObject | None] = {}
        for agent, view in turn.views(world, state, memories).items():
            name = names[state.setting.agents.index(world.owner(state, agent)) % len(names)]
            rng = RngStream(state.setting.seed, state.turn, agent)
            answers[agent] = _heard(speak(world.policies, name, noise, view, rng))
        yield (played := play(world, state, answers, memories))
        state, memories = played.resolved.state, played.memories


def _heard(text: str) -> JsonObject | None:
    try:
        answer = json.loads(text)
    except json.JSONDecodeError:
        return None
    return answer if isinstance(answer, dict) else None


def validated(played: "turn.Turn[Any, Any]") -> dict[str, Validated[Any]]:
    """Return what became of each agent's answer in a turn."""
    judged = played.judged
    return {
        agent: Validated(
            intent,
            tuple(drop for drop in judged.drops if drop.agent == agent),
            tuple(mend for mend in judged.mends if mend.agent == agent),
        )
        for agent, intent in judged.intents.items()
    }
