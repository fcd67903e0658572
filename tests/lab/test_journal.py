"""The journal of a run: when a call is stored."""

import asyncio
import contextlib

from engine.answer import FoundAs, Outcome
from lab.play.playing import RunOptions, begin
from lab.store.database import Store
from lab.store.journal import RunJournal
from nodes.journal import Address, Call, Prompt, Reply


def call(agent: str) -> Call:
    """A call of turn 0."""
    return Call(Address(0, agent), Prompt("", agent), Reply("{}", "m"), Outcome.ANSWERED, FoundAs.JSON)


def test_calls_that_arrive_at_once_are_stored_at_once(opened: Store) -> None:
    run = begin(opened, RunOptions("mining"))
    journal = RunJournal(opened, run)
    statements: list[str] = []

    async def arriving() -> None:
        await asyncio.gather(*(journal.keep(call(agent)) for agent in ("miner-01", "miner-02", "miner-03")))

    opened.db.conn.set_trace_callback(statements.append)
    asyncio.run(arriving())
    opened.db.conn.set_trace_callback(None)
    assert statements.count("COMMIT") == 1
    assert len(opened.calls(run.id, 0)) == 3


def test_a_call_that_is_cancelled_after_its_answer_arrived_is_stored(opened: Store) -> None:
    run = begin(opened, RunOptions("mining"))
    journal = RunJournal(opened, run)

    async def cancelled() -> None:
        keeping = asyncio.ensure_future(journal.keep(call("miner-01")))
        await asyncio.sleep(0)
        assert not opened.calls(run.id, 0)
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeping

    asyncio.run(cancelled())
    assert len(opened.calls(run.id, 0)) == 1
