"""The account of an agent and a turn: its money, welfare and mils as sums that can be checked by hand.

Source: docs/rules/nations.md#account-of-a-turn.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from hobbes.engine.arithmetic import Line
from hobbes.engine.record import JsonObject
from hobbes.engine.world import Codec


@dataclass(frozen=True)
class Account:
    """What a turn brought one agent. Each tuple of lines adds up to the field that follows it.

    Source: docs/rules/nations.md#account-of-a-turn.
    """

    money: tuple[Line, ...]
    left: int
    """The money left at the end of the turn."""
    welfare: tuple[Line, ...]
    gained: int
    """The welfare of this turn."""
    total: int
    """The welfare of all turns so far, this one included."""
    mils: tuple[Line, ...]
    army: int
    """The mils at the end of the turn."""
    attacked: Mapping[str, int] = field(default_factory=dict)
    """Mils sent, by target."""
    attacked_by: Mapping[str, int] = field(default_factory=dict)
    """Mils that attacked, by attacker."""
    damage_by: Mapping[str, int] = field(default_factory=dict)
    """Damage, by attacker."""
    lost_to: Mapping[str, int] = field(default_factory=dict)
    """Mils lost in combat, by the target that destroyed them."""
    granted_to: Mapping[str, int] = field(default_factory=dict)
    """Money paid, by receiver."""
    received_from: Mapping[str, int] = field(default_factory=dict)
    """Money received, by giver."""
    ceded_to: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Territories given, by receiver."""
    ceded_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Territories received, by giver."""
    resources: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)
    """For each resource, the lines that add up to what the agent's territories had of it."""

    def amount(self, label: str) -> int:
        """Return the amount of one line of `money`, without its sign."""
        return abs(dict(self.money)[label])

    @cached_property
    def as_json(self) -> JsonObject:
        """The account as plain JSON. The object is shared: do not change it."""
        return CODEC.to_json(self)


CODEC = Codec(Account)
