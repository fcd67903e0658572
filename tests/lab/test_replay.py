"""Exact replay, with the first divergence named."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.errors import LabError
from lab.play.playing import RunOptions, begin
from lab.proof.replaying import DivergedError, ReplayJournal, replay_run
from lab.store.database import LoggedTurn, Run, Store
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


def test_a_run_that_was_killed_before_its_first_turn_replays(opened: Store) -> None:
    run = begin(opened, RunOptions("mining"))
    replayed = asyncio.run(replay_run(opened, run, reread=False))
    assert (replayed.turns, replayed.digest, replayed.divergence) == (0, run.digest, None)


def test_a_replay_reads_one_turn_at_a_time(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = mining(opened)
    done: list[tuple[str, int]] = []
    turns, compare = Store.turns, ReplayJournal.turn

    def reading(self: Store, run: str, first: int = 0) -> Iterator[LoggedTurn]:
        for turn in turns(self, run, first):
            done.append(("read", turn.turn))
            yield turn

    def comparing(self: ReplayJournal, turn: int, *told: Any) -> None:
        compare(self, turn, *told)
        done.append(("compared", turn))

    monkeypatch.setattr(Store, "turns", reading)
    monkeypatch.setattr(ReplayJournal, "turn", comparing)
    assert divergence(opened, run) is None
    assert done == [(what, turn) for turn in range(run.turns) for what in ("read", "compared")]
