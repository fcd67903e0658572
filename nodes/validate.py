"""validate: turn parsed answers into intents, and write down every rejection and correction."""

from engine.turn import judge
from nodes.present import Present
from nodes.state import TurnState, Update


def validate(present: Present, state: TurnState) -> Update:
    """Return each agent's intent, with the drops and mends of reading and of the world's rules."""
    judged = judge(present.world, present.state(state), present.answers(state))
    return {"judged": present.leave_judged(judged)}
