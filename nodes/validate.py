"""validate: turn parsed answers into intents, and write down every rejection and correction."""

from engine.answer import ParsedAnswer
from engine.turn import judge
from nodes.present import Present
from nodes.state import TurnState, Update


def validate(present: Present, state: TurnState) -> Update:
    """Return each agent's intent, with the drops and mends of reading and of the world's rules."""
    answers = {agent: ParsedAnswer.from_json(data) for agent, data in state["answers"].items()}
    return {"judged": present.leave_judged(judge(present.world, present.state(state), answers))}
