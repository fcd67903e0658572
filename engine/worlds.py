"""The one list of worlds."""

from engine.mining.world import MINING
from engine.nations.world import NATIONS
from engine.trust.world import TRUST
from engine.world import AnyWorld

WORLDS: dict[str, AnyWorld] = {world.name: world for world in (MINING, NATIONS, TRUST)}
"""Every world by its name. A program may add its own with one line, before it imports the commands."""


def world_named(name: str) -> AnyWorld:
    """Return the world of this name; ValueError lists the names."""
    if name not in WORLDS:
        raise ValueError(f"there is no world {name!r}; worlds: {', '.join(WORLDS)}")
    return WORLDS[name]
