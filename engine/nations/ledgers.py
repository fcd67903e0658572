"""What each phase writes down. A field is a ledger; it has the seed's name where the seed names it.

A ledger has an entry for every agent, unless its docstring says otherwise. In a ledger of pairs, an agent's
entry lists only the other agents for which there is a number.

Source: docs/rules/nations.md#ledgers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeAlias, cast

from hobbes.engine.nations.state import Goods, Pairs
from hobbes.engine.record import Json, Mend

Amounts: TypeAlias = Mapping[str, int]
"""A number for each agent."""

Mends: TypeAlias = tuple[Mend, ...]


@dataclass(frozen=True, slots=True)
class Orders:
    """Phase 0: the intention ledgers. An order of nothing (0 mils, no territory) is not an entry.

    Source: docs/rules/nations.md#ledgers-of-orders.
    """

    mil_purchase_intent: Amounts
    global_attacks: Pairs
    territory_cession: Mapping[str, Mapping[str, tuple[str, ...]]]
    money_grants: Pairs
    """In the order of each answer."""
    messages_sent: Mapping[str, Mapping[str, str]]
    turn_summary: Mapping[str, str]
    history_summary: Mapping[str, str]
    reasoning: Mapping[str, str]
    mil_disband_intent: Amounts
    keeps_word_report: Pairs
    aggressor_report: Pairs
    resource_grants: Mapping[str, tuple[tuple[str, str, int], ...]]
    """(receiver, resource, amount), in the order of each answer; empty without resources."""


@dataclass(frozen=True, slots=True)
class Income:
    """Phase 1."""

    resource_supply: Pairs
    """What the territories yield. Empty without resources, as is the next ledger."""
    resources_handed_over: Goods
    gross_income: Amounts
    mends: Mends = ()


@dataclass(frozen=True, slots=True)
class Allocation:
    """Phase 2."""

    attacks: Pairs
    """Mils by target, within the army."""
    attacked_by: Pairs
    """The same mils by attacker, for each target."""
    attacking: Amounts
    defending: Amounts
    mends: Mends = ()


@dataclass(frozen=True, slots=True)
class WarDamage:
    """Phase 3."""

    damage: Pairs
    """By attacker, for each target."""
    violence_penalty: Amounts
    beyond_income: Amounts
    """The part of damage and penalty that exceeds the income and so destroys nothing."""
    available_money: Amounts


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Phase 4."""

    mils_unpaid: Amounts
    """Mils that disband because their upkeep cannot be paid."""
    upkeep_paid: Amounts
    money_after_upkeep: Amounts


@dataclass(frozen=True, slots=True)
class Purchases:
    """Phase 5."""

    mils_purchased: Amounts
    purchase_cost: Amounts
    money_after_purchases: Amounts
    mends: Mends = ()


@dataclass(frozen=True, slots=True)
class Combat:
    """Phase 6."""

    combat_losses: Pairs
    """Mils that each attacker loses, by the target that destroys them."""
    mils_lost: Amounts


@dataclass(frozen=True, slots=True)
class Transfers:
    """Phase 7."""

    grants_paid: Pairs
    grants_received: Pairs
    """By giver, for each receiver."""
    money_left: Amounts
    trade_welfare: Amounts
    """The welfare that the received money brings."""
    turn_welfare: Amounts
    mends: Mends = ()


@dataclass(frozen=True, slots=True)
class EndOfTurn:
    """Phase 8: what the next turn begins with."""

    mils_counted_twice: Amounts
    """Mils that both fell and went unpaid. They are added back, since no mil can be lost twice."""
    mils_disbanded: Amounts
    """Mils disbanded by choice."""
    army: Amounts
    territories: Mapping[str, tuple[str, ...]]
    welfare: Amounts
    messages_delivered: tuple[tuple[str, str, str], ...]
    """(author, addressee, text), by author and addressee."""
    keeps_word: Pairs
    """The last report of each rater that has given one."""
    aggressor: Pairs
    """The last report of each rater that has given one."""
    mends: Mends = ()


@dataclass(frozen=True, slots=True)
class TurnLedgers:
    """The ledgers of one turn, phase by phase."""

    orders: Orders
    income: Income
    allocation: Allocation
    war_damage: WarDamage
    upkeep: Upkeep
    purchases: Purchases
    combat: Combat
    transfers: Transfers
    end_of_turn: EndOfTurn

    @property
    def mends(self) -> Mends:
        """The orders that the phases could carry out only in part, phase by phase."""
        phases = (self.income, self.allocation, self.purchases, self.transfers, self.end_of_turn)
        return tuple(mend for phase in phases for mend in phase.mends)

    def to_json(self) -> dict[str, Json]:
        """Return all ledgers by name, in the order of the phases."""
        return {ledger: getattr(getattr(self, phase), ledger) for phase, ledger in LEDGERS}


LEDGERS = tuple(
    (phase.name, ledger.name)
    for phase in fields(TurnLedgers)
    for ledger in fields(cast("type[Any]", phase.type))
    if ledger.name != "mends"
)
"""The names of all ledgers, each after that of its phase, in the order of the phases.

Source: docs/rules/nations.md#ledgers.
"""
