"""observer: an observer outside the game rules on everything that agents request in a turn.

Only worlds in which agents can request something have this node. It stands between validate and resolve, and
is left out of a turn without requests.
"""

from hobbes.engine.answer import ParsedAnswer
from hobbes.engine.record import JsonObject
from hobbes.engine.turn import rule
from hobbes.engine.world import OBSERVER
from hobbes.nodes.agent_reason import Asking, halt_on_failure
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.journal import TURN_QUESTION
from hobbes.nodes.state import Update


async def observer(asking: Asking) -> Update:
    """Return the judged answers with the observer's rulings in the intents.

    A failed call of the observer is written down like any other; the world's own rule then decides.
    """
    cache, state = asking.cache, asking.state
    world, here, judged = cache.world, cache.state(state), cache.judged.of(state["judged"])
    question = state["question"]
    if world.observer is None or question is None:
        return {}
    spec = world.observer.asks(here)
    # Without a spec the world's own rule decides, and no call is made.
    ruling = await _ruling(asking, spec, question) if spec else None
    ruled = rule(world, here, judged, ruling)
    return {"judged": cache.judged.put(ruled.to_json(), ruled)}


async def _ruling(asking: Asking, spec: str, question: JsonObject) -> ParsedAnswer:
    """Ask the observer about all requests of the turn in one call.

    Raise HaltedError if the call failed and the run's setting is to halt on failures.
    """
    state, player = asking.state, asking.players.observing(spec)
    try:
        answer = await asking.put(player, OBSERVER, TURN_QUESTION, player.prompt(question))
    except HaltedError as error:
        raise HaltedError(f"turn {state['turn']}, {OBSERVER}: {error}") from error
    if state["run"]["config"]["on_failure"] == "halt":
        halt_on_failure(state["turn"], {OBSERVER: answer})
    return answer.parsed
