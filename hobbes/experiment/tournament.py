"""What `hobbes tournament` plays: an experiment of all scripted policies of trust, each against each."""

from collections.abc import Mapping
from typing import Any

from hobbes.engine.record import Json
from hobbes.worlds import WORLDS


def tournament_file(name: str, games: int, seed: int, settings: Mapping[str, Json]) -> dict[str, Any]:
    """Return the content of the experiment's file, with so many seeds from `seed` on."""
    policies = list(WORLDS["trust"].policies.by_name)
    return {
        "name": name,
        "world": "trust",
        "seeds": [*range(seed, seed + games)],
        "model": "policy:{one}*1,policy:{other}*1",
        "set": {**settings},
        "factors": {"design": "pairs", "one": policies, "other": policies},
        "compare": {"null": False},
    }
