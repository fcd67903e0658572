"""The list of all worlds: those that come with hobbes, and those of packages that are installed beside it."""

from collections import UserDict
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from hobbes.engine.contract import check
from hobbes.engine.names import did_you_mean
from hobbes.engine.world import AnyWorld
from hobbes.errors import HobbesError

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
            world = self.data[name] = _load(world)
        return world

    def __setitem__(self, name: str, world: AnyWorld) -> None:
        """Add a world. Raise ValueError, in one line, for one that does not keep the contract."""
        check(world)
        self.data[name] = world


def _load(entry: EntryPoint) -> AnyWorld:
    """Import a world. Raise HobbesError if that of another package is not there or is faulty."""
    if entry in SHIPPED:  # tests check it
        return cast("AnyWorld", entry.load())
    try:
        world = cast("AnyWorld", entry.load())
        check(world)
    except (ImportError, AttributeError, ValueError) as error:
        raise HobbesError(f"the world {entry.name} ({entry.value}): {error}; mend or uninstall it") from error
    if world.name != entry.name:
        raise HobbesError(
            f"the world {entry.name} ({entry.value}) has the name {world.name}; give both one name"
        )
    return world


WORLDS = _Worlds()
"""Every world by its name. A program may add its own with one line, before it imports the commands."""


def world_named(name: str) -> AnyWorld:
    """Return the world of this name; ValueError lists the names."""
    if name not in WORLDS:
        there = did_you_mean(name, WORLDS, f"worlds: {', '.join(WORLDS)}")
        raise ValueError(f"there is no world {name!r}{there}")
    return WORLDS[name]
