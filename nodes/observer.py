"""observer: somebody outside the game rules on what the agents asked for, all requests of a turn at once.

Only worlds in which agents can ask have this node; it stands between validate and resolve.
"""

from collections.abc import Sequence
from typing import Any

from engine.record import JsonObject
from engine.world import OBSERVER, AnyWorld
from nodes.agent_reason import Turn, as_answer, halt_on_failure
from nodes.halted import HaltedError
from nodes.journal import Journal
from nodes.minds import Minds
from nodes.state import TurnState, Update, now


async def rule(world: AnyWorld, minds: Minds, journal: Journal, state: TurnState) -> Update:
    """Put the rulings into the intents; a call that failed is counted as any other that did."""
    desk = world.observer
    present = now(world, state)
    intents = {agent: world.intent.from_json(said) for agent, said in state["intents"].items()}
    if desk is None or not (requests := desk.requests(present, intents)):
        return {}
    spec = desk.asks(present)
    answer = await _asked(Turn(world, minds, journal, state), spec, requests) if spec else NOTHING
    ruled = desk.rule(present, intents, answer["said"])
    return {
        "answers": {**state["answers"], **({OBSERVER: answer} if spec else {})},
        "intents": {agent: world.intent.to_json(intent) for agent, intent in ruled.intents.items()},
        "drops": [*state["drops"], *answer["drops"], *(drop.to_json() for drop in ruled.drops)],
        "mends": [*state["mends"], *answer["mends"], *(mend.to_json() for mend in ruled.mends)],
    }


NOTHING: dict[str, Any] = {"said": None, "drops": [], "mends": []}
"""What is heard where the engine rules by itself."""


async def _asked(turn: Turn, spec: str, requests: Sequence[JsonObject]) -> dict[str, Any]:
    """Put all requests of a turn to whoever observes; where failures halt the run, one does."""
    state = turn.state
    view = {"world": turn.world.name, "turn": state["turn"], "you": OBSERVER, "requests": list(requests)}
    mind = turn.minds.observing(spec)
    try:
        answer = as_answer(await turn.put(mind, OBSERVER, 1, mind.prompt(view)))
    except HaltedError as error:
        raise HaltedError(f"turn {state['turn']}, {OBSERVER}: {error}") from error
    if state["run"]["config"]["on_failure"] == "halt":
        halt_on_failure(state["turn"], {OBSERVER: answer})
    return answer
