"""The arithmetic of an account: each figure with its sum, as in `gross 60 - damage 15 = 45`.

Rounding down is written `floor( )`, rounding up `ceil( )`. A sum without terms is left out.

Source: docs/rules/nations.md#written-arithmetic.
"""

from collections.abc import Mapping, Sequence

from hobbes.engine.arithmetic import DIVIDED, MINUS, TIMES, Line, as_sum, terms
from hobbes.engine.nations.accounts import Account
from hobbes.engine.nations.state import State
from hobbes.engine.nations.validation import IDLE, Intent


def arithmetic(
    before: State, intents: Mapping[str, Intent], accounts: Mapping[str, Account]
) -> dict[str, dict[str, str]]:
    """Return the arithmetic of each agent's account of the turn that began with `before`."""
    return {agent: _sums_of(before, intents.get(agent, IDLE), accounts, agent) for agent in accounts}


def _sums_of(before: State, intent: Intent, accounts: Mapping[str, Account], agent: str) -> dict[str, str]:
    """Return the arithmetic of one agent's account, by the name of the figure."""
    account, constants = accounts[agent], before.constants
    land = len(before.territories[agent])
    money, mils = dict(account.money), dict(account.mils)
    by_attacker = {attacker: account.attacked_by[attacker] for attacker in account.damage_by}
    ordered = tuple(sorted(intent.attacks.items()))
    written = {
        "gross": f"{_gross(before, land, account)} = {money['gross']}",
        "damage": _each(by_attacker, constants.c_damage_per_attack_mil, -money["damage"]),
        "violence_penalty": _each(
            {"territories": land}, constants.c_violence_penalty, -money["violence_penalty"]
        ),
        "unpaid": _unpaid(account, constants.c_mil_upkeep_price),
        "upkeep": f"({terms(account.mils[:2])}) {TIMES} {constants.c_mil_upkeep_price} = {-money['upkeep']}",
        "purchased": _affordable_mils(account, intent.purchase_mils, constants.c_mil_purchase_price),
        "purchases": _each({"mils": mils["purchased"]}, constants.c_mil_purchase_price, -money["purchases"]),
        "grants": as_sum(tuple(account.granted_to.items())),
        "money": as_sum(account.money),
        "trade": _trade(account, constants.c_trade_factor),
        "welfare": as_sum(account.welfare),
        "welfare_total": f"{before.welfare[agent]} + {account.gained} = {account.total}",
        "attacks_ordered": _sum_of_lines(ordered) if _in_all(ordered) > before.army[agent] else "",
        "attacks": _sum_of_lines(tuple(account.attacked.items())),
        "destroyed": _mils_destroyed(before, accounts, agent),
        "lost_in_combat": _sum_of_lines(tuple(account.lost_to.items())),
        "mils": as_sum(account.mils),
        **{resource: as_sum(lines) for resource, lines in account.resources.items()},
    }
    return {name: text for name, text in written.items() if text}


def _sum_of_lines(lines: Sequence[Line]) -> str:
    """Return the sum of the lines that are not 0."""
    return as_sum([(label, amount) for label, amount in lines if amount])


def _in_all(lines: Sequence[Line]) -> int:
    return sum(amount for _, amount in lines)


def _each(numbers: Mapping[str, int], price: int, result: int) -> str:
    """Return the sum of each number times a price; an empty text if the result is 0."""
    if not result:
        return ""
    products = " + ".join([f"{name} {number} {TIMES} {price}" for name, number in numbers.items()])
    return f"{products} = {result}"


def _gross(before: State, land: int, account: Account) -> str:
    """Return how income arises; with resources, with the share of the need that there is of each."""
    full = f"territories {land} {TIMES} {before.constants.c_money_per_territory}"
    need = land * before.config.resource_need
    if not account.resources or not need:
        return full
    shares = [
        f"{resource} {min(_in_all(lines), need)}/{need}" for resource, lines in account.resources.items()
    ]
    return f"floor({f' {TIMES} '.join([full, *shares])})"


def _unpaid(account: Account, price: int) -> str:
    """Return how many mils disband because the money after damage does not pay their upkeep."""
    unpaid = -dict(account.mils)["unpaid"]
    if not unpaid:
        return ""
    deficit = f"{terms(account.mils[:1])} {TIMES} {price} {MINUS} ({terms(account.money[:4])})"
    return f"ceil(({deficit}) {DIVIDED} {price}) = {unpaid}"


def _affordable_mils(account: Account, wanted: int, price: int) -> str:
    """Return how many mils the money after upkeep buys; an empty text if all wanted mils are bought."""
    bought = dict(account.mils)["purchased"]
    if bought >= wanted:
        return ""
    affordable = f"floor(({terms(account.money[:5])}) {DIVIDED} {price})"
    return f"min(wanted {wanted}, {affordable}) = {bought}"


def _trade(account: Account, factor: float) -> str:
    if not account.received_from:
        return ""
    worth = dict(account.welfare)["trade"]
    return f"floor(({terms(tuple(account.received_from.items()))}) {TIMES} {factor}) = {worth}"


def _mils_destroyed(before: State, accounts: Mapping[str, Account], agent: str) -> str:
    """Return how many of the attacking mils an agent's defenders destroy."""
    account = accounts[agent]
    if not account.attacked_by:
        return ""
    sent = -sum(account.attacked.values())
    defending = terms((("army", before.army[agent]), ("sent out", sent)))
    strength = f"floor(({defending}) {DIVIDED} {before.constants.c_defense_destroy_factor})"
    fallen = sum(other.lost_to.get(agent, 0) for other in accounts.values())
    return f"min({strength}, attackers {sum(account.attacked_by.values())}) = {fallen}"
