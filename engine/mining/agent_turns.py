"""mining: the plain table of miners and rounds, which is the log of each agent."""

from collections.abc import Mapping

from hobbes.engine.mining.state import State
from hobbes.engine.mining.validation import Intent
from hobbes.engine.world import AgentTurns, PlayedTurn


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


AGENT_TURNS = AgentTurns(
    {
        "claims": ("integer", "plots that it claimed"),
        "raids": ("integer", "plots that it raided"),
        "defences": (
            "integer",
            "stamina that it spent on defence, one for each time that it defended a plot",
        ),
        "mining": ("integer", "stamina that it spent on mining"),
        "idle": ("integer", "stamina of the round that it did not spend"),
        "mined": ("integer", "gold that it mined in the round"),
        "gold": ("integer", "gold that it has after the round"),
        "plots": ("integer", "plots that it owns after the round"),
    },
    rows,
)
