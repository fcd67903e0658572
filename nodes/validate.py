"""validate: from parsed answers to intents; every rejection and correction is written down."""

from engine.answer import ParsedAnswer
from engine.turn import judge
from nodes.present import Present
from nodes.state import TurnState, Update


def validate(present: Present, state: TurnState) -> Update:
    """Return each agent's intent, with the drops and mends of reading and of the world's own rules."""
    answers = {agent: ParsedAnswer.from_json(told) for agent, told in state["answers"].items()}
    return {"judged": present.leave_judged(judge(present.world, present.state(state), answers))}
