"""What an agent sees, and what it does not."""

import json
from itertools import product
from typing import Any

import pytest

from hobbes.engine.nations.state import State
from hobbes.engine.nations.world import NATIONS
from hobbes.engine.record import canonical
from tests.engine.nations.stage import A, Answers, B, C, D, board, run, setting, turn

WAR_AND_TRADE: Answers = {
    A: {"attacks": {B: 2}, "messages": {B: "Surrender!"}},
    B: {"money_grants": {C: 7}, "cede_territories": {C: ["T6"]}},
}


def see(state: State, agent: str) -> dict[str, Any]:
    """Return an agent's view as it comes out of JSON."""
    view: dict[str, Any] = json.loads(json.dumps(NATIONS.observe(state, agent)))
    return view


def test_at_turn_0_agents_see_only_what_is_structural_and_static() -> None:
    assert see(board(2, army=7), A) == {
        "world": "nations",
        "turn": 0,
        "self": A,
        "agents": [A, B],
        "territories": {A: ["T1", "T2", "T3", "T4", "T5"], B: ["T6", "T7", "T8", "T9", "T10"]},
        "army": {A: 7, B: 7},
        "constants": {
            "c_money_per_territory": 10,
            "c_mil_purchase_price": 20,
            "c_mil_upkeep_price": 2,
            "c_defense_destroy_factor": 4,
            "c_trade_factor": 2.0,
            "c_damage_per_attack_mil": 5,
        },
        "turns_left": 50,
        "messages": {},
    }


def test_from_turn_1_an_agent_sees_its_own_account() -> None:
    played = turn(board(), WAR_AND_TRADE)
    assert see(played.after, B)["account"] == {
        "gross": 50,
        "damage": -10,
        "upkeep": -20,
        "grants": -7,
        "gained": 13,
        "total": 13,
        "granted_to": {C: 7},
        "ceded_to": {C: ["T6"]},
        "attacked_by": {A: 2},
    }
    assert see(played.after, A)["account"]["attacked"] == {B: 2}


def test_a_view_leaves_out_what_a_turn_did_not_bring() -> None:
    quiet = see(turn(board(army=0), {}).after, B)
    assert quiet["account"] == {"gross": 50, "gained": 50, "total": 50}
    assert quiet["news"] == {agent: {"gross": 50, "total": 50} for agent in (A, C)}
    assert quiet["messages"] == {}


def test_a_constant_of_a_rule_that_is_off_is_left_out() -> None:
    assert "c_violence_penalty" not in see(board(), B)["constants"]
    assert see(board(constants={"c_violence_penalty": 1}), B)["constants"]["c_violence_penalty"] == 1


@pytest.mark.parametrize("observability", ["partial", "own"])
def test_an_account_tells_nothing_of_what_others_did_to_each_other(observability: str) -> None:
    state = board(4, army={A: 1, B: 5, C: 4}, observability=observability)
    seen: dict[str, str] = {}
    for by_b, by_c in product(range(6), range(5)):
        orders = {A: {C: 1}, B: {C: by_b}, C: {D: by_c}}
        done = turn(state, {agent: {"attacks": attacks} for agent, attacks in orders.items()})
        board_seen = {name: see(done.after, A)[name] for name in ("territories", "army")}
        own = [event.to_json() for event in done.events if A in str(event)]
        known: list[Any] = [board_seen, done.after.welfare[A], own]
        view = canonical(see(done.after, A))
        assert seen.setdefault(canonical(known), view) == view


def test_what_others_gained_follows_from_the_news() -> None:
    # B: 50 - 40 damage - 20 penalty + 10 beyond income + 6 received = 6.
    # A: 50 - 20 penalty - 16 upkeep - 3 grants = 11.
    state = board(army={A: 8}, constants={"c_violence_penalty": 4})
    news = see(turn(state, {A: {"attacks": {B: 8}, "money_grants": {B: 3}}}).after, C)["news"]
    hit = {
        "gross": 50,
        "damage": -40,
        "violence_penalty": -20,
        "beyond_income": 10,
        "received": 6,
        "total": 6,
    }
    spent = {"gross": 50, "violence_penalty": -20, "upkeep": -16, "grants": -3, "total": 11}
    assert news == {A: {**spent, "attacked": {B: 8}, "granted_to": {B: 3}}, B: hit}


def test_own_observability_still_tells_who_handed_resources_over() -> None:
    grants: Answers = {A: {"resource_grants": {B: {"food": 3}, C: {"food": 4}}}}
    view = see(turn(board(resources=True, observability="own"), grants).after, B)
    assert view["account"]["resources"]["food"] == {"supply": 100, f"from {A}": 3}  # 5 x 20 of its own
    assert C not in json.dumps(view["account"])


@pytest.mark.parametrize("map_", ["none", "ring"])
def test_own_observability_tells_nothing_of_others_but_what_they_write(map_: str) -> None:
    state = board(observability="own", map=map_, resources=True)
    before = see(state, C)
    assert list(before["territories"]) == list(before["army"]) == [C]
    answers: Answers = {A: {"messages": {C: "I attack B."}, "attacks": {B: 2}}, B: {"purchase_mils": 1}}
    after = see(turn(state, answers).after, C)
    assert after["messages"] == {A: {C: "I attack B."}}
    del after["agents"], after["messages"]
    assert A not in json.dumps(after)
    assert B not in json.dumps(after)


def test_an_author_reads_what_it_wrote_to_itself_and_not_what_it_wrote_to_all() -> None:
    state = turn(board(), {A: {"messages": {"all": "I want peace.", A: "Stay calm."}}}).after
    assert see(state, A)["messages"] == {A: {A: "Stay calm."}}


def test_the_order_of_an_answer_is_not_seen_where_it_does_not_count() -> None:
    answer = {
        "money_grants": {C: 1, B: 2},
        "attacks": {C: 1, B: 2},
        "messages": {C: "Hello.", B: "Hello."},
        "cede_territories": {C: ["T1"], B: ["T2"]},
        "aggressor_report": {C: 1, B: 2},
    }
    after = turn(board(), {A: answer}).after
    again = NATIONS.state.load(setting(3), json.loads(canonical(NATIONS.state.to_json(after))))
    for agent in (A, B, C):
        assert json.dumps(NATIONS.observe(again, agent)) == json.dumps(NATIONS.observe(after, agent))


def test_the_picture_for_people_has_a_row_for_each_agent() -> None:
    assert NATIONS.picture.rows(turn(board(2), {A: {"cede_territories": {B: ["T1"]}}}).after) == [
        ["", "land", "mils", "welfare"],
        ["AgentA", "4", "10", "30"],
        ["AgentB", "6", "10", "30"],
    ]


def test_what_an_agent_sees_does_not_grow_with_the_turns() -> None:
    played = run(board(4, rounds=60), ["pacifist-trader"], turns=60)
    sizes = [len(json.dumps(NATIONS.observe(done.after, A))) for done in played[1:]]  # armies go in turn 0
    assert max(sizes) - sizes[4] < 60  # figures get longer, nothing else does
