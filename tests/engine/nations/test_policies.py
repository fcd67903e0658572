"""The scripted policies: what each does, and that its answers are valid."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from hobbes.engine.chance import RngStream
from hobbes.engine.nations.policies import spoil
from hobbes.engine.nations.state import State
from hobbes.engine.nations.view import observe
from hobbes.engine.nations.world import NATIONS
from hobbes.engine.policy import speak
from tests.engine.nations.stage import A, Answers, B, C, board, run, turn

POLICIES = list(NATIONS.policies.by_name)


def ask(name: str, state: State, agent: str, mind: Mapping[str, Any] | None = None) -> dict[str, Any]:
    view = NATIONS.remembering(NATIONS.observe(state, agent), dict(mind or {}))
    return dict(NATIONS.policies.by_name[name](view, RngStream(1, state.turn, agent)))


def after(answers: Answers, **config: Any) -> State:
    """Return the board of three agents after a turn with these answers."""
    return turn(board(**config), answers).after


def test_default_does_nothing_and_keeps_its_summary() -> None:
    answer = ask("default", after({B: {"attacks": {A: 3}}}), A, {"previous_turn_summary": "Long ago."})
    assert answer["summary_last_turn"] == "Long ago."
    assert not any(value for name, value in answer.items() if name != "summary_last_turn")


def test_pacifist_trader_keeps_no_army_and_grants_half_to_those_who_did_not_attack_it() -> None:
    state = after({B: {"attacks": {A: 3}}})
    answer = ask("pacifist-trader", state, A)
    assert answer["money_grants"] == {C: 15}  # half of 50 - 20
    assert answer["disband_mils"] == 10
    assert "attacks" not in answer


def test_reciprocal_trader_opens_with_grants_to_all() -> None:
    assert ask("reciprocal-trader", board(), A)["money_grants"] == {
        B: 3,
        C: 3,
    }  # a quarter of 50 - 20, evenly


def test_reciprocal_trader_grants_what_it_was_granted() -> None:
    state = after({B: {"money_grants": {A: 7}}, C: {"attacks": {A: 1}}})
    answer = ask("reciprocal-trader", state, A)
    assert answer["money_grants"] == {B: 7}
    assert "attacks" not in answer


def test_militarist_buys_what_it_can_and_attacks_the_weakest() -> None:
    answer = ask("militarist", board(army={A: 8, B: 5, C: 2}), A)
    assert answer["purchase_mils"] == 1  # (50 - 16) / 20
    assert answer["attacks"] == {C: 4}
    assert answer["messages"] == {C: "I have 8 mils. Grant me money."}
    assert ask("militarist", board(army={A: 1}), A)["messages"] == {B: "I have 1 mil. Grant me money."}


def test_appeaser_cedes_to_whoever_attacked_it() -> None:
    answer = ask("appeaser", after({B: {"attacks": {A: 1}}, C: {"attacks": {A: 1}}}), A)
    assert answer["cede_territories"] == {B: ["T1"], C: ["T2"]}
    assert "cede_territories" not in ask("appeaser", after({B: {"attacks": {C: 1}}}), A)


def test_appeaser_cedes_under_a_map_only_what_it_may() -> None:
    answer = ask("appeaser", after({B: {"attacks": {A: 1}}}, map="ring"), A)
    assert answer["cede_territories"] == {B: ["T5"]}
    answer = ask("appeaser", after({C: {"attacks": {A: 1}}}, map="ring"), A)  # only its capital touches C
    assert "cede_territories" not in answer


def test_grim_attacks_whoever_ever_attacked_it() -> None:
    played = run(board(), ["grim", "default", "default"], turns=1)
    assert played[0].intents[A].attacks == {}
    attacked = after({B: {"attacks": {A: 1}}})
    first = ask("grim", attacked, A, {})
    assert first["attacks"] == {B: 10}
    peace = attacked
    for _ in range(5):
        peace = turn(peace, {}).after
    assert "attacks" not in ask("grim", peace, A, {})
    later = ask("grim", peace, A, {"history_summary": first["history_summary"]})
    assert later["attacks"] == {B: 10}
    assert later["history_summary"] == first["history_summary"]


def test_reports_are_of_what_was_seen() -> None:
    state = after({B: {"attacks": {C: 1}}, C: {"money_grants": {B: 1}}})
    answer = ask("reciprocal-trader", state, A)
    assert answer["aggressor_report"] == {A: 1, B: 2, C: 1}
    assert answer["keeps_word_report"] == {A: 5, B: 3, C: 6}
    mind = {"aggressor_report": {B: 10}, "keeps_word_report": {B: 1, C: 10}}
    answer = ask("reciprocal-trader", state, A, mind)
    assert answer["aggressor_report"] == {A: 1, B: 10, C: 1}
    assert answer["keeps_word_report"] == {A: 5, B: 1, C: 10}


def test_reports_are_of_what_was_seen_and_not_of_what_was_not() -> None:
    state = after({B: {"attacks": {C: 1}}}, observability="own")
    assert ask("reciprocal-trader", state, A)["aggressor_report"][B] == 1
    assert ask("reciprocal-trader", state, C)["aggressor_report"][B] == 2


def test_noise_spoils_answers_as_a_model_would() -> None:
    played = run(board(7), POLICIES, turns=50, noise=0.3)
    codes = {code for done in played for code in done.codes}
    assert codes >= {
        "nations/bad-shape",
        "nations/unknown-agent",
        "nations/self-target",
        "nations/not-yours",
        "nations/unknown-field",
        "nations/message/too-long",
        "nations/attacks-scaled",
        "nations/grant-cut",
        "nations/disband-cut",
        "nations/purchase-cut",
        "reflection/unknown-agent",
        "reflection/rating-out-of-range",
        "reflection/too-many-words",
        "reflection/not-text",
        "reflection/not-ratings",
    }


def test_without_noise_nothing_is_spoiled_and_with_full_noise_everything() -> None:
    view = NATIONS.observe(board(), A)
    answer: dict[str, Any] = {"purchase_mils": 1, "money_grants": {B: 1}}
    assert spoil(view, answer, RngStream(1, 0, A), 0.0) == answer
    spoiled = spoil(view, answer, RngStream(1, 0, A), 1.0)
    assert spoiled["purchase_mils"] != 1
    assert spoiled["money_grants"] != {B: 1}


ORDERS = ("purchase_mils", "disband_mils", "attacks", "money_grants", "cede_territories")


def trembled(share: float, name: str = "default", turns: int = 200) -> list[dict[str, Any]]:
    view = observe(board(3), A)
    texts = [
        speak(NATIONS.policies, name, 0, view, RngStream(seed, 0, A), tremble=share) for seed in range(turns)
    ]
    assert texts == [
        speak(NATIONS.policies, name, 0, view, RngStream(seed, 0, A), tremble=share) for seed in range(turns)
    ]
    return [json.loads(text) for text in texts]


def test_a_tremble_replaces_each_order_with_its_probability_also_one_to_do_nothing() -> None:
    plain, some, all_of_them = (trembled(share) for share in (0, 0.3, 1))
    assert plain == [plain[0]] * len(plain)
    for name in ("attacks", "money_grants", "cede_territories"):
        assert 40 < sum(said[name] != {} for said in some) < 80
        assert all(said[name] for said in all_of_them)
    assert {said["disband_mils"] for said in all_of_them} == set(range(11))


def test_a_tremble_keeps_what_a_policy_says_besides() -> None:
    for plain, other in zip(trembled(0, "grim", 5), trembled(1, "grim", 5), strict=True):
        assert {name: value for name, value in plain.items() if name not in ORDERS} == {
            name: value for name, value in other.items() if name not in ORDERS
        }


def test_an_opportunist_gives_and_attacks_nothing_and_disbands_an_army_that_costs_upkeep() -> None:
    answer = ask("opportunist", after({B: {"attacks": {A: 3}, "money_grants": {A: 5}}}), A)
    assert {name for name in ORDERS if name in answer} == {"disband_mils"}
    assert answer["disband_mils"] == 10
    free = board(constants={"c_mil_upkeep_price": 0})
    assert not {name for name in ORDERS if name in ask("opportunist", free, A)}


@pytest.mark.parametrize(("greed", "mils"), [(0.0, 0), (0.26, 3), (0.7, 7), (1.0, 10)])
def test_a_raider_sends_its_greed_of_the_army_against_the_weakest(greed: float, mils: int) -> None:
    view = observe(board(army={A: 10, B: 8, C: 4}), A)
    answer = NATIONS.policies.by_name["raider"](view, RngStream(1, 0, A), greed=greed)
    assert answer.get("attacks", {}) == ({C: mils} if mils else {})
    # Its money is 5 x 10 - 10 x 2 = 30, and a mil costs 20.
    assert answer.get("purchase_mils", 0) == int(greed * 30) // 20


def test_a_raider_attacks_a_neighbour_if_there_is_a_map() -> None:
    land = {A: ["T1"], B: ["T2"], C: ["T4"]}
    edges = [["T1", "T2"], ["T2", "T4"]]
    army = {A: 10, B: 8, C: 4}
    near = board(territories=land, map="file", map_edges=edges, army=army)
    assert ask("raider", near, A)["attacks"] == {B: 5}
    assert ask("raider", board(territories=land, army=army), A)["attacks"] == {C: 5}
