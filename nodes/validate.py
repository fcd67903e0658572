"""validate: from what was said to intents; what is refused or changed is written down."""

from engine.world import AnyWorld
from nodes.state import TurnState, Update, now


def validate(world: AnyWorld, state: TurnState) -> Update:
    """Give each actor's intent, with the drops and mends of reading and of the world's own rules."""
    present = now(world, state)
    intents, drops, mends = {}, [], []
    for agent, answer in state["answers"].items():
        judged = world.validate(present, agent, answer["said"])
        intents[agent] = world.intent.to_json(judged.intent)
        drops += answer["drops"] + [drop.to_json() for drop in judged.drops]
        mends += answer["mends"] + [mend.to_json() for mend in judged.mends]
    return {"intents": intents, "drops": drops, "mends": mends}
