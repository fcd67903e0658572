"""resolve: compute what the intents lead to. Only the engine changes the state of a world."""

from hobbes.engine import turn
from hobbes.nodes.present import Present
from hobbes.nodes.state import TurnState, Update


def resolve(present: Present, state: TurnState) -> Update:
    """Return the record of the turn, whether the game is over, and the world's ledgers."""
    world = present.world
    played = turn.resolve(world, present.state(state), present.memories(state), present.judged(state))
    return {
        "resolved": {
            "record": present.leave_turn(played),
            "over": world.over(played.resolved.state),
            "ledgers": dict(played.resolved.ledgers),
        }
    }
