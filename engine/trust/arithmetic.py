"""trust: each unit's sats after a round, as a sum that can be checked by hand."""

from hobbes.engine.arithmetic import as_sum
from hobbes.engine.measures import PlayedTurn
from hobbes.engine.trust.state import State
from hobbes.engine.trust.validation import Intent


def arithmetic(played: PlayedTurn[State, Intent]) -> dict[str, dict[str, str]]:
    """Return, for each unit that acted or was born, its sats before the round plus each effect on them.

    Source: docs/rules/trust.md#arithmetic-of-sats.
    """
    effects, before = played.after.history[-1].effects, played.before.units_by_id
    return {
        unit.id: {
            "sats": as_sum(
                (
                    ("before", before[unit.id].sats if unit.id in before else 0),
                    *((effect.cause, effect.sats) for effect in effects if effect.unit == unit.id),
                )
            )
        }
        for unit in played.after.units
        if unit.id not in before or before[unit.id].alive
    }
