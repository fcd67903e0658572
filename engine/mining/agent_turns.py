"""mining: the plain table of miners and rounds, which is the log of each agent."""

from collections.abc import Mapping

from hobbes.engine.measures import AgentTurns, PlayedTurn
from hobbes.engine.mining.state import State
from hobbes.engine.mining.validation import Intent


def rows(played: PlayedTurn[State, Intent]) -> Mapping[str, Mapping[str, int]]:
    """Return what each miner did with its stamina in a round, what it mined, and what it has after it.

    A claim and a raid cost one stamina each, so that their numbers are stamina, too.

    Source: docs/rules/mining.md#logs.
    """
    return {
        agent: {
            "claims": deeds.claim,
            "raids": deeds.raid,
            "defences": deeds.defend,
            "mining": deeds.mine,
            "idle": played.before.stamina(agent) - deeds.claim - deeds.raid - deeds.defend - deeds.mine,
            "mined": deeds.gold,
            "gold": played.after.gold[agent],
            "plots": len(played.after.holdings[agent]),
        }
        for agent, deeds in played.after.deeds.items()
    }


COLUMNS = ("claims", "raids", "defences", "mining", "idle", "mined", "gold", "plots")

AGENT_TURNS = AgentTurns(dict.fromkeys(COLUMNS, "integer"), rows)
