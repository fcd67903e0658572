"""What real servers do, over the wire, from the stand-in server that does it: how each call ends.

The table of docs/failures.md, played. A call is tried at most 5 times, at most twice if it timed out.
"""

import asyncio
import json
import re
import signal
import tracemalloc
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

import pytest
from starlette.responses import JSONResponse

from hobbes.engine.answer import Outcome
from hobbes.engine.mining.world import MINING
from hobbes.errors import HobbesError
from hobbes.nodes import breaker, call_failures, chat
from hobbes.nodes.chat import ChatPlayer
from hobbes.nodes.journal import Address, Prompt, Reply
from hobbes.nodes.models import ModelSettings
from hobbes.nodes.prompt_set import PromptSet
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import Store, open_store
from hobbes.wire.recorder import environment
from tests import faults
from tests.conftest import Cli
from tests.faults import ANSWER, FAULTS, PROSE, cuttable, failing
from tests.forking import Command
from tests.play.test_second_question import answering
from tests.small_runs import played

Start = Callable[..., Command]

KEY = "canary-0123456789"

TOLD = {
    "tool-calls": "tool calls and no content: .*'act'",
    "refusal": re.escape(PROSE),
    "filter-400": "HTTP 400: The prompt was filtered",
    "finish-error": "HTTP 200, but not a completion: error: broken off, .* error$",
    "error-in-choice": "HTTP 200, but not a completion: error 502: upstream died",
    "error-200": "HTTP 200, but not a completion: error 502: upstream is down",
    "quota-200": "HTTP 200, but not a completion: error insufficient_quota: no credit",
    "html-200": "HTTP 200, but not a completion: a web page: Bad gateway$",
    "odd-charset": "HTTP 200, but not a completion: a web page: Bad gateway$",
    "broken-json": 'HTTP 200, but not a completion: {"id"',
    "cut-before-headers": r"connection lost: \w+",
    "cut-in-headers": r"connection lost: \w+",
    "cut-in-body": r"connection lost: \w+",
    "no-http": "connection lost: ClientResponseError 400, message=.*SSH-2.0",
    "endless-body": "ResponseTooLongError more than 10000000 bytes",
    "gzip-bomb": "ResponseTooLongError more than 10000000 bytes",
    "html-502": "HTTP 502: a web page: Bad gateway$",
    "error-500": "HTTP 500: The server had an error",
    "error-503": "HTTP 503: The model is loading",
    "overloaded-529": "HTTP 529: Overloaded",
    "flex-unavailable": "HTTP 429: Resource unavailable",
    "error-408": "HTTP 408: ",
    "error-409": "HTTP 409: ",
    "wait-seconds": "HTTP 429: slow down",
    "wait-fraction": "HTTP 429: slow down",
    "wait-milliseconds": "HTTP 429: slow down",
    "wait-date": "HTTP 429: slow down",
    "wait-a-day": "asks to wait 86400 s: HTTP 429: come back tomorrow",
    "quota": "HTTP 429: You exceeded your current quota",
    "error-400": "HTTP 400: We could not parse the body",
    "no-model": "HTTP 400: policy/guided is not a valid model ID",
    "key-echo": r"HTTP 401: .* provided: \(OPENAI_API_KEY\)\. \[31mAsk",
    "redirect": "HTTP 307: redirects to http://elsewhere.invalid/v1/chat/completions, which is not asked",
    "error-403": "HTTP 403: Your country",
    "error-404": "HTTP 404: There is no such model",
    "overflow-openai": "context overflow: HTTP 400: This model's maximum",
    "overflow-vllm": "context overflow: HTTP 400: This model's maximum",
    "overflow-llama": "context overflow: HTTP 400: the request exceeds",
    "overflow-anthropic": "context overflow: HTTP 400: input length and",
    "overflow-gemini": "context overflow: HTTP 400: The input token count",
    "no-response-format": "sent without response_format: the server refuses it",
    "stall": "timed out: TimeoutError",
}
"""What is told of a call that meets a fault at every try, as a pattern; nothing of the others."""


def documented() -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield each fault with how its call ends, and after how many tries, as docs/failures.md says."""
    page = (Path(__file__).parents[2] / "docs" / "failures.md").read_text(encoding="utf-8")
    rows = [line.split("|")[2:5] for line in page.splitlines() if line.count("|") == 6]
    for names, outcome, tries in rows:
        for name in re.findall(r"`([\w-]+)`", names):
            if tries.strip() == "1 more":  # only response_format is sent to every model
                yield name, ("answered", 2 if name == "no-response-format" else 1)
            else:
                yield name, (re.split("[,;:]", outcome)[0].strip(), int(tries))


OUTCOMES = dict(documented())

ALONE = {"stall"}
"""What has a test of its own, since all calls of a run have the same time."""


@contextmanager
def served(shares: Mapping[str, float]) -> Iterator[str]:
    """Serve with these faults, and let runs ask there."""
    with (
        cuttable(failing(shares)) as base,
        environment(OPENAI_BASE_URL=base, OPENAI_API_KEY=KEY),
    ):
        yield base


def log_of(base: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{base.removesuffix('/v1')}/stats") as answer:  # noqa: S310  our own server
        log: list[dict[str, Any]] = json.load(answer)["log"]
    return log


def asked(times: int = 1, **settings: Any) -> list[Reply]:
    """Ask a chat model some times in a row, with the same prompt."""
    view = MINING.observe(MINING.setup(MINING.config(rounds=1), ("a", "b"), 1), "a")
    prompt = Prompt("system", json.dumps(view))

    async def asking() -> list[Reply]:
        mind = ChatPlayer(
            ModelSettings(model="policy/guided", **settings),
            "system",
            PromptSet("mining", "guided", "en", "", "", ""),
        )
        try:
            return [await mind.reply(Address(turn, "a"), prompt) for turn in range(times)]
        finally:
            await mind.close()

    return asyncio.run(asking())


def test_every_fault_is_documented() -> None:
    assert OUTCOMES.keys() == FAULTS.keys()


BY_RESPONSES = {"finish-error": "HTTP 200, but not a completion: "}
"""What is told otherwise of a fault of the Responses API."""


@pytest.mark.parametrize("player", ["openai", "openai-responses"])
def test_each_fault_ends_its_call_as_what_it_was(
    player: str, opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_responses = player == "openai-responses"
    told = {**TOLD, **(BY_RESPONSES if by_responses else {})}
    names = [name for name in OUTCOMES if name not in ALONE]

    def by_agent(_shares: object, address: str, _time: int) -> str:
        return names[int(address.split("/")[1].removeprefix("miner-")) - 1]

    monkeypatch.setattr(faults, "draw_fault", by_agent)
    monkeypatch.setattr(breaker, "GONE_AFTER", len(names))
    monkeypatch.setattr(breaker, "REFUSED_AFTER", len(names))
    with served({}) as base:
        request = RunOptions("mining", len(names), models=f"{player}:policy/guided", values={"rounds": 1})
        run = played(opened, request)
        done = Counter(entry["address"] for entry in log_of(base))
    calls = dict(zip(names, opened.calls.of_turn(run.id, 0), strict=True))
    found = {name: (call.outcome, call.reply.tries) for name, call in calls.items()}
    tries = calls["wait-date"].reply.tries
    assert tries in {78, 79}  # a date has whole seconds, so that it asks to wait for one or two
    found["wait-date"] = Outcome.PROVIDER_ERROR, 79
    assert found == {name: OUTCOMES[name] for name in names}
    untold = [n for n, call in calls.items() if not re.match(told.get(n, "$"), call.reply.error)]
    assert untold == []
    assert {str(call.address): call.reply.tries for call in calls.values()} == done
    thought = {n: call.reply for n, call in calls.items() if call.reply.reasoning == "First, I look around."}
    assert {name: reply.reasoning_source.value for name, reply in thought.items()} == {
        **dict.fromkeys(("reasoning-content", "reasoning"), "summary" if by_responses else "trace"),
        **dict.fromkeys(("thinking-parts", "think-tags"), "trace"),
        **dict.fromkeys(("reasoning-details", "thought-tags"), "summary"),
    }
    assert KEY not in "\n".join(opened.connection.iterdump())


def test_a_stalled_call_times_out_and_is_tried_once_more() -> None:
    with served({"stall": 1.0}) as base:
        (reply,) = asked(timeout=0.5)
        assert len(log_of(base)) == OUTCOMES["stall"][1]
    assert (reply.failure, reply.tries) == OUTCOMES["stall"]
    assert reply.error == TOLD["stall"]


def test_a_server_that_has_nothing_at_an_address_without_v1_is_told_with_a_question() -> None:
    with served({}) as base, environment(OPENAI_BASE_URL=base.removesuffix("/v1")):
        (reply,) = asked()
    assert reply.error.startswith("HTTP 404 (does the address end in /v1?): ")


@pytest.mark.parametrize("fault", ["endless-body", "gzip-bomb"])
def test_a_response_without_end_is_given_up_in_bounded_memory(fault: str) -> None:
    """What is read of it at most, and as much again for all else; unbounded it is gigabytes."""
    with served({fault: 1.0}):
        tracemalloc.start()
        asked()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < 2 * chat.MAX_BODY_BYTES


WAITS = [("wait-seconds", 1.0), ("wait-fraction", 0.25), ("wait-milliseconds", 0.25)]


@pytest.mark.parametrize(("name", "seconds"), WAITS)
def test_a_server_is_given_the_time_that_it_asks_for(name: str, seconds: float, waits: list[float]) -> None:
    with served({name: 1.0}):
        asked(timeout=8)
    assert waits == [max(seconds, least) for least in (0.5, 1, 2, 4)]


def test_own_pauses_lie_below_limits_that_double(waits: list[float]) -> None:
    """0.5, 1, 2 and 4 s are the limits before the second, third, fourth and fifth try."""
    with served({"error-500": 1.0}):
        asked()
    assert [0 <= wait <= limit for wait, limit in zip(waits, (0.5, 1, 2, 4), strict=True)] == [True] * 4


REFUSED: list[tuple[dict[str, float], dict[str, Any], list[int], str]] = [
    # the refused parameter is left out at the second try, and in later calls from the first
    (
        {"no-temperature": 1.0},
        {"temperature": 0.5, "response_format": "none"},
        [2, 1, 1],
        "without temperature",
    ),
    ({"no-temperature": 1.0}, {"temperature": 0}, [2, 1, 1], "without temperature"),
    ({"no-response-format": 1.0}, {}, [2, 1, 1], "without response_format"),
    # it goes under its other name
    ({"no-max-tokens": 1.0}, {"max_tokens": 99}, [2, 1, 1], "with max_completion_tokens for max_tokens"),
    (
        {"no-max-completion-tokens": 1.0},
        {"extra_body": {"max_completion_tokens": 99}},
        [2, 1, 1],
        "with max_tokens for max_completion_tokens",
    ),
]


def test_what_a_server_refused_is_told_at_the_end_of_a_run_and_by_doctor(opened: Store, cli: Cli) -> None:
    (opened.home / "models.toml").write_text('cold = { model = "policy/guided", temperature = 0 }')
    with served({"no-temperature": 1.0}):
        told = cli("run", "mining", "--rounds", "1", "--agents", "2", "--model", "cold").stdout
        found = json.loads(cli("doctor", "--json").stdout)["models"]
    assert "cold was asked without temperature" in told
    assert found["cold"]["left_out"] == "without temperature"
    run = opened.runs.find("last")
    assert opened.figures.result(run)["left_out"] == {"cold": ["without temperature"]}


@pytest.mark.parametrize(("shares", "parameters", "tries", "told"), REFUSED)
def test_a_refused_parameter_is_sent_once_and_every_answer_without_it_says_so(
    shares: dict[str, float], parameters: dict[str, Any], tries: list[int], told: str
) -> None:
    with served(shares):
        replies = asked(3, **parameters)
    assert [reply.failure for reply in replies] == [None] * 3
    assert [reply.tries for reply in replies] == tries
    assert [reply.error for reply in replies] == [f"sent {told}: the server refuses it"] * 3


def test_parameters_that_are_refused_under_both_names_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three refusals, of `temperature`, `max_tokens` and `max_completion_tokens`: the fourth try is it.

    The second answer refuses something else, in prose.
    """
    order = iter(["no-temperature", "no-max-tokens", "no-max-completion-tokens", ANSWER, "refusal"])
    monkeypatch.setattr(faults, "draw_fault", lambda *_: next(order))
    with served({}):
        replies = asked(2, temperature=1, max_tokens=99)
    assert [(reply.failure, reply.tries) for reply in replies] == [(None, 4), (Outcome.REFUSED, 1)]
    told = "sent without temperature, without max_tokens: the server refuses it"
    assert [reply.error for reply in replies] == [told, f"{told}; {PROSE}"]


@pytest.mark.parametrize("fault", ["overflow-vllm", "overflow-anthropic", "overflow-gemini"])
def test_an_overflow_that_names_a_parameter_refuses_none(fault: str) -> None:
    with served({fault: 1.0}):
        replies = asked(2, max_tokens=99)
    assert [reply.tries for reply in replies] == [1, 1]


def test_transient_errors_leave_no_trace_in_a_run(opened: Store) -> None:
    """A share of 0.3 of failures that pass: 0.3^5 is a call in 400, and none of these 48."""
    passing = [name for name, (_, tries) in OUTCOMES.items() if tries == call_failures.TRIES]
    request = RunOptions("mining", 6, models="openai:policy/guided", values={"rounds": 8})
    with served({}):
        whole = played(opened, request)
    with served(dict.fromkeys(passing, 0.3 / len(passing))) as base:
        run = played(opened, request)
        log = log_of(base)
    assert run.digest == whole.digest
    assert opened.figures.result(run)["outcomes"] == {"answered": 48}
    tries = {
        str(call.address): call.reply.tries
        for turn in range(8)
        for call in opened.calls.of_turn(run.id, turn)
    }
    assert Counter(entry["address"] for entry in log) == tries
    assert max(tries.values()) > 1


def test_a_run_whose_provider_is_gone_stops_and_goes_on_where_it_stopped(opened: Store) -> None:
    """Ten calls in a row: turn 1 ends with 6 default actions, turn 2 stops when its 6 calls have ended."""
    request = RunOptions("mining", 6, models="openai:policy/guided", values={"rounds": 4, "taint_share": 0.5})
    with answering(lambda address: "{}" if address.startswith("0/") else JSONResponse({}, 503)):
        run = begin(opened, request)
        gone = r"halted: turn 2: openai:policy/guided failed 12 calls in a row; .* `hobbes resume"
        with pytest.raises(HobbesError, match=gone):
            asyncio.run(go_on(opened, run, lambda _: None))
    halted = opened.runs.find(run.id)
    assert (halted.status, halted.turns) == ("halted", 2)
    with served({}):
        asyncio.run(go_on(opened, halted, lambda _: None))
    ended = opened.figures.result(opened.runs.find(run.id))
    assert (ended["over"], ended["tainted"]) == (True, False)
    decided = [call.outcome for turn in (2, 3) for call in opened.calls.of_turn(run.id, turn)]
    assert decided == ["answered"] * 12


def test_a_wrong_model_name_stops_a_run_in_which_another_model_answers(opened: Store) -> None:
    """The other model's ten answers are kept; the agents of the wrong one decide after `resume`."""
    (opened.home / "models.toml").write_text('wrong = { model = "policy/nobody" }')
    request = RunOptions("mining", 20, models="openai:policy/guided*10,wrong", values={"rounds": 1})
    with served({}):
        run = begin(opened, request)
        with pytest.raises(
            HobbesError, match=r"turn 0: wrong failed 3 calls in a row; .*no model 'policy/nobody'"
        ):
            asyncio.run(go_on(opened, run, lambda _: None))
    halted = opened.runs.find(run.id)
    assert halted.turns == 0
    assert Counter(call.outcome for call in opened.calls.of_turn(run.id, 0))[Outcome.ANSWERED] == 10


def after_an_answer(fault: str, every: int) -> Callable[..., str]:
    """Answer the first of so many turns, and fail the others."""
    return lambda _shares, address, _time: ANSWER if int(address.split("/")[0]) % every == 0 else fault


@pytest.mark.parametrize(("fault", "every", "answered"), [("error-400", 100, 1), ("error-403", 10, 3)])
def test_a_provider_that_answered_once_or_once_in_ten_calls_does_not_stop_a_run(
    fault: str, every: int, answered: int, opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused request after an answer never stops it; other failures do, ten in a row: here are nine."""
    monkeypatch.setattr(faults, "draw_fault", after_an_answer(fault, every))
    with served({}):
        run = played(opened, RunOptions("mining", 1, models="openai:policy/guided", values={"rounds": 25}))
    assert opened.figures.result(run)["outcomes"] == {"provider-error": 25 - answered, "answered": answered}


INTERRUPTED = 130


@pytest.mark.parametrize("fault", ["stall", "error-500"])
def test_an_interrupted_call_leaves_no_trace_and_is_asked_again(
    fault: str, home: Path, process: Start
) -> None:
    """Interrupted while a server stalls, and while a call waits for its next try."""
    with served({fault: 1.0}) as base:
        command = ("run", "mining", "--agents", "2", "--rounds", "1", "--name", "stopped")
        player = process(*command, "--model", "openai:policy/guided")
        while len(log_of(base)) < 2:
            with pytest.raises(TimeoutExpired):  # as long as it plays
                player.wait(timeout=0.01)
        player.send_signal(signal.SIGINT)
        assert player.wait() == INTERRUPTED
    with served({}), open_store(home) as opened:
        asyncio.run(go_on(opened, opened.runs.find("stopped"), lambda _: None))
        assert opened.figures.result(opened.runs.find("stopped"))["outcomes"] == {"answered": 2}
