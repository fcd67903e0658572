"""trust: the plain table of units and rounds."""

from collections.abc import Mapping

from hobbes.engine.measures import AgentTurns, PlayedTurn
from hobbes.engine.trust.state import State
from hobbes.engine.trust.validation import Intent


def rows(played: PlayedTurn[State, Intent]) -> Mapping[str, Mapping[str, str | int]]:
    """Return what each unit that acted in a round meant to do and did, and its sats.

    Source: docs/rules/trust.md#sum-of-effects.
    """
    done = played.after.history[-1]
    return {
        deed.unit: {
            "action": deed.meant,
            "did": deed.did,
            "target": deed.target or "",
            "chosen": int(deed.chosen),
            "change": done.change[deed.unit],
            "sats": played.after.units_by_id[deed.unit].sats,
        }
        for deed in done.deeds
    }


TEXTS, NUMBERS = ("action", "did", "target"), ("chosen", "change", "sats")

AGENT_TURNS = AgentTurns({**dict.fromkeys(TEXTS, "text"), **dict.fromkeys(NUMBERS, "integer")}, rows)
