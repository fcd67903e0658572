"""The list of all worlds: those that come with hobbes, and those of packages that are installed beside it."""

from collections import UserDict
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from hobbes.engine.names import did_you_mean
from hobbes.engine.world import AnyWorld

GROUP = "hobbes.worlds"
"""The entry points by which a package adds worlds: `commons = "commons.world:COMMONS"`."""

SHIPPED = (
    EntryPoint("mining", "hobbes.engine.mining.world:MINING", GROUP),
    EntryPoint("nations", "hobbes.engine.nations.world:NATIONS", GROUP),
    EntryPoint("trust", "hobbes.engine.trust.world:TRUST", GROUP),
)
"""The worlds that come with hobbes. A new one is added here and nowhere else."""


class _Worlds(UserDict[str, AnyWorld]):
    """Worlds by name. Each is imported when it is first asked for. No package can replace one of hobbes."""

    def __init__(self) -> None:
        super().__init__()
        entries = {entry.name: entry for entry in (*entry_points(group=GROUP), *SHIPPED)}
        self.data = cast("dict[str, AnyWorld]", dict(sorted(entries.items())))

    def __getitem__(self, name: str) -> AnyWorld:
        """Return a world."""
        world: AnyWorld | EntryPoint = self.data[name]
        if isinstance(world, EntryPoint):
            world = self.data[name] = cast("AnyWorld", world.load())
        return world


WORLDS = _Worlds()
"""Every world by its name. A program may add its own with one line, before it imports the commands."""


def world_named(name: str) -> AnyWorld:
    """Return the world of this name; ValueError lists the names."""
    if name not in WORLDS:
        there = did_you_mean(name, WORLDS, f"worlds: {', '.join(WORLDS)}")
        raise ValueError(f"there is no world {name!r}{there}")
    return WORLDS[name]
