"""observe: what each actor sees, with its own mind beside it."""

from engine.world import AnyWorld
from nodes.state import EMPTY_MIND, TurnState, Update, now


def observe(world: AnyWorld, state: TurnState) -> Update:
    """Give every actor its view; one that is new has the model of the agent that it comes from."""
    present, minds, models = now(world, state), state["minds"], state["models"]
    actors = world.actors(present)
    return {
        "views": {
            agent: {**world.observe(present, agent), "mind": minds.get(agent, EMPTY_MIND)} for agent in actors
        },
        "models": models | {new: models[world.owner(present, new)] for new in actors if new not in models},
    }
