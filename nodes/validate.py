"""validate: turn parsed answers into intents, and write down every rejection and correction."""

from hobbes.engine.turn import judge, question_of
from hobbes.nodes.turn_cache import TurnCache
from hobbes.nodes.turn_state import TurnState, check_agents


def validate(cache: TurnCache, state: TurnState) -> TurnState:
    """Return each agent's intent, with the drops and mends of reading and of the world's rules.

    `question` is what the world's observer is asked about these intents. Raise ValueError for an answer or
    a call of an agent that was not asked.
    """
    check_agents("answers", state["views"], state["answers"])
    check_agents("calls", state["views"], state["calls"])
    world, here = cache.world, cache.state(state)
    judged = judge(world, here, cache.answers.of(state["answers"]))
    return {
        "judged": cache.judged.put(judged.to_json(), judged),
        "question": question_of(world, here, judged.intents),
    }
