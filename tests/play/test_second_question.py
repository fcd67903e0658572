"""`reask`: who answers wrongly is shown once what was refused, and answers again. No answer is lost."""

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hobbes.errors import UsageError
from hobbes.nodes import prompt_set
from hobbes.nodes.chat import ADDRESS_HEADER, ChatPlayer
from hobbes.nodes.journal import Address, Prompt, Reply
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.prove.replay import replay_run
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.wire.recorder import environment, in_thread
from tests.small_runs import played

FIRST = json.dumps({"claim": [[99, 99]], "notes": "first"})
"""Claims where there is no plot."""
SECOND = json.dumps({"claim": [], "notes": "second"})
UNREADABLE = "I would rather talk about the weather."

Answer = Callable[[str], str | Response]
"""From the address of a call to the text of the answer, or to any response."""


@contextmanager
def answering(answer: Answer) -> Iterator[list[str]]:
    """Serve these answers, and let runs ask there; give the addresses that are asked."""
    asked: list[str] = []

    async def completions(request: HttpRequest) -> Response:
        asked.append(request.headers[ADDRESS_HEADER])
        said = answer(asked[-1])
        if isinstance(said, Response):
            return said
        choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        return JSONResponse({"choices": [choice]})

    app = Starlette(routes=[Route("/v1/chat/completions", completions, methods=["POST"])])
    with in_thread(app) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        yield asked


def by_attempt(first: str | Response, second: str | Response) -> Answer:
    """Answer the first attempt so, every later one otherwise."""
    return lambda address: first if address.endswith("/1") else second


def request(**values: Any) -> RunOptions:
    return RunOptions("mining", 1, models="openai:m", values={"rounds": 1, "taint_share": 1.0, **values})


def attempts(store: Store, run: Run) -> list[tuple[int, int, str]]:
    sql = "select attempt, question, outcome from calls where run = ? order by turn, agent, attempt"
    return store.db.execute(sql, [run.id]).fetchall()


def refused_and_changed(store: Store, run: Run) -> list[str]:
    record = next(store.turns.of(run)).record
    return [*(drop.code for drop in record.drops), *(mend.code for mend in record.mends)]


def memory(store: Store, run: Run) -> str:
    return next(store.turns.of(run)).record.memories["miner-01"].notes


def test_the_follow_up_question_shows_the_rejections_and_its_answer_counts(opened: Store) -> None:
    with answering(by_attempt(FIRST, SECOND)) as asked:
        run = played(opened, request(reask=1))
    assert asked == ["0/miner-01/1", "0/miner-01/2"]
    assert attempts(opened, run) == [(1, 1, "answered"), (2, 2, "answered")]
    assert memory(opened, run) == "second"
    assert refused_and_changed(opened, run) == ["read/second-answer"]
    first, second = opened.calls.attempts(run.id, 0)["miner-01"]
    assert second.prompt.system == first.prompt.system
    assert second.prompt.turn.endswith(first.prompt.turn.rstrip())
    assert FIRST in second.prompt.turn
    assert '{"claim":[99,99]}: the plot lies outside the grid' in second.prompt.turn
    assert opened.calls.of_turn(run.id, 0) == [second]


def test_it_is_asked_only_if_reask_is_set_and_something_was_rejected(opened: Store) -> None:
    for answer, values in ((FIRST, {}), (SECOND, {"reask": 1})):
        with answering(by_attempt(answer, SECOND)) as asked:
            played(opened, request(**values))
        assert asked == ["0/miner-01/1"]


def test_an_agent_without_an_answer_gets_no_follow_up_question(opened: Store) -> None:
    with answering(lambda address: SECOND if address.startswith("0/") else BROKEN) as asked:
        played(opened, request(reask=1, rounds=2))
    assert asked == ["0/miner-01/1", "1/miner-01/1"]


BROKEN = JSONResponse({"error": {"message": "down"}}, 400)


@pytest.mark.parametrize(
    ("first", "second", "outcome", "codes"),
    [
        (FIRST, UNREADABLE, "answered", ["read/second-answer", "mining/off-grid"]),
        (FIRST, BROKEN, "answered", ["read/second-answer", "mining/off-grid"]),
        (UNREADABLE, UNREADABLE, "unreadable", ["read/unreadable", "read/second-answer"]),
        (UNREADABLE, SECOND, "answered", ["read/second-answer"]),
    ],
)
def test_the_first_answer_counts_unless_the_second_is_a_decision(
    opened: Store, first: str, second: str | Response, outcome: str, codes: list[str]
) -> None:
    with answering(by_attempt(first, second)):
        run = played(opened, request(reask=1))
    counted = opened.db.table("runs").get(run.id)["outcomes"]
    assert json.loads(counted) == {outcome: 1}
    assert refused_and_changed(opened, run) == codes
    assert [call.outcome for call in opened.calls.of_turn(run.id, 0)] == [outcome]


@pytest.mark.parametrize("reread", [False, True])
@pytest.mark.parametrize("second", [SECOND, UNREADABLE])
def test_replay_makes_no_call_and_has_the_same_digest(opened: Store, second: str, *, reread: bool) -> None:
    with answering(by_attempt(FIRST, second)):
        run = played(opened, request(reask=1, rounds=3))
    replayed = asyncio.run(replay_run(opened, run, reread=reread))
    assert (replayed.divergence, replayed.digest) == (None, run.digest)


def test_an_edited_second_question_diverges_at_the_prompt(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(by_attempt(FIRST, SECOND)):
        run = played(opened, request(reask=1))
    monkeypatch.setattr(ChatPlayer, "follow_up", lambda _self, prompt, *_: Prompt(prompt.system, "Again!"))
    divergence = asyncio.run(replay_run(opened, run, reread=False)).divergence
    assert divergence is not None
    assert (divergence.turn, divergence.agent, divergence.layer) == (0, "miner-01", "prompt")
    assert "+Again!" in divergence.diff


@pytest.mark.parametrize(
    ("text", "told"), [("Again, {{ name }}!", "unknown placeholder name"), (None, "No such file")]
)
def test_a_second_question_that_cannot_be_put_is_told_before_the_run(
    opened: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | None, told: str
) -> None:
    shutil.copytree(prompt_set.ROOT, tmp_path / "prompts")
    monkeypatch.setattr(prompt_set, "ROOT", tmp_path / "prompts")
    file = tmp_path / "prompts" / "follow_up.en.md"
    file.write_text(text) if text else file.unlink()
    begin(opened, RunOptions("mining"))
    with pytest.raises(UsageError, match=rf"follow_up\.en\.md.*{told}"):
        begin(opened, RunOptions("mining", values={"reask": 1}))


def stopped_at(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch, stops: Callable[[Address], bool]
) -> None:
    """Play a run until a call that dies before it is sent."""
    reply = ChatPlayer.reply

    async def dying(self: ChatPlayer, address: Address, prompt: Prompt) -> Reply:
        if stops(address):
            raise ZeroDivisionError
        return await reply(self, address, prompt)

    with monkeypatch.context() as patched:
        patched.setattr(ChatPlayer, "reply", dying)
        with pytest.raises(ZeroDivisionError):
            asyncio.run(go_on(store, run, lambda _: None))


def test_stopped_between_the_questions_only_the_second_is_asked_again(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(by_attempt(FIRST, SECOND)) as asked:
        whole = played(opened, request(reask=1))
        asked.clear()
        run = begin(opened, request(reask=1))
        stopped_at(opened, run, monkeypatch, lambda address: address.attempt == 2)
        asyncio.run(go_on(opened, opened.runs.find(run.id), lambda _: None))
    assert asked == ["0/miner-01/1", "0/miner-01/2"]
    assert opened.runs.find(run.id).digest == whole.digest
    assert attempts(opened, run) == [(1, 1, "answered"), (2, 2, "answered")]


def test_an_answer_to_another_prompt_is_kept_beside_the_new_one(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two agents; stopped when only the first had answered, and taken up with another prompt."""
    with answering(lambda _: SECOND) as asked:
        run = begin(opened, RunOptions("mining", 2, models="openai:m", values={"rounds": 1}))
        stopped_at(opened, run, monkeypatch, lambda address: address.agent == "miner-02")
        monkeypatch.setattr(ChatPlayer, "prompt", lambda _self, _view: Prompt("system", "another"))
        before = opened.calls.attempts(run.id, 0)["miner-01"]
        asyncio.run(go_on(opened, opened.runs.find(run.id), lambda _: None))
    calls = opened.calls.attempts(run.id, 0)["miner-01"]
    assert calls[:1] == before
    assert [call.address.attempt for call in calls] == [1, 2]
    assert opened.calls.of_turn(run.id, 0)[0].prompt.turn == "another"
    assert len(asked) == len(set(asked))


def test_a_halted_run_that_is_stopped_again_still_asks_the_failed_again(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Halted by a failure, taken up and killed before anything was asked, taken up once more."""
    healthy = False
    with answering(lambda _: SECOND if healthy else BROKEN):
        run = begin(opened, request(on_failure="halt", rounds=2))
        with pytest.raises(Exception, match="halted: turn 0"):
            asyncio.run(go_on(opened, run, lambda _: None))
        stopped_at(opened, opened.runs.find(run.id), monkeypatch, lambda _: True)
        healthy = True
        assert opened.runs.find(run.id).status == "halted"
        asyncio.run(go_on(opened, opened.runs.find(run.id), lambda _: None))
    assert attempts(opened, run) == [(1, 1, "provider-error"), (2, 1, "answered"), (1, 1, "answered")]
    assert opened.runs.find(run.id).status == "finished"
