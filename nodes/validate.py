"""validate: turn parsed answers into intents, and write down every rejection and correction."""

from hobbes.engine.turn import judge, question_of
from hobbes.nodes.present import Present
from hobbes.nodes.state import TurnState, Update


def validate(present: Present, state: TurnState) -> Update:
    """Return each agent's intent, with the drops and mends of reading and of the world's rules.

    `question` is what the world's observer is asked about these intents.
    """
    world, here = present.world, present.state(state)
    judged = judge(world, here, present.answers(state))
    return {
        "judged": present.leave_judged(judged),
        "question": question_of(world, here, judged.intents),
    }
