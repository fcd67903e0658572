"""observe: what each agent that acts this turn sees, together with its own memory."""

from hobbes.engine.turn import views
from hobbes.nodes.turn_cache import TurnCache
from hobbes.nodes.turn_state import TurnState, replacing


def observe(cache: TurnCache, state: TurnState) -> TurnState:
    """Return the view of every acting agent, and a player for each agent that is new this turn."""
    here, models = cache.state(state), state["models"]
    seen = views(cache.world, here, cache.memories.of(state["memories"]))
    # In some worlds new agents appear during a run; the player of the agent that owns one answers for it.
    new = {agent: models[cache.world.owner(here, agent)] for agent in seen if agent not in models}
    return {"views": seen, "models": replacing(models | new)} if new else {"views": seen}
