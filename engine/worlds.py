"""The list of all worlds. A new world is added here and nowhere else in the engine."""

from collections.abc import Mapping

from engine.mining.world import MINING
from engine.nations.world import NATIONS
from engine.trust.world import TRUST
from engine.world import AnyWorld

WORLDS: Mapping[str, AnyWorld] = {world.name: world for world in (MINING, NATIONS, TRUST)}


def world_named(name: str) -> AnyWorld:
    """Return the world with this name. Raise ValueError, with the known names, if there is none."""
    if name not in WORLDS:
        raise ValueError(f"there is no world {name!r}; worlds: {', '.join(WORLDS)}")
    return WORLDS[name]
