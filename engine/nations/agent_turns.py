"""nations: the plain table of nations and turns."""

from collections.abc import Mapping

from hobbes.engine.measures import AgentTurns, PlayedTurn
from hobbes.engine.nations.state import State
from hobbes.engine.nations.validation import Intent


def rows(played: PlayedTurn[State, Intent]) -> Mapping[str, Mapping[str, int]]:
    """Return what each nation earned, gave, got and sent in a turn, and what it has after it.

    Source: docs/rules/nations.md#account-of-a-turn.
    """
    return {
        agent: {
            "income": account.amount("gross"),
            "granted": sum(account.granted_to.values()),
            "received": sum(account.received_from.values()),
            "attacks": sum(account.attacked.values()),
            "army": account.army,
            "welfare": account.total,
            "territories": len(played.after.territories[agent]),
        }
        for agent, account in played.after.accounts.items()
    }


COLUMNS = ("income", "granted", "received", "attacks", "army", "welfare", "territories")

AGENT_TURNS = AgentTurns(dict.fromkeys(COLUMNS, "integer"), rows)
