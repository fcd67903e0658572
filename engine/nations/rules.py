"""Phases 0 to 8: each is a pure function from earlier ledgers to its own.

A phase reads only its arguments: the board at the start of the turn, and ledgers of earlier phases.
`play_phases` calls them in order, and `resolution` makes the next board from what they wrote down. All
amounts are whole numbers, rounded down.

Source: docs/rules/nations.md#order-of-the-phases, docs/rules/nations.md#phase-isolation,
docs/rules/nations.md#whole-numbers.
"""

from collections.abc import Mapping
from math import prod
from typing import TypeVar

from hobbes.engine.arithmetic import Line
from hobbes.engine.nations.actions import RESOURCES
from hobbes.engine.nations.land import by_number
from hobbes.engine.nations.ledgers import (
    Allocation,
    Amounts,
    Combat,
    EndOfTurn,
    Income,
    Orders,
    Purchases,
    Transfers,
    TurnLedgers,
    Upkeep,
    WarDamage,
)
from hobbes.engine.nations.state import Goods, Pairs, State, exact_fraction
from hobbes.engine.nations.validation import IDLE, Intent
from hobbes.engine.record import Json, Mend

CODES: Mapping[str, str] = {
    "nations/attacks-scaled": "attacks beyond the army were scaled to it",
    "nations/purchase-cut": "a purchase was cut to the mils that the money bought",
    "nations/grant-cut": "a grant of money was cut to what could be paid",
    "nations/resource-grant-cut": "a grant of a resource was cut to what could be handed over",
    "nations/disband-cut": "mils to disband were cut to those that were there",
}
"""What the codes of orders that were carried out in part mean.

Source: docs/rules/nations.md#nothing-is-lost-silently.
"""

T = TypeVar("T")


def take_orders(state: State, intents: Mapping[str, Intent]) -> Orders:
    """Phase 0, intake: write the intents into the intention ledgers.

    An agent without an intent does nothing. An intent of somebody who does not play is ignored.

    Source: docs/rules/nations.md#orders-not-changes, docs/rules/nations.md#ledgers-of-orders,
    docs/rules/nations.md#orders-of-nothing, docs/rules/nations.md#strangers,
    docs/rules/nations.md#failed-calls.
    """
    by_agent = {agent: intents.get(agent, IDLE) for agent in state.setting.agents}
    reflections = {agent: intent.reflection for agent, intent in by_agent.items()}
    return Orders(
        mil_purchase_intent={a: intent.purchase_mils for a, intent in by_agent.items()},
        global_attacks={a: _sort_by_name(_without_zeros(intent.attacks)) for a, intent in by_agent.items()},
        territory_cession={
            a: {
                receiver: tuple(sorted(held, key=by_number))
                for receiver, held in sorted(intent.cede_territories.items())
                if held
            }
            for a, intent in by_agent.items()
        },
        money_grants={a: _without_zeros(dict(intent.money_grants)) for a, intent in by_agent.items()},
        messages_sent={a: _sort_by_name(intent.messages) for a, intent in by_agent.items()},
        turn_summary={a: reflection.summary_last_turn for a, reflection in reflections.items()},
        history_summary={a: reflection.history_summary for a, reflection in reflections.items()},
        reasoning={a: reflection.reasoning for a, reflection in reflections.items()},
        mil_disband_intent={a: intent.disband_mils for a, intent in by_agent.items()},
        keeps_word_report={
            a: _sort_by_name(reflection.keeps_word_report) for a, reflection in reflections.items()
        },
        aggressor_report={
            a: _sort_by_name(reflection.aggressor_report) for a, reflection in reflections.items()
        },
        resource_grants={a: intent.resource_grants for a, intent in by_agent.items()},
    )


def earn(state: State, *, orders: Orders) -> Income:
    """Phase 1, income: gross = territories x money per territory.

    With resources, granted resources are handed over first, and the income is multiplied by the share of its
    need that the agent has of each resource.

    Source: docs/rules/nations.md#income, docs/rules/nations.md#resource-income.
    """
    full = {
        agent: len(held) * state.constants.c_money_per_territory for agent, held in state.territories.items()
    }
    if not state.config.resources:
        return Income({}, {}, {agent: full[agent] for agent in state.setting.agents})
    supply = {agent: state.supply(agent) for agent in state.setting.agents}
    handed_over, mends = _hand_over_resources(supply, orders)
    gross = {}
    for agent in supply:
        need = len(state.territories[agent]) * state.config.resource_need
        available = {
            resource: sum(amount for _, amount in resource_lines(supply, handed_over, agent, resource))
            for resource in RESOURCES
        }
        gross[agent] = resource_income(full[agent], need, available)
    return Income(supply, handed_over, gross, mends)


def resource_lines(supply: Pairs, handed_over: Goods, agent: str, resource: str) -> tuple[Line, ...]:
    """Return the lines of one resource: the agent's own supply, then what went to and came from others.

    Source: docs/rules/nations.md#resource-lines.
    """
    given = handed_over[agent].items()
    return (
        ("supply", supply[agent][resource]),
        *((f"to {taker}", -goods[resource]) for taker, goods in given if resource in goods),
        *(
            (f"from {giver}", by_taker[agent][resource])
            for giver, by_taker in handed_over.items()
            if resource in by_taker.get(agent, {})
        ),
    )


def resource_income(full: int, need: int, available: Mapping[str, int]) -> int:
    """Return the income of land that yields `full` when it has all that it needs.

    It is `full` times the share of the need that the agent has of each resource. More than the need adds
    nothing. The shares are the agent's, not a territory's: the agent spreads what it has evenly.

    Source: docs/rules/nations.md#resource-income.
    """
    if not need:
        return 0
    shares = [min(available[resource], need) for resource in RESOURCES]
    # One division at the end: rounding each share down would lose income three times.
    return full * prod(shares) // prod([need] * len(shares))


def _hand_over_resources(supply: Pairs, orders: Orders) -> tuple[Goods, tuple[Mend, ...]]:
    """Hand over granted resources in the order of each answer, until the giver's own supply ends.

    Received resources cannot be granted on, and nothing is stored for the next turn.

    Source: docs/rules/nations.md#resource-grants.
    """
    handed_over: dict[str, Mapping[str, Mapping[str, int]]] = {}
    mends = []
    for giver, supplied in supply.items():
        left, given = dict(supplied), dict[str, dict[str, int]]()
        for receiver, resource, amount in orders.resource_grants[giver]:
            granted = min(amount, left[resource])
            left[resource] -= granted
            if granted:
                given.setdefault(receiver, {})[resource] = granted
            if granted < amount:
                order: dict[str, Json] = {"resource_grants": {receiver: {resource: amount}}}
                carried_out: Json = {receiver: {resource: granted}}
                mends.append(_correction(giver, "nations/resource-grant-cut", order, carried_out))
        handed_over[giver] = _sort_by_name(given)
    return handed_over, tuple(mends)


def allocate(state: State, *, orders: Orders) -> Allocation:
    """Phase 2, allocation: attacking = sum of the attacks; defending = army - attacking.

    Attacks that add up to more than the army are scaled down to it in proportion.

    Source: docs/rules/nations.md#allocation, docs/rules/nations.md#attacks-beyond-the-army.
    """
    attacks: dict[str, Mapping[str, int]] = {}
    mends = []
    for agent in state.setting.agents:
        ordered, army = orders.global_attacks[agent], state.army[agent]
        attacks[agent] = ordered
        if sum(ordered.values()) > army:
            scaled = in_proportion(army, ordered)
            attacks[agent] = _without_zeros(scaled)
            mends.append(_correction(agent, "nations/attacks-scaled", {"attacks": ordered}, scaled))
    attacking = {agent: sum(sent.values()) for agent, sent in attacks.items()}
    return Allocation(
        attacks=attacks,
        attacked_by=_transpose(attacks),
        attacking=attacking,
        defending={agent: state.army[agent] - sent for agent, sent in attacking.items()},
        mends=tuple(mends),
    )


def in_proportion(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Share a total out in proportion to the weights, by largest remainder, ties by name.

    Source: docs/rules/nations.md#largest-remainder.
    """
    whole = sum(weights.values())
    shares = {name: total * weight // whole for name, weight in weights.items()}
    by_remainder = sorted(weights, key=lambda name: (-(total * weights[name] % whole), name))
    for name in by_remainder[: total - sum(shares.values())]:
        shares[name] += 1
    return shares


def take_damage(state: State, *, income: Income, allocation: Allocation) -> WarDamage:
    """Phase 3, war damage: available money = max(gross - damage - violence penalty, 0).

    The damage of each attacker = its mils x damage per mil. If anybody attacks, everybody pays the violence
    penalty for each of its own territories.

    Source: docs/rules/nations.md#war-damage, docs/rules/nations.md#violence-penalty,
    docs/rules/nations.md#what-an-attack-does.
    """
    damage_per_mil = state.constants.c_damage_per_attack_mil
    damage = {
        target: {attacker: mils * damage_per_mil for attacker, mils in attackers.items()}
        for target, attackers in allocation.attacked_by.items()
    }
    # Attacks that came to 0 mils (an order without an army) are no attack on the board.
    per_territory = state.constants.c_violence_penalty if any(allocation.attacking.values()) else 0
    penalty = {agent: per_territory * len(state.territories[agent]) for agent in damage}
    balance = {a: income.gross_income[a] - sum(damage[a].values()) - penalty[a] for a in damage}
    return WarDamage(
        damage=damage,
        violence_penalty=penalty,
        beyond_income={agent: max(-money, 0) for agent, money in balance.items()},
        available_money={agent: max(money, 0) for agent, money in balance.items()},
    )


def pay_upkeep(state: State, *, war_damage: WarDamage) -> Upkeep:
    """Phase 4, upkeep: cost = army at the start of the turn x upkeep price.

    If the money is short, ceil(deficit / upkeep price) mils disband, at most the army, and the others are
    paid.

    Source: docs/rules/nations.md#upkeep, docs/rules/nations.md#unpaid-mils.
    """
    price = state.constants.c_mil_upkeep_price
    mils_unpaid, upkeep_paid = {}, {}
    for agent, available in war_damage.available_money.items():
        deficit = max(state.army[agent] * price - available, 0)
        # -(-a // b) rounds up. The price may be 0, but then there is no deficit.
        mils_unpaid[agent] = min(-(-deficit // price), state.army[agent]) if deficit else 0
        upkeep_paid[agent] = (state.army[agent] - mils_unpaid[agent]) * price
    left = {agent: available - upkeep_paid[agent] for agent, available in war_damage.available_money.items()}
    return Upkeep(mils_unpaid, upkeep_paid, money_after_upkeep=left)


def purchase(state: State, *, orders: Orders, upkeep: Upkeep) -> Purchases:
    """Phase 5, purchases: buy as many of the wanted mils as the money allows.

    Source: docs/rules/nations.md#purchases.
    """
    price = state.constants.c_mil_purchase_price
    bought, mends = {}, []
    for agent, money in upkeep.money_after_upkeep.items():
        wanted = orders.mil_purchase_intent[agent]
        bought[agent] = min(wanted, money // price)
        if bought[agent] < wanted:
            mends.append(_correction(agent, "nations/purchase-cut", {"purchase_mils": wanted}, bought[agent]))
    cost = {agent: mils * price for agent, mils in bought.items()}
    left = {agent: money - cost[agent] for agent, money in upkeep.money_after_upkeep.items()}
    return Purchases(bought, cost, money_after_purchases=left, mends=tuple(mends))


def fight(state: State, *, allocation: Allocation) -> Combat:
    """Phase 6, combat losses: a target destroys floor(defending mils / destroy factor) attacking mils.

    It never destroys more than attack it. The losses are shared over its attackers in proportion to their
    mils.

    Source: docs/rules/nations.md#combat-losses, docs/rules/nations.md#what-an-attack-does.
    """
    losses: dict[str, dict[str, int]] = {agent: {} for agent in allocation.attacks}
    for target, attackers in allocation.attacked_by.items():
        strength = allocation.defending[target] // state.constants.c_defense_destroy_factor
        destroyed = min(strength, sum(attackers.values()))
        if destroyed:
            for attacker, mils in in_proportion(destroyed, attackers).items():
                losses[attacker][target] = mils
    return Combat(losses, {agent: sum(by_target.values()) for agent, by_target in losses.items()})


def transfer(state: State, *, orders: Orders, purchases: Purchases) -> Transfers:
    """Phase 7, transfers and welfare: welfare of the turn = money left + received x trade factor.

    Each giver pays its grants in the order of its answer until its money ends. Received money cannot be
    spent, and no money carries over.

    Source: docs/rules/nations.md#money-grants, docs/rules/nations.md#welfare-of-a-turn,
    docs/rules/nations.md#no-savings.
    """
    grants_paid: dict[str, dict[str, int]] = {}
    left, mends = {}, []
    for giver, money in purchases.money_after_purchases.items():
        grants_paid[giver], left[giver] = {}, money
        for receiver, amount in orders.money_grants[giver].items():
            grant = min(amount, left[giver])
            left[giver] -= grant
            grants_paid[giver][receiver] = grant
            if grant < amount:
                mends.append(
                    _correction(
                        giver, "nations/grant-cut", {"money_grants": {receiver: amount}}, {receiver: grant}
                    )
                )
    grants_paid = {giver: _sort_by_name(_without_zeros(paid)) for giver, paid in grants_paid.items()}
    grants_received, factor = _transpose(grants_paid), exact_fraction(state.constants.c_trade_factor)
    trade_welfare = {
        agent: sum(grants.values()) * factor.numerator // factor.denominator
        for agent, grants in grants_received.items()
    }
    turn_welfare = {agent: money + trade_welfare[agent] for agent, money in left.items()}
    return Transfers(
        grants_paid,
        grants_received,
        money_left=left,
        trade_welfare=trade_welfare,
        turn_welfare=turn_welfare,
        mends=tuple(mends),
    )


def end_turn(  # noqa: PLR0913  the last phase needs most ledgers
    state: State,
    *,
    orders: Orders,
    upkeep: Upkeep,
    purchases: Purchases,
    combat: Combat,
    transfers: Transfers,
) -> EndOfTurn:
    """Phase 8, end of turn: count the armies, hand over ceded land, deliver messages, store reports.

    Army = start - unpaid - combat losses (at least 0) + purchased - voluntarily disbanded (at most what is
    there).

    Source: docs/rules/nations.md#army-at-the-end-of-the-turn, docs/rules/nations.md#voluntary-disbanding,
    docs/rules/nations.md#delivery-of-messages.
    """
    counted_twice, disbanded, army, mends = {}, {}, {}, []
    for agent in state.setting.agents:
        # Mils that go unpaid still fight this turn, so they can fall as well; then this is below 0.
        survivors = state.army[agent] - upkeep.mils_unpaid[agent] - combat.mils_lost[agent]
        counted_twice[agent] = max(-survivors, 0)
        available = max(survivors, 0) + purchases.mils_purchased[agent]
        wanted = orders.mil_disband_intent[agent]
        disbanded[agent] = min(wanted, available)
        army[agent] = available - disbanded[agent]
        if disbanded[agent] < wanted:
            order: dict[str, Json] = {"disband_mils": wanted}
            mends.append(_correction(agent, "nations/disband-cut", order, disbanded[agent]))
    return EndOfTurn(
        mils_counted_twice=counted_twice,
        mils_disbanded=disbanded,
        army=army,
        territories=_cede_territories(state, orders),
        welfare={agent: state.welfare[agent] + gained for agent, gained in transfers.turn_welfare.items()},
        messages_delivered=tuple(
            (author, addressee, sent[addressee])
            for author, sent in orders.messages_sent.items()
            for addressee in sent
        ),
        keeps_word=_standing_reports(state.keeps_word, orders.keeps_word_report),
        aggressor=_standing_reports(state.aggressor, orders.aggressor_report),
        mends=tuple(mends),
    )


def _cede_territories(state: State, orders: Orders) -> Mapping[str, tuple[str, ...]]:
    """Return each agent's territories after the cessions.

    Source: docs/rules/nations.md#cessions.
    """
    # Most turns have no cession; the unchanged mapping spares a copy.
    if not any(orders.territory_cession.values()):
        return state.territories
    held = {agent: set(state.territories[agent]) for agent in state.setting.agents}
    for giver, cessions in orders.territory_cession.items():
        for receiver, territories in cessions.items():
            held[giver] -= set(territories)
            held[receiver] |= set(territories)
    return {agent: tuple(sorted(territories, key=by_number)) for agent, territories in held.items()}


def _standing_reports(last: Pairs, given: Pairs) -> Pairs:
    """Return each rater's last report: that of this turn, or else the one it gave before.

    Source: docs/rules/nations.md#standing-reports.
    """
    standing = {rater: report or last.get(rater, {}) for rater, report in given.items()}
    return {rater: report for rater, report in standing.items() if report}


def _sort_by_name(entries: Mapping[str, T]) -> dict[str, T]:
    """Sort the entries by name, so that nothing depends on the order of an answer where it has no meaning.

    Source: docs/rules/nations.md#plain-and-bounded-view.
    """
    return dict(sorted(entries.items()))


def _without_zeros(amounts: Amounts) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount}


def _transpose(pairs: Pairs) -> dict[str, dict[str, int]]:
    """Swap the two names of each pair: from numbers by sender to the same numbers by receiver."""
    by_receiver: dict[str, dict[str, int]] = {agent: {} for agent in pairs}
    for sender, numbers in pairs.items():
        for receiver, number in numbers.items():
            by_receiver[receiver][sender] = number
    return by_receiver


def _correction(agent: str, code: str, said: Mapping[str, Json], kept: Json) -> Mend:
    """Return the correction of a valid order that could be carried out only in part."""
    (name,) = said
    return Mend(agent, "budget", code, said, {name: kept})


def play_phases(state: State, intents: Mapping[str, Intent]) -> TurnLedgers:
    """Play phases 0 to 8 in order. Each phase is given only what it may read.

    Source: docs/rules/nations.md#order-of-the-phases, docs/rules/nations.md#phase-isolation.
    """
    orders = take_orders(state, intents)
    income = earn(state, orders=orders)
    allocation = allocate(state, orders=orders)
    war_damage = take_damage(state, income=income, allocation=allocation)
    upkeep = pay_upkeep(state, war_damage=war_damage)
    purchases = purchase(state, orders=orders, upkeep=upkeep)
    combat = fight(state, allocation=allocation)
    transfers = transfer(state, orders=orders, purchases=purchases)
    end_of_turn = end_turn(
        state, orders=orders, upkeep=upkeep, purchases=purchases, combat=combat, transfers=transfers
    )
    return TurnLedgers(
        orders, income, allocation, war_damage, upkeep, purchases, combat, transfers, end_of_turn
    )
