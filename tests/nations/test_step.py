"""`hobbes step nations` and the nodes: the mends of a turn are recorded with those of its answers."""

import json
from collections import Counter
from dataclasses import fields
from inspect import get_annotations
from typing import Any

from hobbes.engine.answer import FoundAs, Outcome, ParsedAnswer
from hobbes.engine.memory import EMPTY_MEMORY
from hobbes.engine.nations.ledgers import TurnLedgers
from hobbes.engine.nations.world import NATIONS
from hobbes.engine.record import Mend
from hobbes.engine.turn import play_turn, views
from hobbes.lab.play.stepping import step, step_lines
from hobbes.nodes.resolve import resolve
from hobbes.nodes.state import first_state
from hobbes.nodes.turn_cache import TurnCache
from hobbes.nodes.validate import validate
from tests.nations.stage import A, B, C, setting

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


def test_the_state_of_a_step_is_taken_by_the_next() -> None:
    asked = {"agents": [A, B], "answers": {A: {"messages": {B: "Peace?"}}}}
    lines = step_lines(NATIONS, [json.dumps(asked)])
    after = json.loads(next(lines))["state"]
    again = step(NATIONS, {"agents": [A, B], "state": after})
    assert again["state"] == after
    assert again["views"][B]["messages"] == [{"from": A, "to": B, "text": "Peace?"}]


def test_the_node_adds_what_the_turn_mends_to_what_the_answers_mended() -> None:
    state = first_state(NATIONS, setting(2), {})
    repaired = Mend(A, "read", "read/repaired", "{", {})
    said = ParsedAnswer(Outcome.REPAIRED, FoundAs.REPAIRED, {"purchase_mils": 9}, mends=(repaired,))
    cache = TurnCache(NATIONS)
    judged = validate(cache, {**state, "answers": {A: said.to_json()}})["judged"]
    mends = resolve(cache, {**state, "judged": judged})["resolved"]["record"]["mends"]
    assert [mend["code"] for mend in mends] == ["read/repaired", "nations/purchase-cut"]


def test_an_agents_summaries_come_back_to_it_alone_in_its_memory() -> None:
    before = NATIONS.setup(setting(2).config, (A, B), 1)
    said = {"summary_last_turn": "I waited.", "history_summary": "Peace so far."}
    empty = {name: value for name, value in EMPTY_MEMORY.to_json().items() if name != "notes"}
    assert views(NATIONS, before, {})[A]["memory"] == empty  # nothing is summed up at turn 0
    played = play_turn(NATIONS, before, {}, {A: ParsedAnswer(Outcome.ANSWERED, FoundAs.JSON, said)})
    seen = views(NATIONS, played.resolved.state, played.memories)
    remembered = {"previous_turn_summary": "I waited.", "history_summary": "Peace so far."}
    assert seen[A]["memory"] == {**empty, **remembered}
    assert seen[B]["memory"] == empty


def test_a_grant_that_was_cut_is_told_to_giver_and_receiver() -> None:
    settled = setting(2, army=24)  # upkeep takes 48 of 50
    before = NATIONS.setup(settled.config, settled.agents, 1)
    said = {"money_grants": {B: 6}, "messages": {B: "I gave you 6."}}
    played = play_turn(NATIONS, before, {}, {A: ParsedAnswer(Outcome.ANSWERED, FoundAs.JSON, said)})
    seen: Any = views(NATIONS, played.resolved.state, played.memories)
    (told,) = seen[A]["memory"]["feedback"]
    assert (told["corrected"], told["kept"]) == ({"money_grants": {B: 6}}, {"money_grants": {B: 2}})
    assert seen[A]["account"]["granted_to"] == {B: 2}
    assert seen[B]["account"]["received_from"] == {A: 2}


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
