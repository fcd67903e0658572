"""trust: each unit's sats after a round as a sum that a hand can check."""

from engine.sums import arithmetic
from engine.trust.state import State
from engine.trust.validation import Intent
from engine.world import Played


def sums(played: Played[State, Intent]) -> dict[str, dict[str, str]]:
    """Write how the sats of each unit that acted or was born came about: what it had, and each effect."""
    past, before = played.after.history[-1], played.before.unit
    return {
        unit.id: {
            "sats": arithmetic(
                (
                    ("before", before[unit.id].sats if unit.id in before else 0),
                    *((effect.cause, effect.sats) for effect in past.effects if effect.unit == unit.id),
                )
            )
        }
        for unit in played.after.units
        if unit.id not in before or before[unit.id].alive
    }
