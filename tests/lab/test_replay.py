"""Exact replay, with the first divergence named; and verification by the engine alone."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lab.history import faults
from lab.recording import environment, in_thread
from lab.records import Records, Run
from lab.replaying import DivergedError, replay_run
from lab.serving import stand_in
from nodes import prompting
from tests.lab.play import mining


def divergence(records: Records, run: Run, *, reread: bool = False) -> DivergedError | None:
    return asyncio.run(replay_run(records, run, reread=reread)).divergence


def change_record(records: Records, run: Run, turn: int, part: str, change: Any) -> None:
    """Tamper with a part of a logged turn."""
    row = records.db.table("turns").get((run.id, turn))
    record = json.loads(row["record"])
    change(record[part])
    records.db.table("turns").update((run.id, turn), {"record": json.dumps(record)})


def change_call(records: Records, run: Run, turn: int, agent: str, **values: Any) -> None:
    records.db.table("calls").update((run.id, turn, agent, 1), values)


def test_a_replay_of_an_untouched_run_has_its_digest(opened: Records) -> None:
    run = mining(opened, models="policy:guided?noise=0.3")
    replayed = asyncio.run(replay_run(opened, run, reread=False))
    assert (replayed.turns, replayed.digest, replayed.divergence) == (4, run.digest, None)


def test_a_changed_answer_shows_as_a_changed_intent(opened: Records) -> None:
    run = mining(opened)
    change_call(opened, run, 1, "miner-02", answer='{"claim": []}')
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (1, "miner-02", "validation")
    assert '-  "actions": [' in found.diff
    assert '+  "actions": [],' in found.diff


def test_a_missing_answer_is_named(opened: Records) -> None:
    run = mining(opened)
    opened.db.table("calls").delete((run.id, 2, "miner-03", 1))
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (2, "miner-03", "answer")


def test_another_way_of_reading_is_named(opened: Records) -> None:
    run = mining(opened)
    change_call(opened, run, 0, "miner-01", stage="embedded")
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (0, "miner-01", "reading")
    assert "+answered by json" in found.diff


def test_another_state_is_the_engines(opened: Records) -> None:
    run = mining(opened)
    change_record(opened, run, 1, "state", lambda state: state["gold"].update({"miner-02": 999}))
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.layer) == (1, "engine")
    assert "999" in found.diff


def test_a_view_that_is_not_the_recorded_one_is_named_with_turn_agent_and_a_diff(opened: Records) -> None:
    run = mining(opened)
    call = opened.calls(run.id, 1, "miner-02")[0]
    other = opened.text_hash(call.prompt.turn.replace('"turn":1', '"turn":7'))
    change_call(opened, run, 1, "miner-02", prompt=other)
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (1, "miner-02", "prompt")
    assert '"turn":7' in found.diff
    assert divergence(opened, run, reread=True) is None


def test_a_prompt_edited_since_is_named_and_reread_goes_on_with_the_recorded_answers(
    opened: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        run = mining(opened, models="openai:policy/guided")
    shutil.copytree(prompting.ROOT, tmp_path / "prompts")
    monkeypatch.setattr(prompting, "ROOT", tmp_path / "prompts")
    template = tmp_path / "prompts" / "mining" / "rules.en.md"
    template.write_text(template.read_text().replace("Each round you have", "Every round you have"))
    found = divergence(opened, run)
    assert found is not None
    assert (found.turn, found.agent, found.layer) == (0, "miner-01", "prompt")
    assert "-- Each round you have 10 stamina." in found.diff
    assert "+- Every round you have 10 stamina." in found.diff
    reread = asyncio.run(replay_run(opened, run, reread=True))
    assert (reread.digest, reread.divergence) == (run.digest, None)


def test_verify_agrees_with_an_untouched_run(opened: Records) -> None:
    assert list(faults(opened, mining(opened))) == []


def test_verify_finds_a_state_that_does_not_follow(opened: Records) -> None:
    run = mining(opened)
    change_record(opened, run, 2, "state", lambda state: state["gold"].update({"miner-01": 1_000}))
    found = list(faults(opened, run))
    assert found[:2] == [(2, "state differs"), (2, "the chain of digests is broken")]


def test_verify_finds_a_changed_mind_in_the_chain(opened: Records) -> None:
    run = mining(opened)
    change_record(
        opened, run, 1, "minds", lambda minds: minds["miner-01"].update({"memory": "I was elsewhere"})
    )
    assert list(faults(opened, run)) == [(1, "the chain of digests is broken")]


def test_verify_finds_a_missing_turn(opened: Records) -> None:
    run = mining(opened)
    opened.db.table("turns").delete((run.id, 1))
    assert list(faults(opened, run)) == [(1, "the turn is missing")]
