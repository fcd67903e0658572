"""nations: each agent's account of a turn, line by line, so that a hand can check it.

Source: decisions page, "What an agent sees" (its own account of the turn).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from engine.record import Json, JsonObject
from engine.sums import Line


@dataclass(frozen=True, slots=True)
class Account:
    """What a turn brought an agent. Each list of lines adds up to what follows from it."""

    money: tuple[Line, ...]
    """The lines that add up to `left`."""
    left: int
    welfare: tuple[Line, ...]
    """The lines that add up to `gained`."""
    gained: int
    total: int
    """Welfare gathered so far, this turn's included."""
    rank: int
    """1 + the number of agents with more welfare in total."""
    mils: tuple[Line, ...]
    """The lines that add up to `army`."""
    army: int
    attacked: Mapping[str, int] = field(default_factory=dict)
    """Mils sent, by target."""
    attacked_by: Mapping[str, int] = field(default_factory=dict)
    """Mils that came, by attacker."""
    damage_by: Mapping[str, int] = field(default_factory=dict)
    """Damage, by attacker."""
    lost_to: Mapping[str, int] = field(default_factory=dict)
    """Mils lost in combat, by the target that destroyed them."""
    granted_to: Mapping[str, int] = field(default_factory=dict)
    """Money paid, by receiver."""
    received_from: Mapping[str, int] = field(default_factory=dict)
    """Money received, by giver."""
    ceded_to: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ceded_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    resources: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)
    """The lines that add up to what the territories had of each resource."""

    def amount(self, label: str) -> int:
        """Give the amount of a line of money, without its sign."""
        return abs(dict(self.money)[label])

    def to_json(self) -> JsonObject:
        """Give the account as plain JSON."""
        return {entry.name: plain(getattr(self, entry.name)) for entry in fields(self)}


def plain(value: Json) -> Json:
    """Give lists for tuples, as JSON has them."""
    if isinstance(value, tuple):
        return [plain(element) for element in value]
    if isinstance(value, dict):
        return {key: plain(element) for key, element in value.items()}
    return value
