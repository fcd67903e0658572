"""How tests play a turn: with the engine's own steps, as everybody else does."""

from collections.abc import Mapping
from typing import Any

from hobbes.engine import turn
from hobbes.engine.answer import FoundAs, Outcome, ParsedAnswer
from hobbes.engine.memory import Memory
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
    """Play one turn with these answers."""
    said = {agent: parsed(answer) for agent, answer in answers.items()}
    return turn.play_turn(world, state, memories, said, parsed(ruling) if ruling is not None else None)


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
