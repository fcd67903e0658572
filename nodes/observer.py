"""observer: an observer outside the game rules on everything that agents request in a turn.

Only worlds in which agents can request something have this node. It stands between validate and resolve, and
is left out of a turn without requests.
"""

from collections.abc import Mapping
from typing import Any

from hobbes.engine.answer import ParsedAnswer
from hobbes.engine.turn import rule
from hobbes.engine.world import OBSERVER
from hobbes.nodes.agent_reason import Asking, halt_on_failure
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.journal import TURN_QUESTION
from hobbes.nodes.turn_state import TurnState


async def observer(asking: Asking) -> TurnState:
    """Return the judged answers with the observer's rulings in the intents.

    A failed call of the observer is written down like any other; the world's own rule then decides.
    """
    cache, state = asking.cache, asking.state
    world, here, judged = cache.world, cache.state(state), cache.judged.of(state["judged"])
    # Without a spec the world's own rule decides, and no call is made.
    spec = world.observer.asks(here) if world.observer else ""
    ruling = await _ruling(asking, spec, question) if spec and (question := state["question"]) else None
    ruled = rule(world, here, judged, ruling)
    return {"judged": cache.judged.put(ruled.to_json(), ruled)}


async def _ruling(asking: Asking, spec: str, question: Mapping[str, Any]) -> ParsedAnswer:
    """Ask the observer about all requests of the turn in one call.

    Raise HaltedError if the run has to stop.
    """
    state, player = asking.state, asking.players.observing(spec)
    try:
        answer = await asking.put(player, spec, OBSERVER, TURN_QUESTION, player.prompt(question))
    except HaltedError as error:
        raise HaltedError(f"turn {state['turn']}, {OBSERVER}: {error}") from error
    asking.check_players()
    if state["run"]["config"]["on_failure"] == "halt":
        halt_on_failure(state["turn"], {OBSERVER: answer})
    return answer.parsed
