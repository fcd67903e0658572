"""The list of all worlds. A new world is added here and nowhere else in the engine."""

from collections import UserDict
from collections.abc import Callable, Mapping
from typing import cast

from hobbes.engine.contract import check
from hobbes.engine.names import did_you_mean
from hobbes.engine.world import AnyWorld


def _mining() -> AnyWorld:
    from hobbes.engine.mining.world import MINING  # noqa: PLC0415

    return MINING


def _nations() -> AnyWorld:
    from hobbes.engine.nations.world import NATIONS  # noqa: PLC0415

    return NATIONS


def _trust() -> AnyWorld:
    from hobbes.engine.trust.world import TRUST  # noqa: PLC0415

    return TRUST


class _Worlds(UserDict[str, AnyWorld]):
    """Worlds by name. One that comes with hobbes is imported when it is first asked for."""

    def __init__(self, shipped: Mapping[str, Callable[[], AnyWorld]]) -> None:
        super().__init__()
        self._shipped = dict(shipped)
        self.data = cast("dict[str, AnyWorld]", dict.fromkeys(shipped))

    def __getitem__(self, name: str) -> AnyWorld:
        """Return a world."""
        world = self.data[name] or self._shipped[name]()
        self.data[name] = world
        return world

    def __setitem__(self, name: str, world: AnyWorld) -> None:
        """Add a world. Raise ValueError, in one line, for one that does not keep the contract."""
        check(world)
        self.data[name] = world


WORLDS = _Worlds({"mining": _mining, "nations": _nations, "trust": _trust})
"""Every world by its name. A program may add its own with one line, before it imports the commands."""


def world_named(name: str) -> AnyWorld:
    """Return the world of this name; ValueError lists the names."""
    if name not in WORLDS:
        there = did_you_mean(name, WORLDS, f"worlds: {', '.join(WORLDS)}")
        raise ValueError(f"there is no world {name!r}{there}")
    return WORLDS[name]
