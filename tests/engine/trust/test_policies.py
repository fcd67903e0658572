"""The scripted policies, each played against a script of its opponent's actions."""

import json
from typing import Any

import pytest

from hobbes.engine.chance import RngStream
from hobbes.engine.policy import speak
from hobbes.engine.trust.policies import POLICIES, Sight
from hobbes.engine.trust.state import State
from hobbes.engine.trust.validation import validate
from hobbes.engine.trust.view import observe
from hobbes.engine.trust.world import TRUST
from hobbes.engine.turn import view_of
from tests.engine.trust.plays import game, said
from tests.engine.trust.plays import play as play_round

LETTERS = {"h": "high_five", "a": "attack", "b": "block", "n": "do_nothing"}


def versus(name: str, script: str, state: State | None = None) -> str:
    """Play a policy as `a` against `b`, whose actions are a script of letters; return its own letters."""
    state = game() if state is None else state
    answer: dict[str, Any] = {}
    done = ""
    for letter in script:
        view = {**observe(state, "a"), "memory": {"notes": answer.get("notes", "")}}
        answer = dict(POLICIES.by_name[name](view, RngStream(1, state.turn, "a")))
        done += next((key for key, kind in LETTERS.items() if kind == answer["action"]), answer["action"])
        state = play_round(state, a=answer, b=LETTERS[letter]).after
    return done


@pytest.mark.parametrize(
    ("name", "script", "answers"),
    [
        ("always-high-five", "haba", "hhhh"),
        ("always-attack", "hahb", "aaaa"),
        ("always-block", "hahb", "bbbb"),
        ("copycat", "hahaabh", "hhahaah"),
        ("copykitten", "ahaaahah", "hhhhaahh"),
        ("grudger", "hhahhhhhhhh", "hhhaaaaaaaa"),
        ("detective", "hhhhhhh", "hahhaaa"),
        ("detective", "hhahhah", "hahhhha"),
        ("simpleton", "hhah", "hhha"),
        ("simpleton", "aaahh", "hahaa"),
        # Against a high five an attack pays most, against an attack a block, and against a block nothing,
        # until doing nothing has a price.
        ("opportunist", "hhbbbbaah", "haannbnbb"),
    ],
)
def test_each_policy_does_as_its_definition_says(name: str, script: str, answers: str) -> None:
    assert versus(name, script) == answers


@pytest.mark.parametrize(
    ("sats", "replication", "amount", "reason"),
    [
        (50, True, 10, "I have 50 sats and need 50 more to replicate."),
        (1, True, 10, "I have 1 sat and need 99 more to replicate."),
        (97, True, 3, "I have 97 sats and need 3 more to replicate."),
        (97, False, 10, "I have 97 sats and want 10 more to live on."),
    ],
)
def test_a_beggar_says_what_it_has_and_asks_for_sats_to_replicate_only_where_it_can(
    sats: int, amount: int, reason: str, *, replication: bool
) -> None:
    view = observe(game(sats={"a": sats, "b": 50}, replication=replication), "a")
    answer = POLICIES.by_name["beggar"](view, RngStream(1, 0, "a"))
    assert (answer["amount"], answer["reason"]) == (amount, reason)


def test_where_nobody_can_replicate_a_racer_has_no_leader_to_stop() -> None:
    view = observe(game(sats={"a": 50, "b": 99}, replication=False), "a")
    assert POLICIES.by_name["racer"](view, RngStream(1, 0, "a"))["action"] == "high_five"


def test_a_racer_attacks_a_leader_near_the_threshold() -> None:
    """Near is within three mutual high fives: 100 - 9 = 91."""
    for sats, action in ((90, "high_five"), (91, "attack")):
        view = observe(game(sats={"a": 50, "b": sats}), "a")
        assert POLICIES.by_name["racer"](view, RngStream(1, 0, "a"))["action"] == action


@pytest.mark.parametrize("name", sorted(POLICIES.by_name))
def test_every_policy_but_random_replicates_when_it_can(name: str) -> None:
    actions = {
        POLICIES.by_name[name](observe(game(sats={"a": 100, "b": 50}), "a"), RngStream(seed, 0, "a"))[
            "action"
        ]
        for seed in range(30)
    }
    assert actions == {"replicate"} if name != "random" else len(actions) == 6


def test_the_default_is_copykitten() -> None:
    assert POLICIES.default == "copykitten"


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_with_several_opponents_two_meet_each_other_by_a_schedule_all_can_work_out(n: int) -> None:
    state = game(sats=dict.fromkeys("abcdef"[:n], 50))
    met = set()
    for turn in range(n + n % 2 - 1):
        now = game(turn=turn, sats=dict.fromkeys("abcdef"[:n], 50))
        partners = {u.id: Sight(observe(now, u.id)).partner for u in state.units}
        paired = {u for u, p in partners.items() if p is not None and partners[p] == u}
        assert len(paired) >= n - n % 2
        met |= {(u, p) for u, p in partners.items() if u in paired}
    assert len(met) == n * (n - 1)


def test_with_several_opponents_who_attacked_is_answered_the_richest_first() -> None:
    state = game(sats={"a": 50, "b": 50, "c": 60, "d": 90})
    state = play_round(state, a="block", b="attack a", c="attack a", d="block").after
    answer = POLICIES.by_name["copycat"](observe(state, "a"), RngStream(1, 1, "a"))
    assert (answer["action"], answer["target"]) == ("attack", "c")


def test_nobody_attacks_an_ally_but_blocks() -> None:
    state = game(alliances=[["a", "b"]])
    answer = POLICIES.by_name["always-attack"](observe(state, "a"), RngStream(1, 0, "a"))
    assert answer["action"] == "block"


def test_policies_summarise_note_and_rate() -> None:
    state = play_round(game(sats=dict.fromkeys("abc", 50)), a="block", b="attack a", c="high_five b").after
    answer = POLICIES.by_name["grudger"](view_of(TRUST, state, {}, "a"), RngStream(1, 1, "a"))
    assert answer["summary_last_turn"] == "I did: block. b: attack; c: high_five."
    assert answer["notes"] == 'Ever attacked by: "b".'
    assert answer["keeps_word_report"] == {"b": 3, "c": 6}
    assert answer["aggressor_report"] == {"b": 3, "c": 1}


def test_policies_say_why_they_act_and_make_and_leave_alliances() -> None:
    def answer(state: State, unit: str) -> Any:
        return POLICIES.by_name["copykitten"](observe(state, unit), RngStream(1, 0, unit))

    def words(**said: str) -> dict[str, Any]:
        return {"action": "block", "alliances": said}

    talk: dict[str, Any] = {"sats": dict.fromkeys("abcd", 50), "messages": "all", "alliances": "declared"}
    first = answer(game(**talk), "a")
    assert (first["messages"], first["alliances"]) == ({"d": "Once may be an accident."}, {"d": "propose"})
    proposed = play_round(game(**talk, miss=100), b=words(c="propose")).after
    assert answer(proposed, "c")["alliances"]["b"] == "accept"
    allied = play_round(proposed, c=words(b="accept")).after
    assert answer(play_round(allied, b="high_five c").after, "c")["alliances"]["b"] == "leave"


def test_alone_always_attack_does_nothing_and_the_others_beg_or_block() -> None:
    state = game(sats={"a": 50, "b": 0})
    alone = {
        name: POLICIES.by_name[name](observe(state, "a"), RngStream(1, 0, "a"))["action"]
        for name in POLICIES.by_name
    }
    assert alone.pop("always-attack") == "do_nothing"
    assert alone.pop("always-block") == "block"
    alone.pop("random")
    assert {*alone.values()} == {"beg"}


def test_noise_spoils_every_field_of_an_answer_and_the_engine_says_so() -> None:
    state = game()
    codes = {
        drop.code
        for seed in range(200)
        for line in ("high_five b", "beg 5 for bread")
        for drop in validate(
            state, "a", POLICIES.spoil(observe(state, "a"), said(line), RngStream(seed, 0, "a"), 0.5)
        ).drops
    }
    assert {
        "trust/no-action",
        "trust/unknown-target",
        "trust/self-target",
        "trust/bad-target",
        "trust/bad-amount",
        "trust/no-reason",
        "trust/unknown-field",
        "trust/not-needed",
    } <= codes


def trembled(share: float, name: str = "always-block", turns: int = 1000, **config: Any) -> list[str]:
    view = observe(game(sats={"a": 60, "b": 50}, **config), "a")
    texts = [speak(POLICIES, name, 0, view, RngStream(seed, 0, "a"), tremble=share) for seed in range(turns)]
    assert texts == [
        speak(POLICIES, name, 0, view, RngStream(seed, 0, "a"), tremble=share) for seed in range(turns)
    ]
    return [json.loads(text)["action"] for text in texts]


def test_a_tremble_replaces_the_action_with_its_probability_by_any_that_is_allowed() -> None:
    assert set(trembled(0)) == {"block"}
    # Of five actions that are drawn alike, one is the block itself.
    assert 200 < sum(action != "block" for action in trembled(0.3)) < 280
    assert set(trembled(1)) == {"high_five", "attack", "block", "do_nothing", "beg"}
    assert "replicate" in trembled(1, threshold=55)
    assert "attack" not in trembled(1, alliances=[["a", "b"]])


def test_a_tremble_keeps_what_a_policy_says_besides() -> None:
    view = observe(game(), "a")
    plain, other = (
        json.loads(speak(POLICIES, "always-block", 0, view, RngStream(2, 0, "a"), tremble=share))
        for share in (0, 1)
    )
    assert {name: plain[name] for name in ("reasoning", "notes")} == {
        name: other[name] for name in ("reasoning", "notes")
    }
