"""Every treatment: what it changes, and which configs are refused."""

import json
from typing import Any

import pytest

from hobbes.engine.answer import FoundAs, Outcome, ParsedAnswer
from hobbes.engine.digest import first_digest
from hobbes.engine.nations.land import grid, ring
from hobbes.engine.nations.world import NATIONS
from hobbes.engine.record import Mend
from hobbes.engine.turn import play_turn
from tests.engine.nations.stage import A, Answers, B, C, D, board, one, setting, turn


def test_without_a_word_four_agents_have_five_territories_and_ten_mils_each() -> None:
    state = board(NATIONS.default_agents)
    assert state.setting.agents == (A, B, C, D)
    assert [len(state.territories[agent]) for agent in state.setting.agents] == [5, 5, 5, 5]
    assert state.territories[A] == ("T1", "T2", "T3", "T4", "T5")
    assert state.territories[B] == ("T6", "T7", "T8", "T9", "T10")
    assert state.army == {A: 10, B: 10, C: 10, D: 10}
    assert state.welfare == {A: 0, B: 0, C: 0, D: 0}


def test_agents_are_named_by_letters() -> None:
    names = NATIONS.names(28)
    assert names[:2] == ("AgentA", "AgentB")
    assert names[25:] == ("AgentZ", "AgentAA", "AgentAB")
    assert len(set(NATIONS.names(1000))) == 1000


def test_constants_may_be_given_in_part() -> None:
    state = board(constants={"c_trade_factor": 1.5, "c_money_per_territory": 8})
    assert state.constants.c_trade_factor == 1.5
    assert state.constants.c_money_per_territory == 8
    assert state.constants.c_mil_purchase_price == 20


def test_a_ring_joins_each_territory_to_the_next_and_the_last_to_the_first() -> None:
    assert ring(["a", "b", "c"]) == (("a", "b"), ("b", "c"), ("c", "a"))
    assert ring(["a", "b"]) == (("a", "b"),)
    assert ring(["a"]) == ring([]) == ()


def test_a_grid_is_the_smallest_square_that_holds_them_row_by_row() -> None:
    # a b c
    # d e
    across, down = {("a", "b"), ("b", "c"), ("d", "e")}, {("a", "d"), ("b", "e")}
    assert set(grid(["a", "b", "c", "d", "e"])) == across | down
    assert grid(["a"]) == grid([]) == ()
    assert len(grid([str(k) for k in range(16)])) == 24


def test_what_touches_changes_with_the_land() -> None:
    state = board(map="ring", territories_per_agent=3)
    assert one(state, A, {"cede_territories": {B: ["T3", "T2"]}})[1] == ["nations/not-touching"]
    assert state.may_cede[A] == {B: ["T3"]}
    state = turn(state, {A: {"cede_territories": {B: ["T3"]}}}).after
    assert one(state, A, {"cede_territories": {B: ["T2"]}})[1] == []
    assert state.may_cede[A] == {B: ["T2"]}


def test_territories_are_sorted_by_number_wherever_they_are_listed() -> None:
    names = ["T10", "T9", "T2", "T", "b", "a10", "a9", "a09", "T" + 5000 * "1"]
    inorder = ("T", "T2", "T9", "T10", "T" + 5000 * "1", "a09", "a9", "a10", "b")
    state = board(territories={A: names})
    assert state.territories[A] == inorder
    played = turn(state, {A: {"cede_territories": {B: ["T10", "T9"]}}})
    assert played.after.accounts[A].ceded_to == {B: ("T9", "T10")}
    assert [event.facts["territory"] for event in played.events if event.type == "cede"] == ["T9", "T10"]
    data = NATIONS.state.to_json(played.after)
    loaded = NATIONS.state.load(state.setting, {**data, "territories": {A: names[2:], B: names[:2], C: []}})
    assert loaded.territories[B] == ("T9", "T10")


def test_the_order_and_direction_of_map_edges_change_nothing() -> None:
    edges = [["T2", "T11"], ["T1", "T6"], ["T6", "T10"]]
    turned = [["T10", "T6"], ["T11", "T2"], ["T6", "T1"], ["T1", "T6"]]
    one_way, other_way = (setting(3, map="file", map_edges=given) for given in (edges, turned))
    assert one_way.config.map_edges == (("T1", "T6"), ("T2", "T11"), ("T6", "T10"))
    assert first_digest(NATIONS, one_way) == first_digest(NATIONS, other_way)


def test_a_map_from_a_file_comes_as_its_edges() -> None:
    state = board(map="file", map_edges=[["T2", "T11"], ["T1", "T6"]])
    assert one(state, A, {"cede_territories": {C: ["T2"]}})[1] == []
    assert one(state, A, {"cede_territories": {B: ["T2"]}})[1] == ["nations/not-touching"]
    assert NATIONS.observe(state, A)["map"] == {
        "edges": [["T1", "T6"], ["T2", "T11"]],
        "capitals": {A: "T1", B: "T6", C: "T11"},
        "may_cede": {C: ["T2"]},
    }


def test_the_capital_is_the_territory_that_stands_first() -> None:
    assert board(map="ring", territories={A: ["z", "a"], B: ["b"]}).land.capitals == {A: "z", B: "b"}


def test_land_is_rich_in_one_resource_and_poor_in_the_others() -> None:
    state = board(4, territories_per_agent=2, resources=True)
    assert state.supply(A) == {"energy": 40, "food": 10, "minerals": 10}  # 2 x 20, 2 x 5, 2 x 5
    assert state.supply(B) == {"energy": 10, "food": 40, "minerals": 10}
    assert state.supply(C) == {"energy": 10, "food": 10, "minerals": 40}
    assert state.supply(D) == state.supply(A)


def test_the_lines_of_a_resource_name_giver_and_receiver() -> None:
    # A has 10 food of its own: C gets 5 of it; B hands over 30 of its 40; C has 10 and gives B 10 of 99.
    state = board(territories_per_agent=2, resources=True)
    answers: Answers = {
        A: {"resource_grants": {C: {"food": 5}}},
        B: {"resource_grants": {A: {"food": 30}}},
        C: {"resource_grants": {B: {"food": 99}}},
    }
    played = turn(state, answers)
    lines = {agent: played.account(agent)["resources"]["food"] for agent in (A, B, C)}
    assert lines == {
        A: [["supply", 10], [f"to {C}", -5], [f"from {B}", 30]],
        B: [["supply", 40], [f"to {A}", -30], [f"from {C}", 10]],
        C: [["supply", 10], [f"to {B}", -10], [f"from {A}", 5]],
    }
    written = f"supply 10 \N{MINUS SIGN} to {C} 5 + from {B} 30 = 35"
    assert played.account(A)["arithmetic"]["food"] == written
    assert played.account(A)["resources"]["energy"] == [["supply", 40]]


def test_an_event_tells_what_was_handed_over_of_a_resource_and_none_tells_of_nothing() -> None:
    # B has 40 food: C gets its 30, A 10 of 30, and nothing is left for the rest.
    state = board(4, territories_per_agent=2, resources=True, army=0)
    grants = {C: {"food": 30, "energy": 0}, A: {"food": 30}, D: {"food": 5}}
    played = turn(state, {B: {"resource_grants": grants}})
    assert [event.to_json() for event in played.events] == [
        {"type": "resource_grant", "agent": B, "to": A, "resource": "food", "amount": 10},
        {"type": "resource_grant", "agent": B, "to": C, "resource": "food", "amount": 30},
    ]


@pytest.mark.parametrize("wrong", [{B: {"gold": 1}}, {B: {"food": -1}}, {B: 3}, {B: {"food": "1"}}, [B]])
def test_resource_grants_of_another_shape_are_dropped_whole(wrong: Any) -> None:
    intent, codes = one(board(resources=True), A, {"resource_grants": wrong})
    assert (intent.resource_grants, codes) == ((), ["nations/bad-shape"])


def test_resource_grants_to_strangers_and_to_oneself_are_dropped_alone() -> None:
    grants = {"AgentZ": {"food": 1}, A: {"food": 1}, B: {"food": 1}}
    intent, codes = one(board(resources=True), A, {"resource_grants": grants})
    assert intent.resource_grants == ((B, "food", 1),)
    assert codes == ["nations/unknown-agent", "nations/self-target"]


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"constants": {"c_gold": 1}}, "c_gold"),
        ({"constants": {"c_mil_purchase_price": 0}}, "c_mil_purchase_price"),
        ({"constants": {"c_trade_factor": float("nan")}}, "c_trade_factor"),
        ({"constants": {"c_trade_factor": -1}}, "c_trade_factor"),
        ({"weather": "fine"}, "weather"),
        ({"observability": "all"}, "observability"),
        ({"personas": {A: "joker"}}, "personas"),
        ({"map": "file"}, "map_edges"),
        ({"map_edges": [["T1", "T2"]]}, "map_edges"),
        ({"bad_actors": {A: {"goal": "damage"}}}, "target"),
        ({"bad_actors": {A: {"goal": "territories", "target": B}}}, "target"),
        ({"bad_actors": {A: {"goal": "damage", "target": A}}}, "bad_actors: the target of AgentA is AgentA"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(config: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        setting(3, **config)


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"territories": {"AgentZ": ["x"]}}, "AgentZ"),
        ({"territories": {A: ["x"], B: ["x"]}}, "x named twice"),
        ({"army": {"AgentZ": 1}}, "AgentZ"),
        ({"personas": {"AgentZ": "diplomacy"}}, "AgentZ"),
        ({"bad_actors": {"AgentZ": {"goal": "territories"}}}, "AgentZ"),
        ({"bad_actors": {A: {"goal": "damage", "target": "AgentZ"}}}, "AgentZ"),
        ({"map": "file", "map_edges": [["T1", "T99"]]}, "T99"),
    ],
)
def test_a_config_that_speaks_of_what_there_is_not_is_refused(config: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        board(3, **config)


def test_a_config_is_the_same_again_when_it_is_read_back() -> None:
    settled = setting(
        3,
        constants={"c_trade_factor": 1.5},
        territories={A: ["z", "a"], B: ["b"]},
        army={A: 1},
        personas={A: "austerity"},
        bad_actors={B: {"goal": "damage", "target": C}, C: {"goal": "territories"}},
        map="file",
        map_edges=[["a", "b"]],
        resources=True,
    )
    written = settled.config.model_dump(mode="json")
    assert setting(3, **json.loads(json.dumps(written))).config == settled.config


def test_no_agent_may_be_named_like_the_addressee_of_messages_to_all() -> None:
    with pytest.raises(ValueError, match="'all'"):
        board(["all", A])


def test_a_state_with_only_the_named_fields_is_accepted() -> None:
    data: dict[str, Any] = {
        "turn": 7,
        "territories": {B: ["y"], A: ["x2", "x1"]},
        "army": {B: 3, A: 4},
        "welfare": {A: 1, B: 2},
    }
    state = NATIONS.state.load(setting(2), data)
    assert state.territories == {A: ("x1", "x2"), B: ("y",)}
    assert NATIONS.observe(state, A)["account"] == {}
    # A: 1 + 20 - 4 x 2; B: 2 + 10 - 5 damage - 2 x 2, since it can pay for two of its three mils.
    assert turn(state, {A: {"attacks": {B: 1}}}).after.welfare == {A: 13, B: 3}


def test_what_the_turn_cuts_is_recorded_after_what_was_mended_in_the_answers() -> None:
    repaired = Mend(A, "read", "read/repaired", "{", {})
    said = ParsedAnswer(Outcome.REPAIRED, FoundAs.REPAIRED, {"purchase_mils": 9}, mends=(repaired,))
    mends = play_turn(NATIONS, board(2), {}, {A: said}).record.mends
    assert [mend.code for mend in mends] == ["read/repaired", "nations/purchase-cut"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"turn": -1},
        {"turn": "soon"},
        {"army": {A: 1}},
        {"army": {A: 1, B: -1}},
        {"army": {A: 1, B: 1, "AgentZ": 1}},
        {"welfare": {A: 1, B: None}},
        {"territories": {A: ["x"], B: ["x"]}},
        {"territories": {A: ["x", "x"], B: []}},
        {"territories": {A: "x", B: []}},
    ],
)
def test_a_state_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    good: dict[str, Any] = {
        "turn": 0,
        "territories": {A: ["x"], B: ["y"]},
        "army": {A: 1, B: 1},
        "welfare": {A: 0, B: 0},
    }
    assert NATIONS.state.load(setting(2), good).turn == 0
    with pytest.raises(ValueError, match=next(iter(wrong))):
        NATIONS.state.load(setting(2), {**good, **wrong})
