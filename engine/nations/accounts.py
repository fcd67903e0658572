"""Each agent's account of a turn, line by line, so that it can be checked by hand.

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
    """What a turn brought one agent. The lines of each list add up to the total that follows them.

    Source: docs/rules/nations.md#account-of-a-turn.
    """

    money: tuple[Line, ...]
    """The lines that add up to `left`."""
    left: int
    welfare: tuple[Line, ...]
    """The lines that add up to `gained`."""
    gained: int
    total: int
    """The welfare gathered so far, this turn included."""
    mils: tuple[Line, ...]
    """The lines that add up to `army`."""
    army: int
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
    ceded_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    resources: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)
    """For each resource, the lines that add up to the amount that the territories had."""

    def amount(self, label: str) -> int:
        """Return the amount of one line of `money`, without its sign."""
        return abs(dict(self.money)[label])

    def to_json(self) -> JsonObject:
        """Return the account as plain JSON. It is made once, and must not be changed."""
        return self._json

    @cached_property
    def _json(self) -> JsonObject:
        return CODEC.to_json(self)


CODEC = Codec(Account)
