"""An agent's memory: what it keeps, what its view shows, and what it is told about its last answer."""

import json

from hobbes.engine.memory import MAX_FEEDBACK, Memory, feedback_by_agent, reason
from hobbes.engine.record import Drop, Mend, canonical

MEANINGS = {"mining/not-yours": "a plot of somebody else", "read/too-large": "a number was cut"}


def test_feedback_tells_each_agent_what_was_rejected_and_corrected_in_its_answer() -> None:
    drops = [Drop("A", "rule", "mining/not-yours", {"defend": [0, 0]}, "owned\nby B")]
    mends = [Mend("B", "read", "read/too-large", "9" * 99, 10)]
    assert feedback_by_agent(drops, mends) == {
        "A": ({"rejected": {"defend": [0, 0]}, "code": "mining/not-yours", "detail": "owned\nby B"},),
        "B": ({"corrected": "9" * 99, "kept": 10, "code": "read/too-large"},),
    }


def test_the_feedback_of_a_view_says_why_in_words() -> None:
    entry = {"rejected": [0, 0], "code": "mining/not-yours", "detail": "owned\nby B"}
    told = Memory(feedback=(entry, {"more": 1})).as_shown((), MEANINGS)
    assert told == {"feedback": [{**entry, "why": "a plot of somebody else: owned by B"}, {"more": 1}]}
    assert reason({"x": "{detail} 拥有"}, "x", "B") == "B 拥有"


def test_the_feedback_of_a_missing_answer_names_nothing_as_rejected() -> None:
    told = feedback_by_agent([Drop("A", "read", "mining/not-yours", None)], [])["A"]
    shown = Memory(feedback=told).as_shown((), MEANINGS)
    assert shown == {"feedback": [{"code": "mining/not-yours", "why": "a plot of somebody else"}]}


def test_feedback_is_bounded_whatever_the_answer_was() -> None:
    drops = [Drop("A", "rule", "mining/not-yours", "x" * 500) for _ in range(MAX_FEEDBACK + 5)]
    told = feedback_by_agent(drops, [])["A"]
    assert len(told) == MAX_FEEDBACK + 1
    assert told[-1] == {"more": 5}
    assert len(str(told)) < 2_000


def test_a_view_shows_what_an_answer_can_fill_and_the_feedback_if_the_world_gives_any() -> None:
    memory = Memory(notes="n", previous_turn_summary="p", feedback=({"more": 1},))
    assert memory.as_shown({"notes"}, None) == {"notes": "n"}
    assert memory.as_shown({"summary_last_turn", "attacks"}, MEANINGS) == {
        "previous_turn_summary": "p",
        "feedback": [{"more": 1}],
    }


def test_a_memory_survives_json() -> None:
    memory = Memory(notes="n", keeps_word_report={"B": 3}, feedback=({"more": 1},))
    assert Memory.from_json(memory.to_json()) == memory
    assert Memory.from_json({"notes": "n"}) == Memory(notes="n")


def test_a_view_has_the_same_text_before_and_after_its_memory_is_stored() -> None:
    drops = [Drop("A", "rule", "mining/not-yours", {"z": 1, "a": {"y": 1, "b": 2}})]
    told = feedback_by_agent(drops, [])["A"]
    memory = Memory(keeps_word_report={"C": 1, "B": 2}, aggressor_report={"C": 1, "B": 2}, feedback=told)
    stored = Memory.from_json(json.loads(canonical(memory.to_json())))
    fields = ("keeps_word_report", "aggressor_report")
    assert json.dumps(stored.as_shown(fields, MEANINGS)) == json.dumps(memory.as_shown(fields, MEANINGS))
