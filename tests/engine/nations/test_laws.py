"""Laws that hold on every board and for every answer, checked with Hypothesis."""

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hobbes.engine.chance import RngStream
from hobbes.engine.nations.land import by_number
from hobbes.engine.nations.rules import in_proportion
from hobbes.engine.nations.state import State, exact_fraction
from hobbes.engine.nations.validation import validate
from hobbes.engine.nations.world import NATIONS
from hobbes.engine.policy import speak
from hobbes.engine.record import canonical
from tests.engine.nations.stage import Answers, Turn, setting, turn
from tests.soak import examples

EXAMPLES = examples(50, 10_000)

NAMES = NATIONS.names(5)
LAND = [f"T{k}" for k in range(12)]

names = st.sampled_from([*NAMES, "all", "AgentNobody"])
small = st.integers(0, 30)
counts = st.one_of(small, small, st.sampled_from([10**400, -1, 2.0, 2.5, True, "3", None]))
texts = st.sampled_from(["", "Peace?", "War!", "x\u202ey", "word " * 60])
ratings = st.integers(0, 11)


def objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(names, values, max_size=4)


answers = st.fixed_dictionaries(
    {},
    optional={
        "purchase_mils": counts,
        "attacks": objects(counts) | objects(small),
        "cede_territories": objects(st.lists(st.sampled_from([*LAND, "nowhere"]), max_size=3)),
        "money_grants": objects(small),
        "messages": objects(texts),
        "summary": texts,
        "reasoning": texts,
        "disband_mils": small,
        "keeps_word_report": objects(ratings),
        "aggressor_report": objects(ratings),
        "resource_grants": objects(st.dictionaries(st.sampled_from(["energy", "food", "minerals"]), small)),
    },
)

configs = st.fixed_dictionaries(
    {
        "constants": st.fixed_dictionaries(
            {
                "c_money_per_territory": small,
                "c_mil_purchase_price": st.integers(1, 30),
                "c_mil_upkeep_price": st.integers(0, 9),
                "c_defense_destroy_factor": st.integers(1, 9),
                "c_trade_factor": st.sampled_from([0.0, 0.29, 1.0, 1.5, 2.0]),
                "c_damage_per_attack_mil": st.integers(0, 20),
                "c_violence_penalty": st.integers(0, 5),
            }
        ),
        "map": st.sampled_from(["none", "none", "ring", "grid"]),
        "resources": st.booleans(),
        "observability": st.sampled_from(["full", "partial", "own"]),
        "messages": st.booleans(),
        "reports": st.sampled_from(["private", "published"]),
    }
)


@st.composite
def turns(draw: st.DrawFn) -> tuple[State, Answers]:
    """Draw a board of two to five agents, and the answers of those that answer."""
    agents = NAMES[: draw(st.integers(2, len(NAMES)))]
    owners = draw(st.lists(st.sampled_from([*agents, None]), min_size=len(LAND), max_size=len(LAND)))
    held = {agent: [t for t, owner in zip(LAND, owners, strict=True) if owner == agent] for agent in agents}
    config = draw(configs)
    board = NATIONS.state.load(
        setting(agents, territories=held, **config),
        {
            "turn": draw(st.integers(0, 9)),
            "territories": held,
            "army": {agent: draw(small) for agent in agents},
            "welfare": {agent: draw(small) for agent in agents},
        },
    )
    return board, {agent: said for agent in agents if (said := draw(st.none() | answers)) is not None}


def money_is_conserved_through_every_phase(played: Turn) -> None:
    """State the accounting identity, phase by phase: what comes in is what goes on and what goes out.

    income       gross            = territories x money per territory, at most (less where resources lack)
    war damage   gross + beyond   = damage + penalty + available
    upkeep       available        = upkeep + money after upkeep
    purchases    after upkeep     = cost of mils + money after purchases
    transfers    after purchases  = grants paid + money left
                 grants paid      = grants received, over all agents
                 turn's welfare   = money left + floor(received x trade factor)
    end of turn  welfare          = welfare before + turn's welfare
    """
    books, constants = played.ledgers, played.before.constants
    factor = exact_fraction(constants.c_trade_factor)
    for agent in played.before.setting.agents:
        full = len(played.before.territories[agent]) * constants.c_money_per_territory
        gross = books["gross_income"][agent]
        assert gross <= full
        assert gross == full or played.before.config.resources
        destroyed = sum(books["damage"][agent].values()) + books["violence_penalty"][agent]
        assert gross + books["beyond_income"][agent] == destroyed + books["available_money"][agent]
        after_upkeep = books["money_after_upkeep"][agent]
        assert books["available_money"][agent] == books["upkeep_paid"][agent] + after_upkeep
        after_purchases = books["money_after_purchases"][agent]
        assert after_upkeep == books["purchase_cost"][agent] + after_purchases
        paid = sum(books["grants_paid"][agent].values())
        assert after_purchases == paid + books["money_left"][agent]
        received = sum(books["grants_received"][agent].values())
        gained = books["money_left"][agent] + int(received * factor)
        assert books["turn_welfare"][agent] == gained
        assert played.after.welfare[agent] == played.before.welfare[agent] + gained
    assert total(books["grants_paid"]) == total(books["grants_received"])


def no_army_money_or_welfare_is_negative(played: Turn) -> None:
    for name in (
        "gross_income",
        "beyond_income",
        "available_money",
        "upkeep_paid",
        "money_after_upkeep",
        "mils_purchased",
        "money_after_purchases",
        "money_left",
        "turn_welfare",
        "attacking",
        "defending",
        "mils_unpaid",
        "mils_lost",
        "mils_disbanded",
        "army",
        "welfare",
    ):
        assert all(amount >= 0 for amount in played.ledgers[name].values()), name
    assert all(
        type(amount) is int for amount in [*played.after.army.values(), *played.after.welfare.values()]
    )


def every_territory_keeps_one_owner(played: Turn) -> None:
    before = [t for held in played.before.territories.values() for t in held]
    after = [t for held in played.after.territories.values() for t in held]
    assert sorted(before) == sorted(after)
    assert all(list(held) == sorted(held, key=by_number) for held in played.after.territories.values())


def every_account_adds_up(played: Turn) -> None:
    for agent, account in played.after.accounts.items():
        assert sum(amount for _, amount in account.money) == account.left
        assert sum(amount for _, amount in account.welfare) == account.gained
        assert sum(mils for _, mils in account.mils) == account.army == played.after.army[agent]
        assert account.total == played.before.welfare[agent] + account.gained


def attacks_and_losses_stay_within_what_there_is(played: Turn) -> None:
    books, factor = played.ledgers, played.before.constants.c_defense_destroy_factor
    for agent in played.before.setting.agents:
        assert books["attacking"][agent] + books["defending"][agent] == played.before.army[agent]
        ordered = sum(books["global_attacks"][agent].values())
        assert books["attacking"][agent] == min(ordered, played.before.army[agent])
        for target, lost in books["combat_losses"][agent].items():
            assert 0 <= lost <= books["attacks"][agent][target]
        destroyed = sum(lost.get(agent, 0) for lost in books["combat_losses"].values())
        coming = sum(books["attacked_by"][agent].values())
        assert destroyed == min(books["defending"][agent] // factor, coming)


def no_more_of_a_resource_is_handed_over_than_the_land_gives(played: Turn) -> None:
    supply, handed_over = (played.ledgers[name] for name in ("resource_supply", "resources_handed_over"))
    for giver, taken in handed_over.items():
        for resource, there in supply[giver].items():
            amounts = [goods[resource] for goods in taken.values() if resource in goods]
            assert all(amount > 0 for amount in amounts)
            assert sum(amounts) <= there
    for resource in ("energy", "food", "minerals"):
        lines = [a.resources[resource] for a in played.after.accounts.values() if a.resources]
        had = sum(amount for account in lines for _, amount in account)
        assert had == sum(amounts[resource] for amounts in supply.values())


def everything_said_is_intended_dropped_or_mended(played: Turn) -> None:
    for agent, intent in played.intents.items():
        orders = (
            {other for other, _ in intent.money_grants} | set(intent.attacks) | set(intent.cede_territories)
        )
        assert orders <= set(played.before.setting.agents) - {agent}
    codes = {drop.code.split("/")[0] for drop in played.drops} | {m.code.split("/")[0] for m in played.mends}
    assert codes <= {"nations", "reflection"}


def a_turn_can_be_written_down_and_read_back(played: Turn) -> None:
    for intent in played.intents.values():
        written = NATIONS.intent.to_json(intent)
        assert canonical(NATIONS.intent.to_json(NATIONS.intent.from_json(written))) == canonical(written)
    assert canonical(played.ledgers)


LAWS: tuple[Callable[[Turn], None], ...] = (
    money_is_conserved_through_every_phase,
    no_army_money_or_welfare_is_negative,
    every_territory_keeps_one_owner,
    every_account_adds_up,
    attacks_and_losses_stay_within_what_there_is,
    no_more_of_a_resource_is_handed_over_than_the_land_gives,
    everything_said_is_intended_dropped_or_mended,
    a_turn_can_be_written_down_and_read_back,
)


def total(pairs: Mapping[str, Mapping[str, int]]) -> int:
    return sum(sum(numbers.values()) for numbers in pairs.values())


@settings(max_examples=EXAMPLES, deadline=None)
@given(turns())
def test_every_law_holds_on_every_board_for_every_answer(drawn: tuple[State, Answers]) -> None:
    played = turn(*drawn)
    for law in LAWS:
        law(played)


def shuffled(entries: Mapping[str, Any], rng: Random) -> dict[str, Any]:
    return {key: entries[key] for key in rng.sample(list(entries), len(entries))}


@settings(max_examples=examples(30, 1_000), deadline=None)
@given(turns(), st.randoms(use_true_random=False))
def test_the_order_of_agents_in_the_input_does_not_matter(drawn: tuple[State, Answers], rng: Random) -> None:
    state, said = drawn
    settled = setting(
        rng.sample(state.setting.agents, len(state.setting.agents)),
        **state.config.model_dump(mode="json", exclude_defaults=True),
    )
    data = NATIONS.state.to_json(state)
    data = {key: shuffled(value, rng) if isinstance(value, dict) else value for key, value in data.items()}
    mixed = {
        agent: {
            key: shuffled(value, rng) if key == "attacks" and isinstance(value, dict) else value
            for key, value in answer.items()
        }
        for agent, answer in shuffled(said, rng).items()
    }
    one = turn(state, said)
    again = NATIONS.state.load(settled, data)
    intents = {
        agent: validate(again, agent, mixed.get(agent)).intent for agent in shuffled(data["army"], rng)
    }
    other = NATIONS.resolve(again, intents)
    assert canonical(NATIONS.state.to_json(one.after)) == canonical(NATIONS.state.to_json(other.state))
    assert canonical(one.ledgers) == canonical(other.ledgers)
    assert one.events == other.events


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.dictionaries(st.text(max_size=3), st.integers(1, 10**6), min_size=1), st.data())
def test_proportional_shares_add_up_and_are_fair(weights: dict[str, int], data: st.DataObject) -> None:
    whole = sum(weights.values())
    amount = data.draw(st.integers(0, whole))
    shares = in_proportion(amount, weights)
    assert sum(shares.values()) == amount
    for name, weight in weights.items():
        assert 0 <= shares[name] <= weight
        assert abs(shares[name] * whole - amount * weight) < whole  # less than one from the exact share


@settings(max_examples=examples(30, 2_000), deadline=None)
@given(turns(), st.sampled_from(sorted(NATIONS.policies.by_name)), st.sampled_from([0.0, 0.3, 1.0]))
def test_no_comparator_ever_says_what_is_refused(
    drawn: tuple[State, Answers], name: str, share: float
) -> None:
    state, _ = drawn
    for agent in state.setting.agents:
        view, rng = NATIONS.observe(state, agent), RngStream(1, state.turn, agent)
        said = json.loads(speak(NATIONS.policies, name, 0, view, rng, tremble=share))
        found = validate(state, agent, said)
        assert (found.drops, found.mends) == ((), ())
