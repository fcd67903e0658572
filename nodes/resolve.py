"""resolve: what the intents lead to. Only the engine changes a world."""

from engine.world import AnyWorld
from nodes.state import TurnState, Update, now


def resolve(world: AnyWorld, state: TurnState) -> Update:
    """Give the next state of the world, what happened, what was drawn, and what was carried out in part."""
    intents = {agent: world.intent.from_json(said) for agent, said in state["intents"].items()}
    resolved = world.resolve(now(world, state), intents)
    return {
        "mends": state["mends"] + [mend.to_json() for mend in resolved.mends],
        "resolved": {
            "state": world.state.to_json(resolved.state),
            "over": world.over(resolved.state),
            "events": [event.to_json() for event in resolved.events],
            "draws": [draw.to_json() for draw in resolved.draws],
            "ledgers": dict(resolved.ledgers),
        },
    }
