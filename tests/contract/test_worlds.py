"""The contract of `engine.world`, for every world: each test is a law that no world may break.

The games are those of `tests.contract.games`, where a world is added.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice, pairwise, product
from typing import Any, get_args

import pytest

from hobbes.engine import reflection
from hobbes.engine import turn as turns
from hobbes.engine.answer import FAILURE_CODES, READING_CODES, ParsedAnswer
from hobbes.engine.chance import RngStream, chance
from hobbes.engine.contract import check
from hobbes.engine.digest import first_digest
from hobbes.engine.measures import PlayedTurn, work_out
from hobbes.engine.memory import Memory
from hobbes.engine.policy import speak
from hobbes.engine.record import MESSAGE, Draw, Event, canonical
from hobbes.engine.reflection import MAX_RATING, MIN_RATING
from hobbes.engine.telling import AGENT, Telling, in_plain_words
from hobbes.engine.turn import Judged, TurnRecord
from hobbes.engine.world import (
    OBSERVER,
    VIEW_KEYS,
    AnyWorld,
    Percent,
    Ruled,
    Validated,
    make_setting,
)
from hobbes.nodes.turn_state import memories_from
from hobbes.show.boards import svg
from hobbes.worlds import WORLDS
from tests.arithmetic import comes_out
from tests.conftest import ROOT
from tests.contract.games import (
    ALL_WORLDS,
    CASES,
    Case,
    Moment,
    game,
    games,
    heard,
    said,
    settled,
    start,
)
from tests.contract.private import others, places
from tests.corpus import STRANGE, corpus, scene

each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_world = pytest.mark.parametrize("world", ALL_WORLDS, ids=lambda world: world.name)

pytestmark = pytest.mark.usefixtures("with_fishery")

READ_CODES = {*READING_CODES, *FAILURE_CODES, *reflection.CODES}
HOSTILE = 250
"""Hostile answers in each world; tests/nodes/test_fuzz.py and the soak try many more."""
NOT_DONE_TO_OTHERS = {MESSAGE, "replicate", "ally"}
"""Types of events that name another one to whom they did nothing: a new unit, or who agreed to it."""
OTHER_DEEDS = 6
"""How often a turn is played again with other deeds."""


# What the laws are about, as JSON.


def reloaded(world: AnyWorld, state: Any) -> Any:
    """Return a state that went to text and back."""
    return world.state.load(
        state.setting, json.loads(json.dumps(world.state.to_json(state), allow_nan=False))
    )


def copied(told: Any) -> Any:
    """Return a copy of JSON. `deepcopy` takes ten times as long."""
    return json.loads(json.dumps(told))


def intents_told(world: AnyWorld, intents: Mapping[str, Any]) -> dict[str, Any]:
    return {agent: world.intent.to_json(intent) for agent, intent in intents.items()}


def given(world: AnyWorld, moment: Moment, answers: Mapping[str, ParsedAnswer]) -> str:
    """Return all that a turn starts from."""
    return canonical(
        {
            "state": world.state.to_json(moment.state),
            "setting": [moment.state.config.model_dump(mode="json"), moment.state.setting.agents],
            "answers": {agent: answer.to_json() for agent, answer in answers.items()},
            "memories": {agent: memory.to_json() for agent, memory in moment.memories.items()},
            "intents": intents_told(world, moment.played.judged.intents),
        }
    )


def functions_of(world: AnyWorld, state: Any, moment: Moment, answers: Mapping[str, ParsedAnswer]) -> str:
    """Return what every function of the contract gives in a moment."""
    judged = {agent: world.validate(state, agent, answer.said) for agent, answer in answers.items()}
    intents = moment.played.judged.intents
    resolved = world.resolve(state, intents)
    ruled = world.observer.rule(state, intents, ruling_of(moment)) if world.observer else Ruled(intents)
    played = moment.played.played._replace(before=state, after=resolved.state)
    return canonical(
        {
            "actors": world.actors(state),
            "owners": [world.owner(state, agent) for agent in world.actors(state)],
            "views": {agent: world.observe(state, agent) for agent in world.actors(state)},
            "intents": intents_told(world, {agent: one.intent for agent, one in judged.items()}),
            "found": [
                [one.to_json() for one in (*each.drops, *each.mends)] for each in (*judged.values(), ruled)
            ],
            "ruled": intents_told(world, ruled.intents),
            "state": world.state.to_json(resolved.state),
            "events": turns.as_list(resolved.events),
            "draws": turns.as_list(resolved.draws),
            "ledgers": resolved.ledgers,
            "mends": turns.as_list(resolved.mends),
            "over": world.over(state),
            "scores": world.scores(state),
            "picture": world.picture.rows(state),
            "board": asdict(world.picture.board_of(played)),
            "arithmetic": world.measures.arithmetic(played),
            "measures": [
                [one.name, one.scope, one.value] for one in work_out(world.measures, [played]).measures
            ],
        }
    )


def intents_of(moment: Moment) -> Mapping[str, Any]:
    return moment.played.judged.intents


def ruling_of(moment: Moment) -> Any:
    return None if moment.ruling is None else moment.ruling.said


# Pure, without changing anything, and the same after JSON.


@each_case
def test_every_function_gives_the_same_again_and_after_json_and_changes_nothing(case: Case) -> None:
    world = case.world
    for moment in game(case):
        answers = moment.answers
        before = given(world, moment, answers)
        once = functions_of(world, moment.state, moment, answers)
        assert functions_of(world, moment.state, moment, answers) == once
        assert functions_of(world, reloaded(world, moment.state), moment, answers) == once
        assert given(world, moment, answers) == before


@each_case
def test_each_turn_has_a_board_whose_shapes_fit_together(case: Case) -> None:
    """Agents own what is theirs, arrows lead to places, signs are explained, and all is said in words."""
    for moment in game(case):
        board = case.world.picture.board_of(moment.played.played)
        places = {place.name: place for place in board.places}
        assert len(places) == len(board.places) > 0
        assert f"turn {moment.state.turn}" in board.title
        assert board.agents == case.setting.agents
        kinds = {kind.name for kind in board.kinds}
        assert {badge.kind for place in board.places for badge in place.badges} <= kinds
        assert {arrow.kind for arrow in board.arrows} <= kinds
        assert {line.kind for line in board.lines} <= {*kinds, ""}
        owners = {place.owner for place in board.places} | {place.was for place in board.places}
        owners |= {arrow.owner for arrow in board.arrows} | {bar.owner for bar in board.bars}
        assert owners <= {*board.agents, None}
        for arrow in board.arrows:
            assert arrow.target in places
            assert arrow.source is None or arrow.source in places
        assert all({line.one, line.other} <= set(places) for line in board.lines)
        assert all(place.words for place in board.places)
        assert all(arrow.words for arrow in board.arrows)
        assert all(line.words for line in board.lines if line.kind)
        for place in board.places:
            assert 0 <= place.x <= board.width
            assert 0 <= place.y <= board.height
        assert svg(board) == svg(case.world.picture.board_of(moment.played.played))


def in_words(telling: Telling[Any], event: Event) -> str:
    """Return what an event is told as alone; empty if it is left out."""
    return telling.deeds.get(event.type, in_plain_words)([event])


@each_world
def test_a_world_that_is_told_in_words_has_words_for_everything(world: AnyWorld) -> None:
    """Every type of event, every view and every intent is told, and no value of JSON shows in the words."""
    telling = world.telling
    assert not telling.deeds or telling.deeds.keys() == world.telling.events.keys() - {MESSAGE}
    for _, played in games(world):
        for moment in played:
            before, intents, _, events, _ = moment.played.played
            for agent in dict.fromkeys(event.agent for event in events):
                of_agent = [event for event in events if event.agent == agent]
                told = world.telling.deeds_told(of_agent, events)
                done = [event for event in of_agent if event.type != MESSAGE and in_words(telling, event)]
                assert sorted(map(str, done)) == sorted(str(one) for deed in told for one in deed.events)
                assert_words(telling.deeds, [deed.words for deed in told])
            for agent in world.actors(before):
                knew = telling.knew(world.observe(before, agent))
                assert_words(telling.deeds, [*knew.gained, *(one.words for one in knew.befell or ())])
                assert all(one.author != agent for one in knew.heard)
                if telling.deeds:
                    assert telling.meant(intents[agent])
                    assert knew.standing is not None


@each_world
def test_what_others_did_to_an_agent_is_told_in_its_next_turn(world: AnyWorld) -> None:
    """A card that says that nothing was done to its agent is right."""
    if not world.telling.deeds:
        assert world.telling.knew({}).befell is None
        return
    for _, played in games(world):
        for last, moment in pairwise(played):
            done = [event for event in last.played.resolved.events if event.type not in NOT_DONE_TO_OTHERS]
            for agent in world.actors(moment.state):
                befell = world.telling.knew(world.observe(moment.state, agent)).befell
                assert befell is not None
                assert befell or not any(
                    agent in event.facts.values() for event in done if event.agent != agent
                )


def assert_words(deeds: Mapping[str, object], told: Sequence[str]) -> None:
    """Words are not empty; in a world that has words of its own, nothing in them is a value of JSON."""
    for words in told:
        without_quotations = re.sub("“[^”]*”", "", words)
        assert words.strip()
        assert not deeds or not re.search(r"\b(None|True|False)\b|[{}_]|\[\]", without_quotations), words


def test_an_event_of_another_version_is_told_by_its_names_and_values() -> None:
    old = Event("attack", "A", {"target": "B", "strength": 3})
    assert [one.words for one in WORLDS["nations"].telling.deeds_told([old], [old])] == [
        "attack target B, strength 3"
    ]


@each_case
def test_what_a_turn_is_made_of_is_the_same_after_json(case: Case) -> None:
    world = case.world
    for moment in game(case):
        judged, record = moment.played.judged, moment.played.record
        forms: list[tuple[Any, Callable[[Any], Any]]] = [
            (world.state.to_json(moment.state), lambda told: world.state.to_json(loaded(case, told))),
            (judged.to_json(), lambda told: Judged.from_json(world, told).to_json()),
            (record.to_json(), lambda told: TurnRecord.from_json(told).to_json()),
            *((answer.to_json(), _parsed_again) for answer in moment.answers.values()),
            *((memory.to_json(), _remembered_again) for memory in moment.played.memories.values()),
            *((event.to_json(), lambda told: Event.from_json(told).to_json()) for event in record.events),
            *((draw.to_json(), lambda told: Draw.from_json(told).to_json()) for draw in record.draws),
        ]
        for told, again in forms:
            text = json.dumps(told, allow_nan=False)
            assert json.loads(text) == told  # plain JSON: no tuple, no number as a key
            assert json.dumps(again(json.loads(text))) == text


def loaded(case: Case, told: Any) -> Any:
    return case.world.state.load(case.setting, told)


def _parsed_again(told: Any) -> Any:
    return ParsedAnswer.from_json(told).to_json()


def _remembered_again(told: Any) -> Any:
    assert Memory.from_json(told) == memories_from({"A": told})["A"]
    return Memory.from_json(told).to_json()


@each_case
def test_a_game_goes_on_from_json_as_if_it_had_never_left(case: Case) -> None:
    world = case.world
    state, memories = start(world, case.setting), dict[str, Memory]()
    for moment in game(case):
        state = reloaded(world, state)
        memories = memories_from({agent: memory.to_json() for agent, memory in memories.items()})
        answers = {agent: ParsedAnswer.from_json(one.to_json()) for agent, one in moment.answers.items()}
        judged = turns.rule(world, state, turns.judge(world, state, answers), moment.ruling)
        judged = Judged.from_json(world, json.loads(json.dumps(judged.to_json())))
        played = turns.resolve(world, state, memories, judged)
        assert played.record.text == moment.played.record.text
        state, memories = played.resolved.state, dict(played.memories)
    assert world.over(state)


# Order does not matter.


def backwards(entries: Mapping[str, Any]) -> dict[str, Any]:
    return {name: entries[name] for name in reversed(list(entries))}


@each_case
def test_the_order_in_which_answers_arrive_does_not_matter(case: Case) -> None:
    world = case.world
    for moment in game(case):
        answers, memories = backwards(moment.answers), backwards(moment.memories)
        played = turns.play_turn(world, moment.state, memories, answers, moment.ruling)
        assert played.record.text == moment.played.record.text


@each_case
def test_the_order_of_intents_does_not_matter(case: Case) -> None:
    world = case.world
    for moment in game(case):
        one = moment.played.resolved
        other = world.resolve(moment.state, backwards(moment.played.judged.intents))
        assert (other.events, other.draws, other.mends) == (one.events, one.draws, one.mends)
        assert world.state.to_json(other.state) == world.state.to_json(one.state)
        assert canonical(other.ledgers) == canonical(one.ledgers)


@each_case
def test_the_order_in_which_agents_are_named_does_not_matter(case: Case) -> None:
    world, setting = case.world, case.setting
    values = {"rounds": setting.config.rounds, **case.values}
    other = make_setting(world, setting.agents[::-1], setting.seed, values)
    assert other == setting
    assert first_digest(world, other) == first_digest(world, setting)


# Random draws are keyed by name.


@each_case
def test_a_draw_is_decided_by_its_name_and_by_nothing_else(case: Case) -> None:
    world, seed = case.world, case.setting.seed
    for moment in game(case):
        intents = moment.played.judged.intents
        first = next(iter(intents))
        variants = [
            intents,
            {},
            *({a: i for a, i in intents.items() if a != agent} for agent in intents),
            *({**intents, agent: intents[first]} for agent in intents),
        ]
        digests: dict[str, str] = {}
        for variant in variants:
            draws = world.resolve(moment.state, variant).draws
            names = [canonical([draw.subject, draw.event]) for draw in draws]
            assert len(set(names)) == len(names)
            for name, draw in zip(names, draws, strict=True):
                assert draw.digest == chance(seed, moment.state.turn, draw.subject, draw.event)
                assert digests.setdefault(name, draw.digest) == draw.digest
                assert list(draw.participants) == sorted(draw.participants)
                assert draw.winner == draw.participants[int(draw.digest, 16) % len(draw.participants)] or (
                    draw.participants == ("no", "yes") and draw.winner in draw.participants
                )


# What is declared, and nothing else, happens.


def codes_of(found: Validated[Any] | Ruled[Any] | TurnRecord) -> set[str]:
    return {drop.code for drop in found.drops} | {mend.code for mend in found.mends}


def own_codes(world: AnyWorld, moment: Moment) -> Iterable[tuple[str, str]]:
    """Yield code and stage of each rejection and correction that the rules made in a moment."""
    found: list[Validated[Any] | Ruled[Any]] = [
        world.validate(moment.state, agent, answer.said) for agent, answer in moment.answers.items()
    ]
    if world.observer is not None:
        found.append(world.observer.rule(moment.state, intents_of(moment), ruling_of(moment)))
    for one in found:
        yield from ((drop.code, drop.stage) for drop in one.drops)
        yield from ((mend.code, mend.stage) for mend in one.mends)
    yield from ((mend.code, mend.stage) for mend in moment.played.resolved.mends)


@each_world
def test_every_code_that_occurs_is_declared_and_has_one_stage(world: AnyWorld) -> None:
    stages: dict[str, str] = {}
    for _, played in games(world):
        for moment in played:
            for code, stage in own_codes(world, moment):
                assert code in {*reflection.CODES, *world.telling.codes}
                assert stages.setdefault(code, stage) == stage
            record = moment.played.record
            assert codes_of(record) <= READ_CODES | {*world.telling.codes}
    assert stages
    assert READ_CODES.isdisjoint(world.telling.codes)
    assert all(meaning.strip() for meaning in world.telling.codes.values())


@pytest.mark.parametrize("world", WORLDS.values(), ids=lambda world: world.name)
def test_just_the_declared_acts_occur_and_one_on_somebody_stands_beside_the_act_itself(
    world: AnyWorld,
) -> None:
    found = set()
    for _, played in games(world):
        for moment in played:
            agents = {*moment.state.setting.agents, *world.actors(moment.state)}
            for intent in intents_of(moment).values():
                acts = world.telling.acts(intent)
                assert len(set(acts)) == len(acts)
                for act in acts:
                    whole, _, by = act.rpartition(" ")
                    assert by not in agents or whole in acts
                    found.add(f"{whole} {AGENT}" if by in agents else act)
    assert found == {*world.telling.act_names}


@each_world
def test_every_declared_type_of_event_occurs_with_the_fields_that_it_declares(world: AnyWorld) -> None:
    fields = {type_: told.partition(":")[0].split(", ") for type_, told in world.telling.events.items()}
    seen: set[str] = set()
    for case, played in games(world):
        for moment in played:
            for event in moment.played.record.events:
                to_all = event.type == MESSAGE and "to" not in event.facts
                declared = [name for name in fields[event.type] if name != "to" or not to_all]
                assert list(event.facts) == declared
                assert event.agent in {*world.actors(moment.state), *case.setting.agents}
                seen.add(event.type)
    assert seen == {*world.telling.events}, (
        "add settings to tests.contract.games.EXTRA in which the others happen"
    )
    assert MESSAGE not in fields or {"text", *fields[MESSAGE]} <= {"to", "text"}


# What agents see.


@each_case
def test_a_view_names_its_world_turn_and_agent_and_is_plain_json(case: Case) -> None:
    world = case.world
    for moment in game(case):
        for agent, view in turns.views(world, moment.state, moment.memories).items():
            named = {"world": world.name, "turn": moment.state.turn, world.viewer_key: agent}
            assert {name: view[name] for name in (*VIEW_KEYS, world.viewer_key)} == named
            assert json.loads(json.dumps(view, allow_nan=False)) == view
        question = turns.question_of(world, moment.state, moment.played.judged.intents)
        assert question is None or question[world.viewer_key] == OBSERVER


@each_case
def test_a_policy_answers_a_view_as_it_answers_its_text_and_does_not_change_it(case: Case) -> None:
    for moment in game(case):
        for agent, view in turns.views(case.world, moment.state, moment.memories).items():
            text = canonical(view)
            assert said(case, moment.state, agent, json.loads(text)) == moment.texts[agent]
            assert said(case, moment.state, agent, view) == moment.texts[agent]
            assert canonical(view) == text


@each_case
def test_an_agent_reads_no_memory_but_its_own(case: Case) -> None:
    world, memory = case.world, Memory("my notes", "my summary", "my history", {"x": 1}, {"y": 2})
    state = game(case)[-1].state
    for agent in world.actors(state):
        others_remember = {other: memory for other in world.actors(state) if other != agent}
        assert turns.view_of(world, state, others_remember, agent) == turns.view_of(world, state, {}, agent)


@each_world
def test_no_view_depends_on_a_private_part_of_another_agent(world: AnyWorld) -> None:
    tried: set[str] = set()
    told_to_its_owner: set[str] = set()
    paths: set[str] = set()
    for case, _ in games(world):
        private = world.private(case.setting.config)
        paths |= {*private}
        for path in private:
            for agent, views, changed in without_interference(case, path):
                tried.add(path)
                after = {other: canonical(world.observe(changed, other)) for other in views}
                told_to_its_owner |= {path} if agent in views and after[agent] != views[agent] else set()
                after[agent] = views[agent]
                assert after == views, f"{path} of {agent} is seen by another"
    assert tried == paths, "the games must lead to a state with each private part"
    assert told_to_its_owner or not paths


def without_interference(case: Case, path: str) -> Iterable[tuple[str, dict[str, str], Any]]:
    """Yield agents of every second moment, the views of all, and the state with another private part."""
    world, states = case.world, [moment.state for moment in game(case)[::2]]
    told = [world.state.to_json(state) for state in states]
    agents = {agent for state in states for agent in world.actors(state)}
    seen = [copied(at[key]) for data in told for agent in agents for at, key in places(data, path, agent)]
    for state, data in zip(states, told, strict=True):
        views = {agent: canonical(world.observe(state, agent)) for agent in world.actors(state)}
        for agent in views:
            changed = next(changed_states(case, data, path, agent, seen), None)
            if places(data, path, agent):
                assert changed is not None, f"no other value of {path} makes a state"
                yield agent, views, changed


def changed_states(case: Case, data: Any, path: str, agent: str, seen: list[Any]) -> Iterator[Any]:
    """Yield the states in which an agent's private part has another value."""
    for place in range(len(places(data, path, agent))):
        at, key = places(data, path, agent)[place]
        for value in others(at[key], seen):
            changed = copied(data)
            at, key = places(changed, path, agent)[place]
            at[key] = value
            try:
                state = case.world.state.load(case.setting, changed)
            except ValueError:  # no state of the world: another value is tried
                continue
            if case.world.state.to_json(state) != data:
                yield state


@each_world
def test_deeds_of_which_an_agent_may_know_nothing_leave_its_view_as_it_is(world: AnyWorld) -> None:
    hidden = 0
    for case, played in games(world):
        for moment in played[::3]:
            for agent in moment.answers:
                seen: dict[str, str] = {}
                for turn in (moment.played, *with_other_deeds(case, moment, agent)):
                    view = canonical(turns.view_of(world, turn.resolved.state, turn.memories, agent))
                    known = may_know(case, turn, agent)
                    hidden += known in seen
                    assert seen.setdefault(known, view) == view
    assert hidden


def with_other_deeds(case: Case, moment: Moment, agent: str) -> Iterator["turns.Turn[Any, Any]"]:
    """Yield a turn in which the agent does the same and one or more others do something else.

    The others say what somebody said at some time in the game.
    """
    world, intents = case.world, intents_of(moment)
    said = [*{canonical(one.said): one.said for each in game(case) for one in each.answers.values()}.values()]
    others = [other for other in intents if other != agent]
    for k in range(1, OTHER_DEEDS + 1):
        changed = {
            other: world.validate(moment.state, other, said[k * (j + 1) % len(said)]).intent
            for j, other in enumerate(others)
            if k >> j & 1
        }
        judged = replace(moment.played.judged, intents={**intents, **changed})
        yield turns.resolve(world, moment.state, moment.memories, judged)


def may_know(case: Case, played: "turns.Turn[Any, Any]", agent: str) -> str:
    """Return what an agent may know after a turn: what is public, events that name it, and its score."""
    world, state = case.world, played.resolved.state
    public = copied(world.state.to_json(state))
    for path, one in product(world.private(case.setting.config), world.actors(played.before)):
        for at, key in places(public, path, one):
            at[key] = None
    events = [canonical(event.to_json()) for event in played.resolved.events]
    own = [event for event in events if f'"{agent}"' in event]
    return canonical([public, own, world.scores(state)[world.owner(played.before, agent)]])


# The end, the score, the figures.


@each_case
def test_a_game_begins_at_turn_0_goes_on_by_one_and_ends_within_its_rounds(case: Case) -> None:
    world, setting = case.world, case.setting
    first = start(world, setting)
    assert (first.turn, world.over(first)) == (0, False)
    assert world.actors(first) == setting.agents
    for number, moment in enumerate(game(case)):
        after = moment.played.resolved.state
        assert (moment.state.turn, after.turn) == (number, number + 1)
        assert {world.owner(moment.state, agent) for agent in world.actors(moment.state)} <= {*setting.agents}
        assert world.over(after) or (after.turn < setting.config.rounds and world.actors(after))
        if world.over(after) and world.ending is None:
            assert after.turn == setting.config.rounds
        told = {**world.state.to_json(after), "turn": setting.config.rounds}
        assert world.over(loaded(case, told))


@each_case
def test_scores_and_pictures_are_what_the_contract_says(case: Case) -> None:
    world = case.world
    for moment in game(case):
        scores = world.scores(moment.played.resolved.state)
        assert [*sorted(scores)] == [*case.setting.agents]
        assert {type(score) for score in scores.values()} == {int}
        picture = world.picture.rows(moment.played.resolved.state)
        assert picture
        assert {type(word) for row in picture for word in row} == {str}


@each_case
def test_an_agents_arithmetic_comes_out(case: Case) -> None:
    world = case.world
    for moment in game(case):
        told = world.measures.arithmetic(moment.played.played)
        assert told.keys() <= {*world.actors(moment.played.resolved.state), *world.actors(moment.state)} | {
            *case.setting.agents
        }
        assert all(comes_out(text) for figures in told.values() for text in figures.values())


@each_case
def test_measures_are_figures_of_the_run_its_halves_and_turns(case: Case) -> None:
    world, history = case.world, [moment.played.played for moment in game(case)]
    for length in range(len(history) + 1):
        found = work_out(world.measures, history[:length]).measures
        names = [(one.name, one.scope) for one in found]
        assert len(set(names)) == len(names)
        for one in found:
            turn = re.fullmatch(r"run|first-half|second-half|turn/(\d+)", one.scope)
            assert turn is not None
            assert turn[1] is None or int(turn[1]) < length
            assert one.value is None or math.isfinite(one.value)
            assert re.sub("/.*", "/AGENT", one.name) in world.measures.formulas


class ReadOnce:
    """The turns of a run, which are gone when they have been read."""

    def __init__(self, history: Sequence[PlayedTurn[Any, Any]]) -> None:
        self._turns = len(history)
        self._left = iter(history)

    def __len__(self) -> int:
        return self._turns

    def __iter__(self) -> Iterator[PlayedTurn[Any, Any]]:
        return self._left


@each_case
def test_measures_read_each_turn_once(case: Case) -> None:
    history = [moment.played.played for moment in game(case)]
    measures = case.world.measures
    assert [*work_out(measures, ReadOnce(history)).measures] == [*work_out(measures, history).measures]


@each_world
def test_every_formula_gives_a_measure(world: AnyWorld) -> None:
    histories = [[moment.played.played for moment in game(case)] for case in CASES if case.world is world]
    found = {one.name for history in histories for one in work_out(world.measures, history).measures}
    assert {re.sub("/.*", "/AGENT", name) for name in found} == world.measures.formulas.keys()


@each_world
def test_no_share_has_a_unit(world: AnyWorld) -> None:
    assert not {*world.measures.units} & {*world.measures.shares, *world.measures.inequality}


@each_case
def test_what_reports_draw_over_time_are_measures_of_single_turns(case: Case) -> None:
    played = [moment.played.played for moment in game(case)]
    of_turns = {
        one.name for one in work_out(case.world.measures, played).measures if one.scope.startswith("turn/")
    }
    assert {*case.world.measures.shares, *case.world.measures.inequality} <= of_turns


@each_case
def test_ratings_are_in_their_range_and_have_a_truth(case: Case) -> None:
    measures = case.world.measures
    for moment in game(case):
        for rated in measures.ratings(moment.played.played):
            assert MIN_RATING <= rated.rating <= MAX_RATING
            assert measures.truths[rated.kind]


# Nothing that is said raises.


@each_world
def test_validation_never_raises_and_what_is_left_can_be_resolved_and_written_down(world: AnyWorld) -> None:
    on = scene(world)
    for agent, text in corpus(on, HOSTILE):
        judged = turns.judge(world, on.state, {agent: heard(agent, text)})
        played = turns.resolve(world, on.state, {}, judged)
        assert TurnRecord.from_json(json.loads(played.record.text)).text == played.record.text
        assert codes_of(played.record) <= READ_CODES | {*world.telling.codes}
    silent = world.validate(on.state, on.actors[0], None)
    assert (silent.drops, silent.mends) == ((), ())


def spoiled(answer: Any) -> Iterator[Any]:
    """Yield an answer with each of its parts in turn left out or replaced by something strange."""
    if isinstance(answer, Mapping):
        for name, part in {**answer, "mood": "mild"}.items():
            rest = {other: value for other, value in answer.items() if other != name}
            yield rest
            yield from ({**rest, name: value} for value in (*STRANGE, *spoiled(part)))


@each_case
def test_a_tremble_adds_nothing_that_is_refused(case: Case) -> None:
    """Neither to what a policy says nor to what a stand-in of the observer says."""
    world, observer, changed = case.world, case.world.observer, 0
    for moment in islice(game(case), 4):
        for agent, view in turns.views(world, moment.state, moment.memories).items():
            for name in world.policies.by_name:
                rng = RngStream(7, moment.state.turn, agent)
                plain, other = (speak(world.policies, name, 0, view, rng, tremble=e) for e in (0, 1))
                refused = [
                    world.validate(moment.state, agent, heard(agent, text).said).drops
                    for text in (plain, other)
                ]
                assert {drop.code for drop in refused[1]} <= {drop.code for drop in refused[0]}
                changed += plain != other
        question = turns.question_of(world, moment.state, intents_of(moment))
        if observer and question:
            for name in observer.stand_ins.by_name:
                text = speak(observer.stand_ins, name, 0, question, RngStream(7, 0, OBSERVER), tremble=1)
                ruled = observer.rule(moment.state, intents_of(moment), heard(OBSERVER, text).said)
                assert not ruled.drops + ruled.mends
    assert changed > 0


WITH_OBSERVER = [case for case in CASES if case.world.observer is not None]


@pytest.mark.parametrize("case", WITH_OBSERVER, ids=str)
def test_no_ruling_raises(case: Case) -> None:
    world, observer = case.world, case.world.observer
    assert observer is not None
    asked = [moment for moment in game(case) if observer.requests(moment.state, intents_of(moment))]
    for moment in islice(asked, 2):
        intents = intents_of(moment)
        question = turns.question_of(world, moment.state, intents)
        assert question is not None
        stand_in = observer.stand_ins.by_name[observer.stand_ins.default]
        good = stand_in(question, RngStream(1, moment.state.turn, OBSERVER))
        observer.ruling(observer.requests(moment.state, intents)).model_validate(good)
        for words in spoiled(good):
            ruling = heard(OBSERVER, json.dumps(words))
            ruled = observer.rule(moment.state, intents, ruling.said)
            assert ruled.intents.keys() == intents.keys()
            assert codes_of(ruled) <= {*world.telling.codes}
            world.resolve(moment.state, ruled.intents)
            canonical(observer.ruled(ruled.intents))


# What a world is, before anybody plays.


@pytest.mark.parametrize("world", WORLDS)
def test_a_world_that_comes_with_hobbes_has_all_its_parts(world: str) -> None:
    parts = (
        f"prompts/{world}",
        f"graphs/{world}.py",
        f"docs/rules/{world}.md",
        f"tests/prompts/test_{world}.py",
        f"cassettes/{world}-noise.yaml",
    )
    missing = [part for part in parts if not (ROOT / part).exists()]
    assert not missing, f"the world {world} lacks {', '.join(missing)} (CONTRIBUTING.md, Add a world)"


@each_world
def test_a_world_can_be_played_as_it_is(world: AnyWorld) -> None:
    assert WORLDS[world.name] is world
    check(world)
    for n in (1, 2, 30):
        names = world.names(n)
        assert len({*names} - {OBSERVER}) == n
    assert world.prompts(make_setting(world, names, 1, {}).config)


@each_world
def test_every_chance_is_a_whole_number_of_percent(world: AnyWorld) -> None:
    _, whole_percent, _ = get_args(Percent)
    fields = world.config.model_fields.items()
    chances = {name for name, setting in fields if whole_percent in setting.metadata}
    assert chances == {
        name for name, setting in fields if re.match("how (often|likely)", setting.description or "")
    }
    for name in chances:
        assert getattr(settled(world, {name: 1}).config, name) == 1
        for fraction in (0.15, 1.0):
            with pytest.raises(
                ValueError, match=f"{name}: write a percentage as a whole number from 0 to 100"
            ):
                settled(world, {name: fraction})


@each_world
def test_a_state_that_is_none_is_refused_in_one_line(world: AnyWorld) -> None:
    setting = settled(world, {})
    told = world.state.to_json(start(world, setting))
    wrongs: list[dict[str, Any]] = [{}, {**told, "turn": "soon"}, {name: [[]] for name in told}]
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"\A[^\n]+\Z"):
            world.state.load(setting, wrong)
