"""observer: somebody outside the game rules on what the agents ask for, all requests of a turn at once.

Only worlds in which agents can ask have this node; it stands between validate and resolve.
"""

from engine.answer import ParsedAnswer
from engine.record import JsonObject
from engine.turn import question_of, rule
from engine.world import OBSERVER
from nodes.agent_reason import Asking, halt_on_failure
from nodes.halted import HaltedError
from nodes.state import Update


async def observer(asking: Asking) -> Update:
    """Put the rulings into the intents; a call that failed is counted as any other that did."""
    present, state = asking.present, asking.state
    world, here, judged = present.world, present.state(state), present.judged(state)
    question = question_of(world, here, judged.intents)
    if world.observer is None or question is None:
        return {}
    spec = world.observer.asks(here)
    ruling = await _ruling(asking, spec, question) if spec else None
    return {"judged": present.leave_judged(rule(world, here, judged, ruling))}


async def _ruling(asking: Asking, spec: str, question: JsonObject) -> ParsedAnswer:
    """Put all requests of a turn to the player who observes; where failures halt the run, one does."""
    state, player = asking.state, asking.players.observing(spec)
    try:
        heard = await asking.put(player, OBSERVER, 1, player.prompt(question))
    except HaltedError as error:
        raise HaltedError(f"turn {state['turn']}, {OBSERVER}: {error}") from error
    if state["run"]["config"]["on_failure"] == "halt":
        halt_on_failure(state["turn"], {OBSERVER: heard})
    return heard.parsed
