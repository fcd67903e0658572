"""Law 2: a failure is not a decision. Each over the wire, from a server that does it."""

import asyncio
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from hobbes.errors import HaltedRunError, HobbesError
from hobbes.nodes.caps import NO_CAPS
from hobbes.play.fork import ForkOptions, fork
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.prove.verification import verify
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from tests.commands.test_commands import refused
from tests.conftest import Cli
from tests.play.test_second_question import Answer, answering
from tests.small_runs import go, played


def completion(content: Any = "{}", finish_reason: str = "stop", **message: Any) -> Response:
    said = {"role": "assistant", "content": content, **message}
    return JSONResponse({"choices": [{"message": said, "finish_reason": finish_reason}]})


def asked_of(store: Store, answer: Answer, **values: Any) -> Run:
    with answering(answer):
        request = RunOptions("mining", agents=1, models="openai:m", values={"rounds": 1, **values})
        return played(store, request)


FAILURES: list[tuple[str, Answer, str]] = [
    ("a filter", lambda _: JSONResponse({"error": {"code": "content_filter"}}, 400), "refused"),
    ("an answer cut by its length", lambda _: completion('{"claim": [[0, 0]', "length"), "truncated"),
    ("a whole answer cut behind its end", lambda _: completion('{"claim": [[0, 0]]}', "length"), "truncated"),
    ("a refusal", lambda _: completion(None, refusal="I will not raid"), "refused"),
    ("prose", lambda _: completion("I would rather not play."), "unreadable"),
]
"""One answer for each outcome that is no decision; tests/wire has many."""


@pytest.mark.parametrize(("answer", "outcome"), [f[1:] for f in FAILURES], ids=[f[0] for f in FAILURES])
def test_a_call_that_gives_no_decision_ends_as_what_it_was(
    opened: Store, answer: Answer, outcome: str
) -> None:
    run = asked_of(opened, answer)
    result = opened.figures.result(run)
    assert result["outcomes"] == {outcome: 1}
    assert result["drops"] == {f"read/{outcome}": 1}
    assert result["tainted"]
    intent = next(opened.turns.of(run)).record.intents["miner-01"]
    assert intent["actions"] == []


def test_tokens_are_what_the_server_says_and_unknown_where_it_says_nothing(opened: Store) -> None:
    tokens = opened.figures.tokens(asked_of(opened, lambda _: completion()))
    assert tokens == {**dict.fromkeys(("in", "out", "cached", "cache_written", "reasoning")), "untold": 1}


def test_some_failures_are_borne_past_the_stated_share_the_run_is_tainted(opened: Store) -> None:
    def every_fourth(address: str) -> Response:
        return JSONResponse({}, 400) if address.startswith(("3/", "7/")) else completion()

    for share, tainted in ((0.25, False), (0.24, True)):
        run = asked_of(opened, every_fourth, rounds=8, taint_share=share)
        result = opened.figures.result(run)
        assert (result["outcomes"], result["tainted"]) == ({"answered": 6, "provider-error": 2}, tainted)


def test_where_failures_halt_no_default_is_taken_and_resume_asks_again(opened: Store) -> None:
    healthy = False

    def answer(address: str) -> Response:
        return completion() if healthy or not address.startswith("1/") else JSONResponse({}, 400)

    with answering(answer):
        values: dict[str, Any] = {"rounds": 3, "on_failure": "halt"}
        run = begin(opened, RunOptions("mining", agents=1, models="openai:m", values=values))
        ways_on = "`hobbes fork .* --turn 1 --model SPEC.*` plays on with other players, .*; `hobbes resume"
        with pytest.raises(HobbesError, match=f"halted: turn 1, miner-01: provider-error .*; {ways_on}"):
            asyncio.run(go_on(opened, run, lambda _: None))
        assert (opened.runs.find(run.id).status, opened.runs.find(run.id).turns) == ("halted", 1)
        healthy = True
        asyncio.run(go_on(opened, opened.runs.find(run.id), lambda _: None))
    ended = opened.runs.find(run.id)
    assert (ended.status, ended.turns) == ("finished", 3)
    attempts = opened.db.execute("select turn, attempt, outcome from calls order by 1, 2").fetchall()
    assert attempts == [(0, 1, "answered"), (1, 1, "provider-error"), (1, 2, "answered"), (2, 1, "answered")]
    assert not opened.figures.result(ended)["tainted"]


BEGGING = {"world": "trust", "models": "policy:beggar", "values": {"observer": "openai:a"}}
"""A game in which a model is asked as the observer only."""


def served(*refused: str, status: int = 401) -> Answer:
    """Refuse the calls whose address has one of these parts."""
    return lambda address: (
        JSONResponse({}, status) if any(one in address for one in refused) else completion()
    )


@pytest.mark.parametrize("status", [400, 401, 503])
@pytest.mark.parametrize("options", [{"models": "openai:a,openai:b,policy:guided"}, BEGGING])
def test_a_run_whose_models_answer_nothing_in_its_first_turn_halts_before_any_default_action(
    opened: Store, options: dict[str, Any], status: int
) -> None:
    with answering(served("/", status=status)):
        run = begin(opened, RunOptions(**{"world": "mining", "agents": 3, **options}, name="dead"))
        for _ in range(2):  # it halts again as long as nothing answers
            with pytest.raises(
                HaltedRunError, match=r"^run dead halted: turn 0: openai:. failed 1 call in a row;"
            ):
                go(opened, run)
    halted = opened.runs.find("dead")
    assert (halted.status, halted.turns, halted.setting.config.on_failure) == ("halted", 0, "default")


def test_a_run_goes_on_if_one_model_has_answered_in_its_first_turn(opened: Store) -> None:
    with answering(served("miner-01", "miner-02")):
        run = played(opened, RunOptions("mining", 3, models="openai:a*2,openai:b", values={"rounds": 1}))
    assert opened.figures.result(run)["outcomes"] == {"answered": 1, "provider-error": 2}


def test_a_run_that_halted_in_its_first_turn_is_resumed_with_other_players(opened: Store, cli: Cli) -> None:
    values: dict[str, Any] = {"rounds": 2}
    parent = played(opened, RunOptions("mining", 2, values=values))
    with answering(served("/")):
        fork(opened, parent, ForkOptions(1, "openai:wrong", name="dead"), NO_CAPS)
        told = str(refused(cli, "resume", "dead"))
        assert (
            "`hobbes resume dead` goes on, and with `--model SPEC` by other players; `hobbes delete dead`"
            in told
        )
    with answering(served()):
        assert cli("resume", "dead", "--model", "openai:right").exit_code == 0
    run = opened.runs.find("dead")
    assert (run.at(0).models, {*run.models.values()}) == (parent.models, {"openai:right"})
    assert list(verify(opened, run)) == []
    assert cli("replay", "dead").exit_code == 0
    players = [call.reply.player for call in opened.calls.attempts(run.id, 1)["miner-01"]]
    assert players == ["openai:wrong", "openai:right"]
    told = str(refused(cli, "resume", "dead", "--model", "policy:random"))
    assert "`hobbes fork dead --turn 2 --model policy:random` goes on in a new run" in told


def test_an_answer_that_arrived_is_kept_though_another_one_hits_a_bug(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hobbes.nodes.players import PolicyPlayer  # noqa: PLC0415  what is patched

    healthy = PolicyPlayer.reply

    async def buggy(self: PolicyPlayer, address: Any, prompt: Any) -> Any:
        if address.agent == "miner-01":
            raise ZeroDivisionError
        return await healthy(self, address, prompt)

    run = begin(opened, RunOptions("mining", agents=3, values={"rounds": 2}))
    monkeypatch.setattr(PolicyPlayer, "reply", buggy)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(go_on(opened, run, lambda _: None))
    assert [call.address.agent for call in opened.calls.of_turn(run.id, 0)] == ["miner-02", "miner-03"]
    monkeypatch.setattr(PolicyPlayer, "reply", healthy)
    asyncio.run(go_on(opened, opened.runs.find(run.id), lambda _: None))
    whole = played(opened, RunOptions("mining", agents=3, values={"rounds": 2}))
    assert opened.runs.find(run.id).digest == whole.digest
