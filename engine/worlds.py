"""The one list of worlds."""

from collections.abc import Mapping

from engine.mining.world import MINING
from engine.nations.world import NATIONS
from engine.trust.world import TRUST
from engine.world import AnyWorld

WORLDS: Mapping[str, AnyWorld] = {world.name: world for world in (MINING, NATIONS, TRUST)}


def world_named(name: str) -> AnyWorld:
    """Give a world by its name; ValueError names those there are."""
    if name not in WORLDS:
        raise ValueError(f"there is no world {name!r}; worlds: {', '.join(WORLDS)}")
    return WORLDS[name]
