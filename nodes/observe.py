"""observe: what each actor sees, with its own mind beside it."""

from engine.world import AnyWorld
from nodes.state import EMPTY_MIND, TurnState, Update, now


def observe(world: AnyWorld, state: TurnState) -> Update:
    """Give every actor its view."""
    present, minds = now(world, state), state["minds"]
    return {
        "views": {
            agent: {**world.observe(present, agent), "mind": minds.get(agent, EMPTY_MIND)}
            for agent in world.actors(present)
        }
    }
