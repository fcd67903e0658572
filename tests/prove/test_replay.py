"""Exact replay, with the first divergence named."""

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hobbes.engine.mining.world import MINING
from hobbes.engine.record import sha256
from hobbes.errors import DamagedError, HobbesError
from hobbes.nodes import prompt_set
from hobbes.nodes.journal import Logged
from hobbes.play.start import RunOptions, begin
from hobbes.prove.changed_decisions import Reread, reread
from hobbes.prove.replay import DivergedError, ReplayJournal, replay_run
from hobbes.show import replay_text
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.turns import LoggedTurn, Turns
from hobbes.wire.recorder import environment, in_thread
from hobbes.wire.stand_in import stand_in
from hobbes.worlds import WORLDS
from tests.conftest import Cli, Hobbes
from tests.play.test_observer import game, granting_all, to_the_end
from tests.rewrites import rewrite
from tests.small_runs import mining


def divergence(store: Store, run: Run, *, reread: bool = False) -> DivergedError | None:
    return asyncio.run(replay_run(store, run, reread=reread)).divergence


def change_record(store: Store, run: Run, turn: int, part: str, change: Any) -> None:
    record = next(store.turns.of(run, turn)).record.to_json()
    change(record[part])
    store.db.table("turns").update((run.id, turn), {"record": json.dumps(record)})
    rewrite(store)


def change_call(store: Store, run: Run, turn: int, agent: str, **values: Any) -> None:
    store.db.table("calls").update((run.id, turn, agent, 1), values)
    rewrite(store)


CHANGED: dict[str, tuple[Callable[[Store, Run], object], tuple[int, str, str], str]] = {
    "an answer": (
        lambda store, run: change_call(store, run, 1, "miner-02", answer='{"claim": []}'),
        (1, "miner-02", "validation"),
        "+intents.miner-02.actions: []",
    ),
    "an answer that is gone": (
        lambda store, run: store.db.table("calls").delete((run.id, 2, "miner-03", 1)),
        (2, "miner-03", "answer"),
        "",
    ),
    "a reading": (
        lambda store, run: change_call(store, run, 0, "miner-01", found_as="embedded"),
        (0, "miner-01", "reading"),
        "+answered, found as json",
    ),
    "a state": (
        lambda store, run: change_record(
            store, run, 1, "state", lambda state: state["gold"].update({"miner-02": 999})
        ),
        (1, "", "engine"),
        "999",
    ),
    "an event": (
        lambda store, run: change_record(store, run, 1, "events", lambda events: events[-1].update(gold=99)),
        (1, "miner-03", "engine"),
        "99",
    ),
    "an intent": (
        lambda store, run: change_record(
            store, run, 3, "intents", lambda intents: intents["miner-02"].update(message="hello")
        ),
        (3, "miner-02", "validation"),
        '-intents.miner-02.message: "hello"',
    ),
}
"""What is changed of a recorded run, where that shows first, and a line of the difference."""


@pytest.mark.parametrize(("change", "where", "line"), CHANGED.values(), ids=CHANGED)
def test_what_was_changed_is_named_by_turn_agent_and_layer(
    change: Callable[[Store, Run], object], where: tuple[int, str, str], line: str, opened: Store
) -> None:
    run = mining(opened)
    change(opened, run)
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == where
    assert line in found.diff


def test_a_whole_run_has_one_digest_whatever_the_hash_seed_and_verify_and_replay_agree(
    hobbes: Hobbes, cli: Cli
) -> None:
    asked = ("run", "mining", "--rounds", "4", "--agents", "20", "--seed", "1", "--json")
    one = json.loads(hobbes(*asked, env={"PYTHONHASHSEED": "1"}).stdout)
    other = json.loads(cli(*asked).stdout)  # this process has a hash seed of its own
    assert one["digest"] == other["digest"]
    assert one["over"]
    assert one["calls"] == 20 * 4
    verified = cli("verify", one["run"], "--json")
    replayed = cli("replay", one["run"], "--json")
    assert (verified.exit_code, replayed.exit_code) == (0, 0)
    assert json.loads(verified.stdout)["digest"] == one["digest"]
    assert json.loads(replayed.stdout)["digest"] == one["digest"]


def test_a_changed_view_is_reported_with_turn_agent_and_diff(opened: Store) -> None:
    run = mining(opened)
    call = opened.calls.of_turn(run.id, 1, "miner-02")[0]
    other = sha256(call.prompt.turn.replace('"turn":1', '"turn":7'))
    change_call(opened, run, 1, "miner-02", prompt=other)
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (1, "miner-02", "prompt")
    assert found.diff == "its view was another one, which is not stored\n"
    assert divergence(opened, run, reread=True) is None


def test_an_edited_prompt_is_reported_with_its_line_and_reread_ignores_it(
    opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        run = mining(opened, models="policy:random*2,openai:policy/guided")
    monkeypatch.setattr(prompt_set, "ROOT", shutil.copytree(prompt_set.ROOT, tmp_path / "prompts"))
    file = tmp_path / "prompts" / "mining" / "guided" / "turn.en.md"
    file.write_text(file.read_text().replace("Decide what to do", "Say what to do"))
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (0, "miner-03", "prompt")
    assert "-Decide what to do" in found.diff
    assert "+Say what to do" in found.diff
    for _ in range(2):
        again = asyncio.run(replay_run(opened, run, reread=True))
        assert (again.divergence, again.digest) == (None, run.digest)
        shutil.rmtree(tmp_path / "prompts", ignore_errors=True)


def test_a_replay_of_policies_alone_needs_no_prompts(
    opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = mining(opened)
    monkeypatch.setattr(prompt_set, "ROOT", tmp_path)
    assert divergence(opened, run) is None


def test_a_replay_reads_the_text_of_a_prompt_only_if_its_hash_is_another(opened: Store) -> None:
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        run = mining(opened, models="policy:random*1,openai:policy/guided")
    call = opened.calls.of_turn(run.id, 1, "miner-02")[0]
    spoil = "update texts set text = 'something else' where hash = ?"
    opened.db.execute(spoil, [sha256(call.prompt.turn)])
    assert divergence(opened, run) is None
    other = opened.runs.add_text(call.prompt.turn.replace('"turn":1', '"turn":7'))
    change_call(opened, run, 1, "miner-02", prompt=other)
    opened.db.execute(spoil, [other])
    with pytest.raises(
        DamagedError, match=r"turn 1, miner-02, attempt 1: the text of the column calls\.prompt"
    ):
        divergence(opened, run)


def test_reread_tells_each_decision_that_changes_by_turn_and_agent(
    opened: Store, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = mining(opened, models="policy:guided*2,policy:random*1")
    assert reread(opened, run) == Reread([], [])
    change_call(opened, run, 1, "miner-02", answer="I pass.")
    change_call(opened, run, 2, "miner-01", answer='{"claim": [[9, 9]]}')
    found = {(one.turn, one.agent): one for one in reread(opened, run).decisions}
    assert found.keys() == {(1, "miner-02"), (2, "miner-01")}, "no turn is blamed for an earlier one"
    unread = found[1, "miner-02"]
    assert (unread.then["outcome"], unread.now["outcome"]) == ("answered", "unreadable")
    assert unread.parts == ["outcome", "intent", "drops"]
    refused = found[2, "miner-01"]
    assert refused.parts == ["intent", "drops"]
    assert [drop["code"] for drop in refused.now["drops"]] == ["mining/off-grid"]
    told = json.loads(cli("replay", run.id, "--reread", "--json").stdout)
    assert [(one["turn"], one["agent"], one["changed"]) for one in told["decisions"]] == [
        (1, "miner-02", ["outcome", "intent", "drops"]),
        (2, "miner-01", ["intent", "drops"]),
    ]
    assert (told["same"], told["recorded"]) == (False, run.digest)
    shown = cli("replay", run.id, "--reread").stdout
    assert "turn 1, miner-02: outcome, intent, drops" in shown
    assert '+outcome: "unreadable"' in shown
    assert '+  "reflection"' not in shown, "only what differs"
    monkeypatch.setattr(replay_text, "MAX_DIFFS", 1)
    shortened = cli("replay", run.id, "--reread").stdout
    assert "mining/off-grid" not in shortened
    assert "and 1 more diffs, which --json gives" in shortened


def generous_in_turn_2(state: Any, intents: Any) -> Any:
    """Resolve a turn of mining, and give miner-02 much gold in turn 2."""
    resolved = MINING.resolve(state, intents)
    more = {**resolved.state.gold, "miner-02": 999}
    return resolved._replace(state=replace(resolved.state, gold=more)) if state.turn == 2 else resolved


def test_reread_tells_the_turns_in_which_rules_make_something_else_of_the_same_decisions(
    opened: Store, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = mining(opened)
    monkeypatch.setitem(WORLDS, "mining", replace(MINING, resolve=generous_in_turn_2, rules_version=99))
    changed = opened.runs.find(run.id)
    assert reread(opened, changed) == Reread([], [2])
    assert "lead to something else in turn 2" in cli("replay", run.id, "--reread").stdout
    assert isinstance(cli("replay", run.id).exception, HobbesError), "the rules are of another version"


def test_reread_tells_the_decisions_of_a_run_that_would_halt_now(opened: Store, cli: Cli) -> None:
    run = mining(opened, values={"rounds": 4, "rows": 4, "cols": 4, "on_failure": "halt"})
    change_call(opened, run, 1, "miner-02", answer="I pass.")
    told = json.loads(cli("replay", run.id, "--reread", "--json").stdout)
    assert [(one["turn"], one["agent"]) for one in told["decisions"]] == [(1, "miner-02")]
    assert "turn 1, miner-02: unreadable" in told["halted"]
    shown = cli("replay", run.id, "--reread").stdout
    assert "turn 1, miner-02: outcome, intent, drops" in shown
    assert "halts when its answers are read by the current code" in shown


def test_reread_tells_the_rulings_that_change(opened: Store) -> None:
    run = to_the_end(opened, begin(opened, game("human")), granting_all)
    assert reread(opened, run) == Reread([], [])
    turn = next(turn for turn in range(run.turns) if "observer" in opened.calls.attempts(run.id, turn))
    change_call(opened, run, turn, "observer", answer='{"grants": {"unit-b": "much"}}')
    agents = {(one.turn, one.agent) for one in reread(opened, run).decisions}
    assert (turn, "observer") in agents
    assert {one for one, _ in agents} == {turn}


def test_reread_says_in_one_line_what_it_cannot_do(opened: Store, cli: Cli) -> None:
    run = mining(opened)
    opened.db.table("calls").delete((run.id, 2, "miner-03", 1))
    for words, wrong in (
        ((run.id, "--reread"), "turn 2 cannot be read by the current code"),
        (("cassettes/mining-zh.yaml", "--reread"), "--reread needs a run"),
    ):
        error = cli("replay", *words).exception
        assert isinstance(error, HobbesError)
        assert wrong in str(error)
        assert "\n" not in str(error)


def test_a_run_that_was_killed_before_its_first_turn_replays(opened: Store) -> None:
    run = begin(opened, RunOptions("mining"))
    replayed = asyncio.run(replay_run(opened, run, reread=False))
    assert (replayed.turns, replayed.digest, replayed.divergence) == (0, run.digest, None)


def test_a_replay_reads_one_turn_at_a_time(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = mining(opened)
    done: list[tuple[str, int]] = []
    stored, compare = Turns.of, ReplayJournal.turn

    def reading(self: Turns, run: Run) -> Iterator[LoggedTurn]:
        for turn in stored(self, run):
            done.append(("read", turn.turn))
            yield turn

    def comparing(self: ReplayJournal, turn: Logged) -> None:
        compare(self, turn)
        done.append(("compared", turn.number))

    monkeypatch.setattr(Turns, "of", reading)
    monkeypatch.setattr(ReplayJournal, "turn", comparing)
    assert divergence(opened, run) is None
    assert done == [(what, turn) for turn in range(run.turns) for what in ("read", "compared")]
