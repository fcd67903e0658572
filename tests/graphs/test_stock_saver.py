"""What LangGraph's own saver keeps of a run: a checkpoint a turn, in one line from the first to the last."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from hobbes.engine.record import Json
from hobbes.errors import HaltedRunError
from hobbes.graphs.run import open_checkpoints
from hobbes.nodes.caps import Caps
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import Store
from tests.graphs.threads import is_one_line, kept, stop_after, turns_in
from tests.small_runs import go

NODES = 5
"""How many nodes a turn has in a world without an observer."""

TINY: dict[str, Json] = {"rounds": 3, "rows": 2, "cols": 2}


def test_the_saver_of_a_run_passes_the_conformance_suite_of_langgraph() -> None:
    @checkpointer_test(name="the saver of a run")
    async def saver() -> AsyncIterator[AsyncSqliteSaver]:
        with TemporaryDirectory() as folder:
            async with open_checkpoints(Path(folder) / "checkpoints.db") as checkpoints:
                yield checkpoints.saver()

    report = asyncio.run(validate(saver))
    assert report.passed_all_base(), report.to_dict()


def test_each_turn_is_one_checkpoint_with_the_step_of_its_last_node(opened: Store, home: Path) -> None:
    run = go(opened, begin(opened, RunOptions("mining", 2, values=TINY)))
    checkpoints = kept(home, run.id)
    assert turns_in(checkpoints) == [0, 1, 2, 3]
    assert [one.metadata["step"] for one in checkpoints] == [NODES * turn for turn in range(4)]
    assert is_one_line(checkpoints)


def test_a_run_that_was_stopped_goes_on_from_its_last_checkpoint(opened: Store, home: Path) -> None:
    run = begin(opened, RunOptions("mining", 2, values=TINY))
    stop_after(opened, run, 1)
    go(opened, run)
    checkpoints = kept(home, run.id)
    assert turns_in(checkpoints) == [0, 1, 2, 3]
    assert is_one_line(checkpoints)


def test_a_question_to_a_person_is_kept_and_the_turns_after_it_descend_from_it(
    opened: Store, home: Path
) -> None:
    run = go(opened, begin(opened, RunOptions("mining", 1, models="human", values=TINY)))
    checkpoints = kept(home, run.id)
    ((_, channel, (asked,)),) = checkpoints[-1].pending_writes or [("", "", ())]
    assert (channel, asked.value["address"]) == ("__interrupt__", "0/miner-01/1")
    for words in ('{"claim": [[0, 0]]}', "{}", "{}"):
        run = go(opened, run, words)
    assert run.status == "finished"
    checkpoints = kept(home, run.id)
    assert sorted({*turns_in(checkpoints)}) == [0, 1, 2, 3]
    assert is_one_line(checkpoints)


def test_a_turn_that_halts_is_kept_with_its_error(opened: Store, home: Path) -> None:
    run = begin(opened, RunOptions("mining", 2, models="policy:guided", values=TINY), Caps(calls=3))
    with pytest.raises(HaltedRunError):
        go(opened, run)
    assert turns_in(kept(home, run.id)) == [0, 1, 1]
    ((_, channel, error),) = kept(home, run.id)[-1].pending_writes or [("", "", "")]
    assert channel == "__error__"
    assert "HaltedError" in str(error)
