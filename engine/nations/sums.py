"""nations: each line of an account as a sum that a hand can check, as in `gross 60 - damage 15 = 45`.

Source: decisions page, "Phases" (the formulas) and "What an agent sees" (its own account of the turn). What
is rounded down stands in `floor( )`, up in `ceil( )`. A sum of nothing is left out.
"""

from collections.abc import Mapping, Sequence

from engine.nations.accounts import Account
from engine.nations.state import State
from engine.nations.validation import IDLE, Intent
from engine.sums import DIVIDED, MINUS, TIMES, Line, arithmetic, terms


def sums(
    before: State, intents: Mapping[str, Intent], accounts: Mapping[str, Account]
) -> dict[str, dict[str, str]]:
    """Write each agent's account of the turn that began with `before`."""
    return {agent: _sums_of(before, intents.get(agent, IDLE), accounts, agent) for agent in accounts}


def _sums_of(before: State, intent: Intent, accounts: Mapping[str, Account], agent: str) -> dict[str, str]:
    """Write an agent's account: a sum for each figure, by its name."""
    account, constants = accounts[agent], before.constants
    land = len(before.territories[agent])
    money, mils = dict(account.money), dict(account.mils)
    by_attacker = {attacker: account.attacked_by[attacker] for attacker in account.damage_by}
    ordered = tuple(sorted(intent.attacks.items()))
    written = {
        "gross": f"{_gross(before, land, account)} = {money['gross']}",
        "damage": _each(by_attacker, constants.c_damage_per_attack_mil, -money["damage"]),
        "violence penalty": _each(
            {"territories": land}, constants.c_violence_penalty, -money["violence penalty"]
        ),
        "unpaid": _unpaid(account, constants.c_mil_upkeep_price),
        "upkeep": f"({terms(account.mils[:2])}) {TIMES} {constants.c_mil_upkeep_price} = {-money['upkeep']}",
        "purchased": _purchased(account, intent.purchase_mils, constants.c_mil_purchase_price),
        "purchases": _each({"mils": mils["purchased"]}, constants.c_mil_purchase_price, -money["purchases"]),
        "grants": arithmetic(tuple(account.granted_to.items())),
        "money": arithmetic(account.money),
        "trade": _trade(account, constants.c_trade_factor),
        "welfare": arithmetic(account.welfare),
        "welfare in all": f"{before.welfare[agent]} + {account.gained} = {account.total}",
        "attacks ordered": _listed(ordered) if _in_all(ordered) > before.army[agent] else "",
        "attacks": _listed(tuple(account.attacked.items())),
        "destroyed": _destroyed(before, accounts, agent),
        "lost in combat": _listed(tuple(account.lost_to.items())),
        "mils": arithmetic(account.mils),
        **{resource: arithmetic(lines) for resource, lines in account.resources.items()},
    }
    return {name: text for name, text in written.items() if text}


def _listed(lines: Sequence[Line]) -> str:
    """Write a sum of what is not 0."""
    return arithmetic([(label, amount) for label, amount in lines if amount])


def _in_all(lines: Sequence[Line]) -> int:
    """Add lines up."""
    return sum(amount for _, amount in lines)


def _each(numbers: Mapping[str, int], price: int, result: int) -> str:
    """Write so many of each at one price; nothing where that is 0."""
    products = " + ".join(f"{name} {number} {TIMES} {price}" for name, number in numbers.items())
    return f"{products} = {result}" if result else ""


def _gross(before: State, land: int, account: Account) -> str:
    """Write how income arises; with resources, by the share of its need that there is of each."""
    full = f"territories {land} {TIMES} {before.constants.c_money_per_territory}"
    need = land * before.config.resource_need
    shares = [
        f"{resource} {min(sum(amount for _, amount in lines), need)}/{need}"
        for resource, lines in account.resources.items()
    ]
    return f"floor({f' {TIMES} '.join([full, *shares])})" if shares and need else full


def _unpaid(account: Account, price: int) -> str:
    """Write how many mils disband because what damage leaves of the income does not pay their upkeep."""
    deficit = f"{terms(account.mils[:1])} {TIMES} {price} {MINUS} ({terms(account.money[:4])})"
    unpaid = -dict(account.mils)["unpaid"]
    return f"ceil(({deficit}) {DIVIDED} {price}) = {unpaid}" if unpaid else ""


def _purchased(account: Account, wanted: int, price: int) -> str:
    """Write how many mils the money bought that upkeep left, where that is less than was wanted."""
    bought = dict(account.mils)["purchased"]
    affordable = f"floor(({terms(account.money[:5])}) {DIVIDED} {price})"
    return f"min(wanted {wanted}, {affordable}) = {bought}" if bought < wanted else ""


def _trade(account: Account, factor: float) -> str:
    """Write what the received money is worth."""
    received = tuple(account.received_from.items())
    worth = dict(account.welfare)["trade"]
    return f"floor(({terms(received)}) {TIMES} {factor}) = {worth}" if received else ""


def _destroyed(before: State, accounts: Mapping[str, Account], agent: str) -> str:
    """Write how many of the mils that attack an agent its defenders destroy."""
    account = accounts[agent]
    if not account.attacked_by:
        return ""
    sent = -sum(account.attacked.values())
    defending = terms((("army", before.army[agent]), ("sent out", sent)))
    strength = f"floor(({defending}) {DIVIDED} {before.constants.c_defense_destroy_factor})"
    fallen = sum(other.lost_to.get(agent, 0) for other in accounts.values())
    return f"min({strength}, attackers {sum(account.attacked_by.values())}) = {fallen}"
