"""fishery: what one boat sees at the start of a round. It does not see what others landed or asked for."""

from collections.abc import Sequence
from dataclasses import asdict

from hobbes.engine.record import JsonObject
from tests.fishery.state import State

PRIVATE = ("landed[agent]",)
"""What one boat alone may know of a state."""


def observe(state: State, agent: str) -> JsonObject:
    """Return the view of one boat as plain JSON."""
    return {
        "world": "fishery",
        "you": agent,
        "turn": state.turn,
        "boats": list(state.setting.agents),
        "capacity": state.config.capacity,
        "stock": state.stock,
        "quota": state.quota,
        "landed": state.landed[agent],
        "messages": dict(state.messages),
        "regulator": None if state.ruling is None else asdict(state.ruling),
    }


def picture(state: State) -> Sequence[Sequence[str]]:
    """Return one row for the sea and one for each boat, for people."""
    boats = [[boat, str(tonnes), state.messages.get(boat, "-")] for boat, tonnes in state.landed.items()]
    return [["sea", str(state.stock), f"quota {state.quota}"], *boats]
