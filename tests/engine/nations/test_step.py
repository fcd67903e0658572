"""`hobbes step nations` and the nodes: the mends of a turn are recorded with those of its answers."""

import json
from collections import Counter
from dataclasses import fields
from inspect import get_annotations

from hobbes.engine.answer import FoundAs, Outcome, ParsedAnswer
from hobbes.engine.nations.ledgers import TurnLedgers
from hobbes.engine.nations.world import NATIONS
from hobbes.engine.record import Mend
from hobbes.nodes.resolve import resolve
from hobbes.nodes.state import first_state
from hobbes.nodes.turn_cache import TurnCache
from hobbes.nodes.validate import validate
from hobbes.play.step import step
from tests.engine.nations.stage import A, B, C, setting

STATE = {
    "turn": 3,
    "territories": {A: ["T1"], B: ["T2"]},
    "army": {A: 2, B: 0},
    "welfare": {A: 0, B: 0},
}


def test_a_step_from_a_given_state_shows_intents_mends_ledgers_and_views() -> None:
    answers = {A: '{"money_grants": {"AgentB": 99}, "purchase_mils": "many"}'}
    told = step(NATIONS, {"agents": [A, B], "state": STATE, "answers": answers})
    assert told["state"]["turn"] == 4
    assert told["state"]["welfare"] == {A: 0, B: 22}
    assert told["drops"][0]["code"] == "nations/bad-shape"
    assert told["mends"] == [
        {
            "agent": A,
            "stage": "budget",
            "code": "nations/grant-cut",
            "said": {"money_grants": {B: 99}},
            "kept": {"money_grants": {B: 6}},
        }
    ]
    assert told["ledgers"]["money_grants"] == {A: {B: 99}, B: {}}
    written = told["ledgers"]["accounts"][A]["arithmetic"]["money"]
    assert written == "gross 10 − upkeep 4 − grants 6 = 0"  # noqa: RUF001  minus signs
    assert told["views"][B]["account"]["received_from"] == {A: 6}


def test_the_node_adds_what_the_turn_mends_to_what_the_answers_mended() -> None:
    state = first_state(NATIONS, setting(2), {})
    repaired = Mend(A, "read", "read/repaired", "{", {})
    said = ParsedAnswer(Outcome.REPAIRED, FoundAs.REPAIRED, {"purchase_mils": 9}, mends=(repaired,))
    cache = TurnCache(NATIONS)
    judged = validate(cache, {**state, "views": {A: {}}, "answers": {A: said.to_json()}})["judged"]
    mends = resolve(cache, {**state, "judged": judged})["resolved"]["record"]["mends"]
    assert [mend["code"] for mend in mends] == ["read/repaired", "nations/purchase-cut"]


def test_no_two_phases_keep_a_ledger_of_one_name() -> None:
    kept = Counter(
        ledger.name
        for phase in get_annotations(TurnLedgers).values()
        for ledger in fields(phase)
        if ledger.name != "mends"
    )
    assert set(kept.values()) == {1}


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
