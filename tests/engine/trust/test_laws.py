"""Laws that hold whatever agents say and whatever state the game is in."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hobbes.engine.chance import RngStream
from hobbes.engine.policy import speak
from hobbes.engine.trust.actions import KINDS, WORDS
from hobbes.engine.trust.rules import resolve
from hobbes.engine.trust.rulings import is_scripted, read_answer, requests, scripted_rulings, with_rulings
from hobbes.engine.trust.state import State, TrustConfig, actors
from hobbes.engine.trust.validation import validate
from hobbes.engine.trust.view import observe, shows_budget
from hobbes.engine.trust.world import TRUST
from hobbes.engine.turn import view_of
from hobbes.engine.world import Resolved, make_setting
from tests.engine.trust.plays import match
from tests.soak import examples


def asking_a_person(state: State) -> State:
    """Return the same state with a person as observer."""
    config = state.config.model_copy(update={"observer": "human"})
    return replace(state, setting=replace(state.setting, config=config))


LAWS = settings(deadline=None, derandomize=True, max_examples=examples(30, 2_000))
AGENTS = "abcd"

junk: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
targets = st.sampled_from([*AGENTS, "a-2", "x"])
answers = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {"action": st.sampled_from(KINDS)},
        optional={"target": targets, "amount": st.integers(-1, 30), "reason": st.sampled_from(["bread", ""])},
    ),
    st.fixed_dictionaries(
        {"action": st.one_of(st.sampled_from(KINDS), junk)},
        optional={
            **dict.fromkeys(("target", "amount", "reason", "memory", "aggressor_report", "x"), junk),
            "messages": st.one_of(junk, st.dictionaries(targets, st.one_of(junk, st.text(max_size=8)))),
            "alliances": st.one_of(
                junk, st.dictionaries(targets, st.sampled_from([*WORDS, "Leave", "marry", None]))
            ),
        },
    ),
    st.dictionaries(st.text(max_size=8), junk, max_size=3),
)
configs: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "miss": st.sampled_from([0, 50, 100]),
        "fumble": st.sampled_from([0, 50]),
        "victory": st.sampled_from(["race", "team"]),
        "observer": st.sampled_from(["never", "always", "sparing(9,1)", "reading(9)", "human"]),
        "shock": st.sampled_from([0, 100]),
        "shock_sats": st.integers(0, 7),
        "window": st.integers(1, 3),
        "alliances": st.sampled_from([[], [["a", "b"]], "declared"]),
        "alliances_known": st.booleans(),
        "allies_win": st.booleans(),
        "messages": st.sampled_from(["off", "all", "private"]),
        "gifts": st.sampled_from(["allies", "all"]),
        "requests_known": st.booleans(),
        "misread": st.sampled_from([0, 100]),
        "replication": st.booleans(),
        "observer_budget_known": st.booleans(),
        "replicate_cost": st.sampled_from([30, 50, 99]),
    },
)


@st.composite
def states(draw: st.DrawFn) -> State:
    """Draw a state from outside: some units are dead, some rich, some new."""
    agents = AGENTS[: draw(st.integers(2, 4))]
    setting = make_setting(TRUST, list(agents), draw(st.integers(0, 99)), draw(configs))
    units: list[dict[str, Any]] = []
    for unit in [*agents, *draw(st.sampled_from([[], ["a-2"]]))]:
        sats = draw(st.one_of(st.integers(-3, 9), st.integers(10, 130)))
        units.append(
            {"id": unit, "team": unit[0], "sats": sats, "alive": sats > 0, "idle": draw(st.integers(0, 3))}
        )
    data: dict[str, Any] = {"turn": draw(st.integers(0, 29)), "units": units, "winner": None}
    return TRUST.state.load(setting, data)


@st.composite
def turns(draw: st.DrawFn) -> tuple[State, dict[str, Any]]:
    state = draw(states())
    return state, {unit: draw(answers) for unit in actors(state)}


def resolved(state: State, said: dict[str, Any]) -> Resolved[State]:
    return resolve(state, {unit: validate(state, unit, answer).intent for unit, answer in said.items()})


@settings(LAWS, max_examples=examples(50, 3_000))
@given(turns())
def test_sats_are_the_sum_of_effects_and_only_sources_and_sinks_change_the_total(
    turn: tuple[State, dict[str, Any]],
) -> None:
    state, said = turn
    after = resolved(state, said).state
    effects = after.history[-1].effects
    for unit in after.units:
        before = state.units_by_id[unit.id].sats if unit.id in state.units_by_id else 0
        assert unit.sats == before + sum(e.sats for e in effects if e.unit == unit.id)
        assert unit.alive == (unit.sats > 0) or (
            unit.id in state.units_by_id and not state.units_by_id[unit.id].alive
        )
    between = {"attack", "attacked", "sent", "received"}
    assert sum(e.sats for e in effects if e.cause in between) == 0
    total = sum(u.sats for u in after.units) - sum(u.sats for u in state.units)
    assert total == sum(e.sats for e in effects if e.cause not in between)
    acted = {*actors(state), *(u.id for u in after.units if u.id not in state.units_by_id)}
    assert {e.unit for e in effects} <= acted


@LAWS
@given(turns())
def test_every_answer_is_chosen_or_has_a_drop_and_every_record_is_plain_json(
    turn: tuple[State, dict[str, Any]],
) -> None:
    state, said = turn
    for unit, answer in said.items():
        found = validate(state, unit, answer)
        assert found.intent.chosen or answer is None or found.drops
        store = [drop.to_json() for drop in found.drops] + [mend.to_json() for mend in found.mends]
        json.dumps(store, allow_nan=False)
        written = TRUST.intent.to_json(found.intent)
        assert TRUST.intent.from_json(json.loads(json.dumps(written))) == found.intent


def hide(data: Any, viewer: str, config: TrustConfig) -> None:
    """Change everything in a state that is private to others than the viewer."""
    for deed in data["history"][-1]["deeds"]:
        if deed["unit"] != viewer:
            unseen: dict[str, Any] = {"target": "elsewhere"} if deed["did"] == "do_nothing" else {}
            unseen |= {} if deed["target"] == viewer else {"misread": not deed["misread"]}
            hidden = {"meant": "high_five", "chosen": not deed["chosen"], "failed": not deed["failed"]}
            deed.update({**hidden, **unseen})
    for unit in data["units"]:
        if unit["id"] != viewer:
            unit.update({"idle": 7, "begged": 7, "high_fived": [0]})
            unit.update({} if shows_budget(config) else {"granted": 7})
    for unit in data["rulings"]:
        if unit != viewer:
            request = {} if config.requests_known else {"asked": 1, "request": "secret"}
            data["rulings"][unit] |= {"granted": 0, "reason": "secret"} | request
    for one in data["messages"]:
        if config.messages == "private" and one["to"] not in (None, viewer):
            one["text"] = "secret"


@LAWS
@given(turns())
def test_no_view_shows_what_another_meant_asked_was_told_or_has_been_through(
    turn: tuple[State, dict[str, Any]],
) -> None:
    """Change everything in the state that is private to other units: the view stays the same."""
    state, said = turn
    after = resolved(state, said).state
    for viewer in after.units_by_id:
        data = TRUST.state.to_json(after)
        hide(data, viewer, after.config)
        view = observe(after, viewer)
        assert observe(TRUST.state.load(after.setting, data), viewer) == view
        assert json.loads(json.dumps(view)) == view


@LAWS
@given(turns(), junk)
def test_no_ruling_raises_and_none_grants_more_than_was_asked(
    turn: tuple[State, dict[str, Any]], ruling: Any
) -> None:
    state, said = turn
    intents = {unit: validate(state, unit, answer).intent for unit, answer in said.items()}
    asked = requests(state, intents)
    rulings: list[Any] = [None, {"rulings": ruling}, {"rulings": {r["unit"]: ruling for r in asked}}]
    for answer in rulings:
        ruled = read_answer(asked, answer)
        assert set(ruled.rulings) == {r["unit"] for r in asked}
        assert all(0 <= r.granted <= r.asked for r in ruled.rulings.values())
        after = resolve(asking_a_person(state), with_rulings(intents, ruled.rulings)).state
        assert after.rulings == ruled.rulings


@LAWS
@given(turns())
def test_a_scripted_observer_decides_the_same_beside_the_engine_and_in_it(
    turn: tuple[State, dict[str, Any]],
) -> None:
    state, said = turn
    assume(is_scripted(state.config.observer))
    intents = {unit: validate(state, unit, answer).intent for unit, answer in said.items()}
    beside = scripted_rulings(state, requests(state, intents)).rulings
    alone = resolve(state, intents).state
    assert alone.rulings == beside
    assert TRUST.state.to_json(resolve(state, with_rulings(intents, beside)).state) == TRUST.state.to_json(
        alone
    )


@LAWS
@given(states(), st.sampled_from(sorted(TRUST.policies.by_name)), st.sampled_from([0.0, 0.5, 1.0]))
def test_no_policy_ever_says_what_is_refused(state: State, name: str, share: float) -> None:
    for unit in actors(state):
        view, rng = view_of(TRUST, state, {}, unit), RngStream(1, state.turn, unit)
        answer = json.loads(speak(TRUST.policies, name, 0, view, rng, tremble=share))
        found = validate(state, unit, answer)
        assert not found.drops + found.mends


GAMES = examples(75, 20_000)
"""Games of self-play: the outcomes that docs/rules/trust.md#expected-outcomes states."""

ERROR = 0.01 if GAMES == 20_000 else 0.04


@pytest.mark.parametrize(
    ("name", "share"), [("always-high-five", 0.95), ("copykitten", 0.80), ("copycat", 0.0)]
)
def test_how_often_somebody_replicates_in_self_play(name: str, share: float) -> None:
    """30 rounds, 15% miss."""
    ended = [match(name, name, seed)[-1] for seed in range(GAMES)]
    replicated = sum(state.winner is not None or state.drawn for state in ended)
    assert replicated / GAMES == pytest.approx(share, abs=ERROR)


def test_a_pair_that_means_to_high_five_gains_about_1_91_a_round_each() -> None:
    """Both hit (0.85 x 0.85): +3. One misses (0.85 x 0.15 each way): -6 and +4. Both miss: 0.

    0.7225 x 3 + 0.1275 x (-6) + 0.1275 x 4 = 1.9125.
    """
    rounds = max(GAMES, 2_000)
    ended = (match("always-high-five", "always-high-five", seed, rounds=1)[-1] for seed in range(rounds))
    gained = sum(unit.sats - 50 for state in ended for unit in state.units) / (2 * rounds)
    assert gained == pytest.approx(1.9125, abs=0.05)
