"""One turn: from intents to the next board, the accounts and the events.

Source: docs/rules/nations.md#orders-not-changes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from hobbes.engine.arithmetic import Line
from hobbes.engine.nations.accounts import Account
from hobbes.engine.nations.actions import RESOURCES
from hobbes.engine.nations.arithmetic import arithmetic
from hobbes.engine.nations.ledgers import Income, TurnLedgers
from hobbes.engine.nations.rules import play_phases, resource_lines
from hobbes.engine.nations.state import Pairs, State, list_transfers
from hobbes.engine.nations.validation import Intent
from hobbes.engine.record import Event, message
from hobbes.engine.world import Resolved


def resolve(state: State, intents: Mapping[str, Intent]) -> Resolved[State]:
    """Play one turn. The state is changed here and nowhere else, from the ledgers of all phases.

    Source: docs/rules/nations.md#determinism, docs/rules/nations.md#orders-not-changes.
    """
    books = play_phases(state, intents)
    accounts = settle_accounts(state, books)
    written = arithmetic(state, intents, accounts)
    as_json = {a: {**account.as_json, "arithmetic": written[a]} for a, account in accounts.items()}
    return Resolved(
        _next_state(state, books, accounts),
        events=tuple(_events(books)),
        ledgers={**books.to_json(), "accounts": as_json},
        mends=books.mends,
    )


def settle_accounts(state: State, books: TurnLedgers) -> dict[str, Account]:
    """Return every agent's account of the turn, made from the ledgers.

    Source: docs/rules/nations.md#account-of-a-turn.
    """
    ceded = books.orders.territory_cession
    accounts = {}
    for agent in state.setting.agents:
        left = books.transfers.money_left[agent]
        accounts[agent] = Account(
            money=(
                ("gross", books.income.gross_income[agent]),
                ("damage", -sum(books.war_damage.damage[agent].values())),
                ("violence_penalty", -books.war_damage.violence_penalty[agent]),
                ("beyond_income", books.war_damage.beyond_income[agent]),
                ("upkeep", -books.upkeep.upkeep_paid[agent]),
                ("purchases", -books.purchases.purchase_cost[agent]),
                ("grants", -sum(books.transfers.grants_paid[agent].values())),
            ),
            left=left,
            welfare=(("left", left), ("trade", books.transfers.trade_welfare[agent])),
            gained=books.transfers.turn_welfare[agent],
            total=books.end_of_turn.welfare[agent],
            mils=(
                ("start", state.army[agent]),
                ("unpaid", -books.upkeep.mils_unpaid[agent]),
                ("lost_in_combat", -books.combat.mils_lost[agent]),
                ("counted_twice", books.end_of_turn.mils_counted_twice[agent]),
                ("purchased", books.purchases.mils_purchased[agent]),
                ("disbanded", -books.end_of_turn.mils_disbanded[agent]),
            ),
            army=books.end_of_turn.army[agent],
            attacked=books.allocation.attacks[agent],
            attacked_by=books.allocation.attacked_by[agent],
            damage_by=books.war_damage.damage[agent],
            lost_to=books.combat.combat_losses[agent],
            granted_to=books.transfers.grants_paid[agent],
            received_from=books.transfers.grants_received[agent],
            ceded_to=ceded[agent],
            ceded_by={giver: given[agent] for giver, given in ceded.items() if agent in given},
            resources=_lines_by_resource(books.income, agent),
        )
    return accounts


def _lines_by_resource(income: Income, agent: str) -> dict[str, tuple[Line, ...]]:
    """Return the lines of each resource; nothing without resources."""
    supply, handed_over = income.resource_supply, income.resources_handed_over
    return {r: resource_lines(supply, handed_over, agent, r) for r in RESOURCES} if supply else {}


def _next_state(state: State, books: TurnLedgers, accounts: Mapping[str, Account]) -> State:
    end = books.end_of_turn
    cessions = {
        giver: {receiver: len(held) for receiver, held in given.items()}
        for giver, given in books.orders.territory_cession.items()
    }
    return replace(
        state,
        turn=state.turn + 1,
        territories=end.territories,
        army=end.army,
        welfare=end.welfare,
        accounts=accounts,
        messages=end.messages_delivered,
        keeps_word=end.keeps_word,
        aggressor=end.aggressor,
        attacked=_add_numbers(state.attacked, books.allocation.attacks),
        granted=_add_numbers(state.granted, books.transfers.grants_paid),
        ceded=_add_numbers(state.ceded, cessions),
        handed_over=books.income.resources_handed_over,
    )


def _add_numbers(so_far: Pairs, new: Pairs) -> Pairs:
    """Add a turn's numbers to the earlier ones.

    An agent without new numbers keeps its object, so that a quiet turn costs no copies.
    """
    added = dict(so_far)
    for agent, numbers in new.items():
        if numbers:
            old = so_far.get(agent, {})
            added[agent] = {o: old.get(o, 0) + numbers.get(o, 0) for o in sorted({*old, *numbers})}
    return added


def _events(books: TurnLedgers) -> Iterator[Event]:
    """Yield what happened in the turn, in the order of `EVENTS`, agents by name."""
    for giver, receiver, resource, amount in list_transfers(books.income.resources_handed_over):
        yield Event("resource_grant", giver, {"to": receiver, "resource": resource, "amount": amount})
    for agent, attacks in books.allocation.attacks.items():
        for target, mils in attacks.items():
            damage = books.war_damage.damage[target][agent]
            lost = books.combat.combat_losses[agent].get(target, 0)
            yield Event("attack", agent, {"target": target, "mils": mils, "damage": damage, "lost": lost})
    for kind, ledger in (
        ("unpaid", books.upkeep.mils_unpaid),
        ("purchase", books.purchases.mils_purchased),
        ("disband", books.end_of_turn.mils_disbanded),
    ):
        yield from (Event(kind, agent, {"mils": mils}) for agent, mils in ledger.items() if mils)
    for agent, grants in books.transfers.grants_paid.items():
        yield from (Event("grant", agent, {"to": to, "amount": amount}) for to, amount in grants.items())
    for agent, cessions in books.orders.territory_cession.items():
        for receiver, territories in cessions.items():
            yield from (Event("cede", agent, {"to": receiver, "territory": t}) for t in territories)
    for author, addressee, text in books.end_of_turn.messages_delivered:
        yield message(author, text, addressee)


EVENTS = {
    "resource_grant": "to, resource, amount: resources that were handed over",
    "attack": "target, mils, damage, lost: mils that were sent, damage that they do, mils that fell",
    "unpaid": "mils: disbanded because their upkeep could not be paid",
    "purchase": "mils: bought",
    "disband": "mils: disbanded by choice",
    "grant": "to, amount: money that was paid",
    "cede": "to, territory: land that changed hands",
    "message": "to, text: read next turn",
}
"""The types of events and their fields. Source: docs/rules/nations.md#events-of-a-turn."""
