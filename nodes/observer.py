"""observer: somebody outside the game rules on what the agents asked for, all requests of a turn at once.

Only worlds in which agents can ask have this node; it stands between validate and resolve.
"""

from typing import Any

from engine.world import OBSERVER, AnyWorld
from nodes.agent_reason import ask, halt_on_failure
from nodes.journal import Address, Journal
from nodes.minds import Minds
from nodes.state import TurnState, Update, now


async def rule(world: AnyWorld, minds: Minds, journal: Journal, state: TurnState) -> Update:
    """Put the rulings into the intents; a ruling that failed is counted as any other call that did."""
    bench = world.observer
    present = now(world, state)
    intents = {agent: world.intent.from_json(said) for agent, said in state["intents"].items()}
    requests = bench.requests(present, intents) if bench is not None else ()
    if bench is None or not requests:
        return {}
    spec = bench.asks(present)
    update: Update = {}
    answer: dict[str, Any] = {"said": None, "drops": [], "mends": []}
    if spec:
        halting = state["run"]["config"]["on_failure"] == "halt"
        view = {"world": world.name, "turn": state["turn"], "you": OBSERVER, "requests": list(requests)}
        answer = await ask(
            minds.observing(spec), journal, Address(state["turn"], OBSERVER), view, halting=halting
        )
        update = {"answers": {**state["answers"], OBSERVER: answer}}
        if halting:
            halt_on_failure(state["turn"], {OBSERVER: answer})
    ruled = bench.rule(present, intents, answer["said"])
    return {
        **update,
        "intents": {agent: world.intent.to_json(intent) for agent, intent in ruled.intents.items()},
        "drops": [*state["drops"], *answer["drops"], *(drop.to_json() for drop in ruled.drops)],
        "mends": [*state["mends"], *answer["mends"], *(mend.to_json() for mend in ruled.mends)],
    }
