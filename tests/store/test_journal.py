"""The journal of a run: when a call is stored."""

import asyncio
import contextlib

import pytest

from hobbes.engine.answer import FoundAs, Outcome
from hobbes.nodes.journal import Address, Call, Prompt, Reply
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import Store
from hobbes.store.run_journal import RunJournal
from hobbes.wire.recorder import environment, in_thread
from hobbes.wire.stand_in import stand_in


def call(agent: str) -> Call:
    return Call(Address(0, agent), Prompt("", agent), Reply("{}", "m"), Outcome.ANSWERED, FoundAs.JSON)


def test_a_call_that_is_cancelled_after_its_answer_arrived_is_stored(opened: Store) -> None:
    run = begin(opened, RunOptions("mining"))
    journal = RunJournal(opened, run)

    async def cancelled() -> None:
        keeping = asyncio.ensure_future(journal.keep(call("miner-01")))
        await asyncio.sleep(0)
        assert not opened.calls.of_turn(run.id, 0)
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeping

    asyncio.run(cancelled())
    assert len(opened.calls.of_turn(run.id, 0)) == 1


def test_the_answers_of_policies_are_stored_at_once_and_before_a_model_is_waited_for(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hobbes.nodes.chat import ChatPlayer  # noqa: PLC0415  what is patched

    healthy, statements, there = ChatPlayer.reply, list[str](), list[list[str]]()

    async def looking(self: ChatPlayer, address: Address, prompt: Prompt) -> Reply:
        there.append([call.address.agent for call in opened.calls.of_turn(run.id, address.turn)])
        return await healthy(self, address, prompt)

    monkeypatch.setattr(ChatPlayer, "reply", looking)
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        models = "openai:policy/guided*1,policy:guided*3"
        run = begin(opened, RunOptions("mining", 4, models=models, values={"rounds": 2}))
        opened.connection.set_trace_callback(statements.append)
        asyncio.run(go_on(opened, run, lambda _: None))
    opened.connection.set_trace_callback(None)
    assert there == [["miner-02", "miner-03", "miner-04"]] * 2
    stored = [sum(one.startswith("insert into calls") for one in commit) for commit in commits(statements)]
    assert [calls for calls in stored if calls] == [3, 1, 3, 1]


def commits(statements: list[str]) -> list[list[str]]:
    """The statements of each transaction."""
    found: list[list[str]] = [[]]
    for one in statements:
        found[-1].append(one)
        if one == "COMMIT":
            found.append([])
    return found
