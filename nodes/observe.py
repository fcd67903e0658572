"""observe: what each agent that acts now sees, with its own memory beside it."""

from engine.turn import views
from nodes.present import Present
from nodes.state import TurnState, Update


def observe(present: Present, state: TurnState) -> Update:
    """Return every acting agent's view; an agent that is new has the player of the agent it comes from."""
    here, models = present.state(state), state["models"]
    seen = views(present.world, here, present.memories(state))
    new = {agent: models[present.world.owner(here, agent)] for agent in seen if agent not in models}
    return {"views": seen, "models": models | new}
