"""trust: each unit's sats after a round, as a sum that can be checked by hand."""

from hobbes.engine.arithmetic import as_sum
from hobbes.engine.trust.state import State
from hobbes.engine.trust.validation import Intent
from hobbes.engine.world import PlayedTurn


def arithmetic(played: PlayedTurn[State, Intent]) -> dict[str, dict[str, str]]:
    """Return the sats of each unit that acted or was born, as what it had before and each effect.

    Source: docs/rules/trust.md#arithmetic-of-sats.
    """
    past, before = played.after.history[-1], played.before.unit
    return {
        unit.id: {
            "sats": as_sum(
                (
                    ("before", before[unit.id].sats if unit.id in before else 0),
                    *((effect.cause, effect.sats) for effect in past.effects if effect.unit == unit.id),
                )
            )
        }
        for unit in played.after.units
        if unit.id not in before or before[unit.id].alive
    }
