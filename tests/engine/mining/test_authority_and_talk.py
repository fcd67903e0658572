"""Communication and the three authorities."""

import pytest
from pydantic import ValidationError

from hobbes.engine.mining.actions import TALK
from hobbes.engine.mining.view import observe
from hobbes.engine.mining.world import MINING
from hobbes.engine.record import Json
from hobbes.engine.world import make_setting
from tests.engine.mining.plays import NOW, Answer, board, mine, play

RAID = {"raid": [[0, 1]]}


# Communication.


@pytest.mark.parametrize("communication", [False, True])
def test_only_those_who_can_talk_write_messages_and_rate_who_keeps_its_word(*, communication: bool) -> None:
    action = MINING.action(make_setting(MINING, "AB", 1, {"communication": communication}))
    assert {"message", "keeps_word_report"} & action.model_fields.keys() == (TALK if communication else set())
    assert "aggressor_report" in action.model_fields
    said = {"keeps_word_report": {"B": 4}, "aggressor_report": {"B": 9}}
    round_ = play(board("AB.", communication=communication), A=said)
    assert [mend.code for mend in round_.validated["A"].mends] == (
        [] if communication else ["mining/unknown-field"]
    )
    reflection = round_.validated["A"].intent.reflection
    assert reflection.keeps_word_report == ({"B": 4} if communication else {})
    assert reflection.aggressor_report == {"B": 9}


def test_a_message_goes_to_all_and_is_seen_next_round_only() -> None:
    state = board("AB.", communication=True)
    said = play(state, A={"message": "peace?"})
    assert observe(state, "B")["messages"] == []
    assert observe(said.after, "B")["messages"] == [{"from": "A", "text": "peace?"}]
    assert observe(said.after, "A")["messages"] == [{"from": "A", "text": "peace?"}]
    assert observe(play(said.after).after, "B")["messages"] == []
    assert said.events("message") == [{"type": "message", "agent": "A", "text": "peace?"}]


def test_a_message_that_is_no_text_is_dropped_and_an_empty_one_is_none() -> None:
    state = board("AB.", communication=True)
    assert play(state, A={"message": ["peace"]}).drops("A") == ["mining/message/not-text"]
    assert play(state, A={"message": ""}).drops("A") == []


def test_a_private_message_is_read_by_its_receiver_alone() -> None:
    said = play(board("ABC", private_messages=True), A={"message": {"B": "you and I?", "C": ""}})
    assert [observe(said.after, agent)["messages"] for agent in "ABC"] == [
        [],
        [{"from": "A", "text": "you and I?", "to": "B"}],
        [],
    ]
    assert said.events("message") == [{"type": "message", "agent": "A", "to": "B", "text": "you and I?"}]
    assert (
        MINING.state.load(said.after.setting, MINING.state.to_json(said.after)).messages
        == said.after.messages
    )


@pytest.mark.parametrize(
    ("message", "both", "code"),
    [
        ("to all", False, "mining/no-communication"),
        ("to all", True, None),
        ({"B": "hi"}, True, None),
        ({"D": "hi"}, False, "mining/message/unknown-agent"),
        ({"A": "hi"}, False, "mining/message/unknown-agent"),
        ({"B": ["hi"]}, False, "mining/message/not-text"),
        (["hi"], True, "mining/message/not-text"),
    ],
)
def test_private_messages_go_to_others_by_name(message: Json, *, both: bool, code: str | None) -> None:
    state = board("AB.", private_messages=True, communication=both)
    assert play(state, A={"message": message}).drops("A") == ([code] if code else [])
    model = MINING.action(state.setting)
    if code in {None, "mining/message/unknown-agent"}:
        model.model_validate({"message": message})
    else:
        with pytest.raises(ValidationError):
            model.model_validate({"message": message})


# Authority.


def test_a_raid_that_fails_or_fizzles_is_taxed_too() -> None:
    state = board("AB.", authority="raid_tax", raid_tax=2, gold={"A": 9}, immunity=0)
    round_ = play(state, A={"raid": [[0, 1], [0, 2]]}, B={"defend": [[0, 1]]})
    assert round_.gold == {"A": 5, "B": 2}
    assert round_.events("tax") == [
        {"type": "tax", "agent": "A", "plot": [0, 1], "gold": 2, "to": "B"},
        {"type": "tax", "agent": "A", "plot": [0, 2], "gold": 2, "to": None},
    ]


def test_a_tax_takes_at_most_what_the_raider_has_with_what_it_mined_this_round() -> None:
    state = board("AB.", authority="raid_tax", raid_tax=5, gold={"A": 1})
    assert play(state, A={**RAID, "mine": mine((0, 0, 2))}).gold == {"A": 0, "B": 3}


def test_punishment_takes_stamina_of_the_next_round_from_everyone_who_raided() -> None:
    state = board("ABC/ABC", authority="punishment", punishment=4)
    answers: dict[str, Answer] = {
        "A": {"raid": [[0, 1], [1, 1]]},
        "B": {"defend": [[0, 1]]},
        "C": {"mine": mine((0, 2, 3))},
    }
    after = play(state, **answers).after
    assert [after.stamina(agent) for agent in "ABC"] == [6, 10, 10]
    assert play(after).after.stamina("A") == 10


def test_punishment_leaves_no_less_than_no_stamina() -> None:
    after = play(board("AB.", authority="punishment", punishment=99), A=RAID).after
    assert after.stamina("A") == 0
    assert play(after, A=RAID).does("A") == []


def test_adjudication_gives_back_by_a_draw_as_often_as_its_probability() -> None:
    back = sum(
        play(board("AB.", authority="adjudication", adjudication_percent=30, turn=turn), A=RAID).picture
        == "AB."
        for turn in range(NOW, NOW + 400)
    )
    assert 90 <= back <= 150


def test_adjudication_gives_a_plot_claimed_this_round_back_to_its_claimant() -> None:
    state = board("AB.", authority="adjudication", adjudication_percent=100, immunity=0)
    round_ = play(state, A={"raid": [[0, 2]]}, B={"claim": [[0, 2]]})
    assert round_.picture == "ABB"
