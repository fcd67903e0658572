"""Several ways to play a turn give one record: pure steps, `hobbes step`, the ring, `verify`, a fork."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hobbes.engine.chance import RngStream
from hobbes.engine.digest import first_digest, link
from hobbes.engine.policy import speak
from hobbes.engine.turn import TurnRecord
from hobbes.engine.world import OBSERVER, AnyWorld
from hobbes.nodes.caps import NO_CAPS
from hobbes.play.fork import ForkOptions, fork
from hobbes.play.start import RunOptions, begin
from hobbes.play.step import step_lines
from hobbes.prove.replay import replay_run
from hobbes.prove.verification import verify
from hobbes.store.home import Store, open_store
from hobbes.store.policy_games import play_purely, pure_turns, with_turns
from hobbes.store.recorded_run import Run
from hobbes.store.reported import keep_figures
from hobbes.worlds import WORLDS
from tests.contract.games import AGENTS, CASES, EXTRA, NOISES, Case, Moment, game
from tests.small_runs import go
from tests.soak import examples, in_soak

pytestmark = pytest.mark.usefixtures("with_fishery")

FEW = [case for case in CASES if case.number == 0 or case.values in EXTRA.get(case.world.name, ())]
"""The defaults, and the settings that no schema can tell."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One home for all tests, in which each case is played once."""
    with open_store(tmp_path_factory.mktemp("ways")) as found:
        yield found


@cache
def recorded(store: Store, case: Case) -> Run:
    """Play a case as a run; where a person is asked, it says what the stand-in of the case's game says."""
    values = {"rounds": case.setting.config.rounds, **case.values}
    run = begin(store, RunOptions(case.world.name, AGENTS, case.setting.seed, case.models, values=values))
    return ended(store, run, case)


def ended(store: Store, run: Run, case: Case) -> Run:
    said = None
    while run.status not in {"finished", "halted"}:
        run = go(store, run, said)
        said = game(case)[run.turns].ruled if run.status == "waiting" else None
    return run


@pytest.mark.parametrize("case", FEW, ids=str)
def test_the_ring_plays_what_the_pure_steps_play_and_verify_finds_no_fault(case: Case, opened: Store) -> None:
    run = recorded(opened, case)
    assert [turn.text for turn in opened.turns.of(run)] == [one.played.record.text for one in game(case)]
    digest = first_digest(case.world, case.setting)
    for moment in game(case):
        digest = link(digest, moment.played.record)
    assert run.digest == digest
    assert list(verify(opened, run)) == []
    if all(moment.ruled is None for moment in game(case)):
        played = pure_turns(case.world, case.setting, run.models)
        assert [turn.record.text for turn in played] == [one.played.record.text for one in game(case)]
    for moment in game(case):
        calls = opened.calls.of_turn(run.id, moment.state.turn)
        told = {call.address.agent: call.reply.text for call in calls}
        ruled = {} if moment.ruled is None else {OBSERVER: moment.ruled}
        assert told == {**moment.texts, **ruled}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("world", WORLDS.values(), ids=lambda world: world.name)
def test_a_run_without_turns_has_the_digest_and_figures_of_the_graph_and_opened_all_its_rows(
    world: AnyWorld, noise: float, opened: Store
) -> None:
    """Each agent plays another policy, so that all policies of the world play."""
    policies = world.policies.by_name
    models = ",".join(f"policy:{policy}?noise={noise}*1" for policy in policies)
    options = RunOptions(world.name, len(policies), 5, models, values={"rounds": 3})
    on_graph, alone = go(opened, begin(opened, options)), begin(opened, options)
    keep_figures(opened, on_graph)
    play_purely(opened, alone)
    assert not opened.db.table("turns").count_where("run = ?", [alone.id])
    assert of_run(opened, alone, ("runs", "reported")) == of_run(opened, on_graph, ("runs", "reported"))
    found = opened.runs.find(alone.id)
    assert not opened.db.table("turns").count_where("run = ?", [alone.id]), "reading a run plays nothing"
    again = with_turns(opened, found)
    assert of_run(opened, again) == of_run(opened, on_graph)
    assert list(verify(opened, again)) == []


def of_run(
    store: Store, run: Run, tables: Sequence[str] = ("runs", "reported", "turns", "calls", "measures")
) -> list[list[dict[str, Any]]]:
    """Return the rows of a run without its id and the times of the clock."""
    own = {"id", "run", "started", "ended", "seconds", "column_hashes", "arrived", "row_hash", "milliseconds"}
    rows = [
        store.db.table(table).rows_where(f"{'id' if table == 'runs' else 'run'} = ?", [run.id])
        for table in tables
    ]
    return [[{name: row[name] for name in row if name not in own} for row in of_table] for of_table in rows]


@pytest.mark.parametrize("case", FEW, ids=str)
def test_a_fork_in_which_nothing_changes_is_the_run_again(case: Case, opened: Store) -> None:
    """Forked in the middle; the game of the defaults, and every game in the soak, also in its last turn."""
    run = recorded(opened, case)
    both = case.number == 0 or in_soak()
    for turn in {run.turns // 2, run.turns - 1} if both else {run.turns // 2}:
        again = ended(opened, fork(opened, run, ForkOptions(turn), NO_CAPS), case)
        assert (again.digest, again.status, again.turns) == (run.digest, run.status, run.turns)
        assert list(verify(opened, again)) == []
        replayed = asyncio.run(replay_run(opened, again, reread=False))
        assert (replayed.digest, replayed.divergence) == (run.digest, None)
        assert opened.figures.measures(again.id) == opened.figures.measures(run.id)


@pytest.mark.parametrize("case", FEW, ids=str)
def test_step_gives_the_same_record_turn_by_turn(case: Case) -> None:
    values = {"rounds": case.setting.config.rounds, **case.values}
    fixed = {"config": values, "agents": list(case.setting.agents[::-1]), "seed": case.setting.seed}
    shown = stepped(case, fixed)
    for moment in game(case):
        asked = {**fixed, "state": shown["state"], "memories": shown["memories"]}
        shown = stepped(case, {**asked, **said_in(moment)})
        record = moment.played.record
        again = {name: shown[name] for name in TurnRecord.parts()}
        assert TurnRecord.from_json({**record.to_json(), **again}).text == record.text
        assert shown["ledgers"] == json.loads(json.dumps(moment.played.resolved.ledgers))
    assert shown["over"]


@settings(max_examples=examples(20, 1_000), deadline=None)
@given(st.sampled_from(CASES), st.integers(0, 1_000), st.data())
def test_step_takes_what_it_replied_as_the_next_request(case: Case, rng: int, data: st.DataObject) -> None:
    """Whoever played and plays no more is still remembered."""
    world, setting = case.world, case.setting
    values = {"rounds": setting.config.rounds, **case.values}
    fixed = {"config": values, "agents": list(setting.agents), "seed": setting.seed}
    policy = data.draw(st.sampled_from([*world.policies.by_name]))
    shown = stepped(case, fixed)
    for turn in range(setting.config.rounds):
        answers = {
            agent: speak(world.policies, policy, 0.1, view, RngStream(rng, turn, agent), tremble=0.3)
            for agent, view in shown["views"].items()
        }
        going_on = {} if shown["over"] else {"answers": answers}
        shown = stepped(case, {**fixed, "state": shown["state"], "memories": shown["memories"], **going_on})
    assert shown["over"]


def stepped(case: Case, request: dict[str, Any]) -> dict[str, Any]:
    """Ask `hobbes step`, by way of text as a program would."""
    (shown,) = step_lines(case.world, [json.dumps(request)])
    return dict(json.loads(shown))


def said_in(moment: Moment) -> dict[str, Any]:
    """Return what was said in a turn as a request has it: texts, in another order than agents are asked."""
    answers = {agent: moment.texts[agent] for agent in sorted(moment.texts, reverse=True)}
    return {"answers": answers} if moment.ruled is None else {"answers": answers, "ruling": moment.ruled}


def test_every_observer_is_asked_in_some_game() -> None:
    asked = {case.world.name for case in FEW for moment in game(case) if moment.ruled is not None}
    assert asked == {name for name, world in WORLDS.items() if world.observer is not None}
