"""Exact replay, with the first divergence named; and verification by the engine alone."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lab.errors import LabError
from lab.play.playing import RunOptions, begin
from lab.proof.replaying import DivergedError, replay_run
from lab.proof.verifying import faults
from lab.store.database import Run, Store
from lab.wire.recording import environment, in_thread
from lab.wire.serving import stand_in
from nodes import prompting
from tests.lab.play import mining


def divergence(store: Store, run: Run, *, reread: bool = False) -> DivergedError | None:
    return asyncio.run(replay_run(store, run, reread=reread)).divergence


def change_record(store: Store, run: Run, turn: int, part: str, change: Any) -> None:
    """Tamper with a part of a logged turn."""
    row = store.db.table("turns").get((run.id, turn))
    record = json.loads(row["record"])
    change(record[part])
    store.db.table("turns").update((run.id, turn), {"record": json.dumps(record)})


def change_call(store: Store, run: Run, turn: int, agent: str, **values: Any) -> None:
    store.db.table("calls").update((run.id, turn, agent, 1), values)


def test_a_replay_of_an_unchanged_run_has_its_digest(opened: Store) -> None:
    run = mining(opened, models="policy:guided?noise=0.3")
    replayed = asyncio.run(replay_run(opened, run, reread=False))
    assert (replayed.turns, replayed.digest, replayed.divergence) == (4, run.digest, None)


def test_a_changed_answer_shows_as_a_changed_intent(opened: Store) -> None:
    run = mining(opened)
    change_call(opened, run, 1, "miner-02", answer='{"claim": []}')
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (1, "miner-02", "validation")
    assert '-  "actions": [' in found.diff
    assert '+  "actions": [],' in found.diff


def test_a_missing_answer_is_reported(opened: Store) -> None:
    run = mining(opened)
    opened.db.table("calls").delete((run.id, 2, "miner-03", 1))
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (2, "miner-03", "answer")


def test_another_reading_is_reported(opened: Store) -> None:
    run = mining(opened)
    change_call(opened, run, 0, "miner-01", found_as="embedded")
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (0, "miner-01", "reading")
    assert "+answered, found as json" in found.diff


def test_another_state_is_a_divergence_of_the_engine(opened: Store) -> None:
    run = mining(opened)
    change_record(opened, run, 1, "state", lambda state: state["gold"].update({"miner-02": 999}))
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.layer) == (1, "engine")
    assert "999" in found.diff


def test_a_state_that_differs_belongs_to_no_agent(opened: Store) -> None:
    run = mining(opened)
    change_record(opened, run, 1, "state", lambda state: state.update(turn=7))
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (1, "", "engine")


def test_another_event_belongs_to_its_agent(opened: Store) -> None:
    run = mining(opened)
    change_record(opened, run, 1, "events", lambda events: events[-1].update(gold=99))
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (1, "miner-03", "engine")


def test_another_intent_is_reported(opened: Store) -> None:
    run = mining(opened)
    change_record(opened, run, 3, "intents", lambda intents: intents["miner-02"].update(message="hello"))
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (3, "miner-02", "validation")
    assert '-  "message": "hello",' in found.diff


def test_a_turn_that_was_not_recorded_is_reported(opened: Store) -> None:
    run = mining(opened)
    opened.db.table("turns").delete((run.id, 2))
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (2, "", "engine")


def test_a_changed_view_is_reported_with_turn_agent_and_diff(opened: Store) -> None:
    run = mining(opened)
    call = opened.calls(run.id, 1, "miner-02")[0]
    other = opened.text_hash(call.prompt.turn.replace('"turn":1', '"turn":7'))
    change_call(opened, run, 1, "miner-02", prompt=other)
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (1, "miner-02", "prompt")
    assert '"turn":7' in found.diff
    assert divergence(opened, run, reread=True) is None


def test_an_edited_prompt_is_reported_with_its_line_and_reread_ignores_it(
    opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        run = mining(opened, models="policy:random*2,openai:policy/guided")
    monkeypatch.setattr(prompting, "ROOT", shutil.copytree(prompting.ROOT, tmp_path / "prompts"))
    file = tmp_path / "prompts" / "mining" / "guided" / "turn.en.md"
    file.write_text(file.read_text().replace("A new round begins.", "Another round begins."))
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (0, "miner-03", "prompt")
    assert "-A new round begins." in found.diff
    assert "+Another round begins." in found.diff
    reread = asyncio.run(replay_run(opened, run, reread=True))
    assert (reread.divergence, reread.digest) == (None, run.digest)


def test_reread_applies_the_current_reading_to_recorded_answers(opened: Store) -> None:
    run = mining(opened)
    change_call(opened, run, 1, "miner-02", answer="I pass.")
    reread = asyncio.run(replay_run(opened, run, reread=True))
    assert (reread.turns, reread.divergence) == (4, None)
    assert reread.digest != run.digest


def test_reread_reports_where_a_run_halts_with_the_current_code(opened: Store) -> None:
    run = mining(opened, values={"rounds": 4, "on_failure": "halt"})
    change_call(opened, run, 1, "miner-02", answer="I pass.")
    with pytest.raises(
        LabError, match="halts when its answers are read by the current code: turn 1, miner-02: unreadable"
    ):
        divergence(opened, run, reread=True)


def test_a_run_that_was_killed_before_its_first_turn_replays_and_verifies(opened: Store) -> None:
    run = begin(opened, RunOptions("mining"))
    replayed = asyncio.run(replay_run(opened, run, reread=False))
    assert (replayed.turns, replayed.digest, replayed.divergence) == (0, run.digest, None)
    assert list(faults(opened, run)) == []


def test_verify_agrees_with_an_untouched_run(opened: Store) -> None:
    assert list(faults(opened, mining(opened))) == []


def test_verify_finds_a_state_that_does_not_follow(opened: Store) -> None:
    run = mining(opened)
    change_record(opened, run, 2, "state", lambda state: state["gold"].update({"miner-01": 1_000}))
    assert list(faults(opened, run))[:3] == [
        (2, "state differs from what engine gives"),
        (2, "the chain of digests is broken"),
        (2, "the column turns.state differs from the record"),
    ]


def test_verify_finds_a_changed_memory(opened: Store) -> None:
    run = mining(opened)
    change_record(
        opened, run, 1, "memories", lambda memories: memories["miner-01"].update({"notes": "I was elsewhere"})
    )
    assert list(faults(opened, run))[:3] == [
        (1, "memories differs from what memory gives (miner-01)"),
        (1, "the chain of digests is broken"),
        (1, "the table memories differs from the record"),
    ]


@pytest.mark.parametrize("turn", [0, 1, 3])
def test_verify_finds_a_missing_turn(opened: Store, turn: int) -> None:
    run = mining(opened)
    opened.db.table("turns").delete((run.id, turn))
    assert list(faults(opened, run)) == [(turn, "the turn is missing")]


def test_verify_finds_another_digest_of_the_run(opened: Store) -> None:
    run = mining(opened)
    opened.update(run.id, digest="0" * 64)
    found = [(3, "the run's digest is not the last link of the chain")]
    assert list(faults(opened, opened.find(run.id))) == found


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("intents", "intent = '{}'"),
        ("drops", "code = 'mining/invented'"),
        ("mends", "kept = '1'"),
        ("events", "agent = 'miner-01'"),
        ("draws", "winner = 'nobody'"),
        ("reports", "score = 1"),
        ("memories", "memory = '{}'"),
    ],
)
def test_verify_finds_a_table_that_tells_otherwise_than_the_record(
    opened: Store, table: str, change: str
) -> None:
    values = {"rounds": 20, "rows": 3, "cols": 3}
    run = mining(opened, models="policy:tit-for-tat-raid,policy:guided?noise=0.5*2", values=values)
    opened.db.execute(f"update {table} set {change} where rowid = (select max(rowid) from {table})")  # noqa: S608
    opened.db.conn.commit()
    ((_, fault),) = faults(opened, run)
    assert fault == f"the table {table} differs from the record"


def test_verify_finds_another_state_in_the_column_that_people_read(opened: Store) -> None:
    run = mining(opened)
    opened.db.table("turns").update((run.id, 1), {"state": "{}"})
    assert list(faults(opened, run)) == [(1, "the column turns.state differs from the record")]


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("intents", lambda intents: intents.update({"miner-01": {"actions": 7}})),
        (
            "intents",
            lambda intents: intents["miner-01"]["actions"].append({"kind": "mine", "cell": [99, 99]}),
        ),
        ("state", lambda state: state.pop("gold")),
        ("events", lambda events: events.append({})),
    ],
)
def test_verify_says_that_a_record_is_damaged(opened: Store, part: str, change: Any) -> None:
    run = mining(opened)
    change_record(opened, run, 1, part, change)
    found = list(faults(opened, run))
    assert found[0][0] == 1
    assert "damaged" in found[0][1] or "differs" in found[0][1]


def test_a_record_that_is_no_json_and_a_run_of_no_known_world_are_said(opened: Store) -> None:
    run = mining(opened)
    opened.db.table("turns").update((run.id, 1), {"record": "{"})
    ((turn, fault),) = faults(opened, run)
    assert turn == 1
    assert "the record is damaged" in fault
    opened.update(run.id, world="atlantis")
    with pytest.raises(LabError, match=r"cannot be read by hobbes .*: there is no world 'atlantis'"):
        opened.find(run.id)
