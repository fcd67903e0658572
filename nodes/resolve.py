"""resolve: compute what the intents lead to. Only the engine changes the state of a world."""

import orjson

from hobbes.engine import turn
from hobbes.nodes.turn_cache import TurnCache
from hobbes.nodes.turn_state import TurnState


def resolve(cache: TurnCache, state: TurnState) -> TurnState:
    """Return the record of the turn, whether the game is over, and the world's ledgers."""
    world = cache.world
    memories, judged = cache.memories.of(state["memories"]), cache.judged.of(state["judged"])
    played = turn.resolve(world, cache.state(state), memories, judged)
    return {
        "resolved": {
            "record": cache.put_turn(played),
            "over": world.over(played.resolved.state),
            "ledgers": orjson.loads(orjson.dumps(dict(played.resolved.ledgers))),  # tuples are no JSON
        }
    }
