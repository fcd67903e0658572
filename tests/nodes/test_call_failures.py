"""How failed model calls are handled, without a server: pauses, error lines, and giving a provider up."""

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hobbes.engine.answer import Outcome
from hobbes.engine.mining.world import MINING
from hobbes.engine.world import make_setting
from hobbes.nodes import call_failures, chat
from hobbes.nodes.breaker import GONE_AFTER, REFUSED_AFTER, Breaker, TryFailedError
from hobbes.nodes.call_failures import (
    failure_of,
    retry_after,
    with_retries,
)
from hobbes.nodes.chat import ChatPlayer, PlainClient
from hobbes.nodes.dialects import outcome_of_finish
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.journal import Address, Prompt
from hobbes.nodes.models import ModelSettings
from hobbes.nodes.pace import Pace
from hobbes.nodes.players import PolicyPlayer, parse_spec, with_rng
from hobbes.nodes.prompt_set import PromptSet
from hobbes.nodes.rate_limits import Limits, RateLimiter
from hobbes.nodes.secrecy import MAX_LINE_LENGTH, MAX_SEARCHED_LENGTH, SECRETS, safe_line
from tests.soak import examples

NOW = "Sat, 21 Nov 2026 12:00:00 GMT"
"""The date of the responses; the clock of this machine shows another one."""

WAITS: list[tuple[dict[str, str], float | None]] = [
    ({}, None),
    ({"Retry-After": "7"}, 7.0),
    ({"retry-after": " 7 "}, 7.0),
    ({"retry-after": "0.25"}, 0.25),
    ({"retry-after": "0"}, 0.0),
    ({"retry-after-ms": "250"}, 0.25),
    ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
    ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
    ({"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT"}, 30.0),
    ({"retry-after": "Sat, 21 Nov 2026 14:00:30 +0200"}, 30.0),
    ({"retry-after": "Sat, 21 Nov 2026 11:59:00 GMT"}, 0.0),  # it has passed
    ({"retry-after": "Sat, 21 Nov 2026 12:00:30 -0000"}, None),  # without a time zone
    ({"retry-after": "86400"}, 86400.0),
    ({"retry-after": "1e999"}, None),
    ({"retry-after": "inf"}, None),
    ({"retry-after": "9" * 5000}, None),
    ({"retry-after": "-5"}, None),
    ({"retry-after": "nan"}, None),
    ({"retry-after": "later"}, None),
    ({"retry-after": ""}, None),
]


@pytest.mark.parametrize(("headers", "seconds"), WAITS)
def test_retry_after_is_read_in_every_spelling(headers: Mapping[str, str], seconds: float | None) -> None:
    assert retry_after(httpx2.Headers({"date": NOW, **headers})) == seconds


HEADERS = ("retry-after", "retry-after-ms", "date")
"""All headers that say how long to wait."""

ODD = [
    "0", "1", "86400", "1e9", "1e308", "1e999", "inf", "-inf", "nan", "-1", "9" * 5000, "1.2.3", ".", "1..2",
    "99999h", f"{'9' * 5000}h", "1.2.3s", ".ms", "1d", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59",
    "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 +2359", "Fri, 31 Dec 99999 23:59:59 GMT",
]  # fmt: skip
"""What a server may write into them."""


def asked_twice(status: int, headers: Mapping[str, str]) -> list[float]:
    """Ask a server twice that answers with this status and these headers. Return all waits.

    A call may take 10 seconds.
    """
    waited: list[float] = []

    async def note(seconds: float) -> None:
        waited.append(seconds)

    async def send(_: PlainClient, request: httpx2.Request, **_options: object) -> httpx2.Response:
        body = {"choices": [{"message": {"role": "assistant", "content": "{}"}}]}
        return httpx2.Response(status, json=body, headers=dict(headers), request=request)

    async def asking() -> None:
        call_failures.wait.set(note)
        settings = ModelSettings(model="m", timeout=10)
        player = ChatPlayer(settings, "", PromptSet("mining", "guided", "en", "", "", ""))
        try:
            for turn in range(2):
                await player.reply(Address(turn, "ann"), Prompt("be", "play"))
        finally:
            await player.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlainClient, "send", send)
        asyncio.run(asking())
    return waited


@settings(deadline=None, max_examples=examples(40, 1_000))
@given(
    st.sampled_from([200, 429, 503, 529]),
    st.dictionaries(
        st.sampled_from(HEADERS),
        st.sampled_from(ODD) | st.from_regex(r"[ -~]{0,9}", fullmatch=True),
        min_size=1,
    ),
)
def test_no_header_makes_a_call_raise_or_wait_beyond_its_timeout(
    status: int, headers: dict[str, str]
) -> None:
    waited = asked_twice(status, headers)
    assert all(0 <= seconds <= 10 for seconds in waited)
    assert sum(waited) <= 20


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_asks_for_more_time_than_a_call_has_is_not_asked_again(status: int) -> None:
    assert asked_twice(status, {"retry-after": "11"}) == []
    assert set(asked_twice(status, {"retry-after": "4"})) == {4}


def test_an_error_line_contains_no_secret_and_no_part_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-0123456789")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-42")  # too short to count as a secret
    assert safe_line("wrong key 'canary-0123456789' of org-42") == "wrong key '(OPENAI_API_KEY)' of org-42"
    for shapeless in "\ue000\u0378\u0600":  # in the line, a blank stands for each
        assert safe_line(f"bad key canary-01{shapeless}23456789") == "bad key (OPENAI_API_KEY)"
    assert safe_line("wrong key sk-proj-abcd****wxyz!") == "wrong key (a key)!"
    for padding in range(
        MAX_SEARCHED_LENGTH - 20, MAX_SEARCHED_LENGTH + 2
    ):  # around where a long text is cut
        for blank in " \x00\u200b":
            assert "canary" not in safe_line(blank * padding + "canary-0123456789")


@given(st.text())
def test_an_error_line_is_one_short_printable_line(said: str) -> None:
    told = safe_line(said)
    assert len(told) <= MAX_LINE_LENGTH + 1
    assert told.isprintable()
    told.encode()


@pytest.mark.parametrize("said", ["\\", "model "])
def test_ten_megabytes_of_error_text_cost_no_more_than_its_beginning(
    said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in SECRETS:
        monkeypatch.setenv(variable, f"{variable}-0123456789")
    monkeypatch.setenv(
        "OPENAI_BASE_URL", "http://ann:canary-0123@localhost/v1?key=canary-4567&more=canary-89ab"
    )
    body = {"message": said * (10_000_000 // len(said)), "code": "x"}
    response = httpx2.Response(400, request=httpx2.Request("POST", "http://localhost"))
    began = time.process_time()
    failure_of(openai.BadRequestError("no", response=response, body=body))
    assert time.process_time() - began < 5.0


def tries_and_end(*failures: TryFailedError, patience: float = 600) -> list[object]:
    """Run a call whose tries fail in this way, then succeed. Return the number of tries and the result."""
    left, tries = list(failures), 0

    async def one_try() -> str:
        nonlocal tries
        tries += 1
        if left:
            raise left.pop(0)
        return "fine"

    try:
        ended = asyncio.run(with_retries(one_try, patience, call_failures.wait.get()))
    except TryFailedError as failure:
        ended = failure.message
    return [tries, ended]


def test_the_last_failure_decides_how_many_tries_a_call_may_have() -> None:
    transient, permanent = TryFailedError("503", tries=5), TryFailedError("401")
    slow = TryFailedError("slow", tries=2)
    assert tries_and_end() == [1, "fine"]
    assert tries_and_end(transient, transient) == [3, "fine"]
    assert tries_and_end(*[transient] * 5) == [5, "503"]
    assert tries_and_end(transient, permanent) == [2, "401"]
    assert tries_and_end(slow, slow) == [2, "slow"]
    assert tries_and_end(transient, transient, slow) == [3, "slow"]


def test_a_server_that_wants_fewer_requests_is_waited_for_as_long_as_a_call_may_take(
    waits: list[float],
) -> None:
    """0.5 + 1 + 2 + 4 s fit into 10 s, another 8 do not."""
    full = TryFailedError("429", tries=5, pause=0.2, waits=True)
    assert tries_and_end(*[full] * 9, patience=10) == [5, "429"]
    assert waits == [0.5, 1, 2, 4]
    assert tries_and_end(*[full] * 9, patience=600) == [10, "fine"]
    assert tries_and_end(*[full] * 1100, patience=8 * 1100) == [1101, "fine"]


def test_a_request_that_waits_for_those_of_other_runs_stops_with_its_run() -> None:
    limiter = RateLimiter()
    limiter.begin("m", Limits(parallel=1), 0)

    async def pause(_: float) -> None:
        raise HaltedError("--max-seconds 5 is reached")

    async def waiting() -> None:
        async with Pace(limiter, "m", ModelSettings(model="m", parallel=1), pause).slot(0):
            pytest.fail("there is no room for it")

    with pytest.raises(HaltedError):
        asyncio.run(waiting())


DOWN = TryFailedError("down", tries=5)
REFUSED = TryFailedError("who are you", about="refusal")
UNREAD = TryFailedError("no billing address", about="request")
TOO_LONG = TryFailedError("too long", about="prompt")


async def one_call(breaker: Breaker, failure: TryFailedError | None) -> None:
    """Make a call that ends in this way."""
    with contextlib.suppress(TryFailedError):
        async with breaker.call():
            if failure:
                raise failure


async def calls_in_a_row(*ended: TryFailedError | None) -> None:
    """Make calls that end in these ways, to the last one."""
    breaker = Breaker("openai:m")
    for failure in ended:
        await one_call(breaker, failure)


def gone_after(*ended: TryFailedError | None, answered: bool = False) -> int | None:
    """Return after how many calls with these ends a provider counts as gone; None if it does not."""

    async def calls() -> int | None:
        breaker = Breaker("openai:m", answered=answered)
        for number, failure in enumerate(ended, 1):
            await one_call(breaker, failure)
            if breaker.stop_reason:
                return number
        return None

    return asyncio.run(calls())


def test_a_run_stops_after_ten_provider_failures_in_a_row_and_not_before() -> None:
    assert gone_after(*[DOWN] * 12) == GONE_AFTER == 10
    for between in (None, TOO_LONG):
        assert gone_after(*[DOWN] * 9, between, *[DOWN] * 9) is None
    assert gone_after(None, *[DOWN] * 9, UNREAD, *[DOWN] * 9) is None
    assert gone_after(None, *[REFUSED] * 5, *[DOWN] * 5) == 11
    with pytest.raises(HaltedError, match=r"openai:m failed 10 calls in a row; the last error was .*: down"):
        asyncio.run(calls_in_a_row(*[DOWN] * 11))


def test_three_permanent_refusals_stop_a_run_whose_provider_never_answered() -> None:
    assert gone_after(*[REFUSED] * 4) == REFUSED_AFTER == 3
    assert gone_after(DOWN, REFUSED, REFUSED, DOWN, REFUSED, REFUSED, UNREAD, REFUSED, REFUSED, DOWN) == 10
    assert gone_after(TOO_LONG, REFUSED, REFUSED, TOO_LONG, REFUSED, REFUSED) is None
    assert gone_after(None, *[REFUSED] * 9) is None


def test_refused_requests_count_until_the_provider_has_answered_once() -> None:
    assert gone_after(*[UNREAD] * 12) == 10
    assert gone_after(*[UNREAD] * 5, *[DOWN] * 5) == 10
    assert gone_after(None, *[UNREAD] * 30) is None
    assert gone_after(*[TOO_LONG] * 30) is None


def at_once(*ends: Exception | None) -> tuple[list[int], list[object]]:
    """Begin all calls at once; each ends in its way when no other one can begin or go on.

    Return how many were under way whenever one began, and what was raised.
    """
    breaker, under_way, seen = Breaker("openai:m"), 0, list[int]()

    async def call(end: Exception | None) -> None:
        nonlocal under_way
        async with breaker.call():
            under_way += 1
            seen.append(under_way)
            for _ in range(200):  # until every other one has begun that may
                await asyncio.sleep(0)
            under_way -= 1
            if end:
                raise end

    async def calls() -> list[object]:
        return list(await asyncio.gather(*map(call, ends), return_exceptions=True))

    return seen, asyncio.run(calls())


def test_three_calls_are_under_way_until_the_first_answer_and_then_all() -> None:
    seen, raised = at_once(*[None] * 9)
    assert seen[:3] == [1, 2, 3]
    assert len(seen) == 9
    assert max(seen) >= 6
    assert raised == [None] * 9


def test_of_many_calls_at_once_three_are_sent_if_all_are_refused() -> None:
    seen, raised = at_once(*[REFUSED] * 9)
    assert seen == [1, 2, 3]
    assert [type(error) for error in raised] == [TryFailedError] * 3 + [HaltedError] * 6


def test_a_call_that_fails_in_passing_gives_its_place_to_the_next() -> None:
    seen, raised = at_once(*[DOWN] * 5, None, *[REFUSED] * 3)
    assert max(seen[:6]) == 3
    assert len(seen) == 9
    assert not any(isinstance(error, HaltedError) for error in raised)


def test_a_provider_that_refuses_two_calls_and_answers_the_third_is_there() -> None:
    _, raised = at_once(REFUSED, REFUSED, None, REFUSED, None)
    assert raised == [REFUSED, REFUSED, None, REFUSED, None]


def test_a_bug_in_a_call_does_not_keep_the_others_waiting() -> None:
    _, raised = at_once(*[KeyError("a bug")] * 3, None, None)
    assert raised[3:] == [None, None]


def test_refusals_stop_a_resumed_run_later_if_its_provider_answered_before() -> None:
    assert gone_after(*[REFUSED] * 12, answered=True) == GONE_AFTER


NO_SUCH_MODEL = [
    "The model `gpt-9` does not exist or you do not have access to it.",
    "gpt-9 is not a valid model ID",
    "Invalid model: gpt-9",
    "Invalid model name passed in model=gpt-9. Call `/v1/models` to view available models for your key.",
    "Model Not Exist",
    'model "gpt-9" not found, try pulling it first',
]


@pytest.mark.parametrize(
    ("message", "calls"),
    [*((said, REFUSED_AFTER) for said in NO_SUCH_MODEL), ("Your account has no billing address.", 10)],
)
def test_a_400_for_an_unknown_model_is_a_refusal(message: str, calls: int) -> None:
    request = httpx2.Request("POST", "http://h/v1")
    response = httpx2.Response(400, request=request)
    failure = call_failures.failure_of(
        openai.BadRequestError(message, response=response, body={"message": message})
    )
    assert gone_after(*[failure] * 12) == calls


def test_a_long_rate_limit_is_a_provider_failure_and_not_a_refusal() -> None:
    """A 429 that asks for more time than a call has ends it, but later calls may succeed."""
    asked = httpx2.Request("POST", "http://h/v1")
    response = httpx2.Response(429, headers={"retry-after": "70"}, request=asked)
    waits = call_failures.failure_of(openai.RateLimitError("slow down", response=response, body=None))
    tries, ended = tries_and_end(waits, patience=69)
    assert tries == 1
    assert "asks to wait 70 s: HTTP 429" in str(ended)
    assert gone_after(*[waits] * 12) == GONE_AFTER


CUT = '{"claim": [[0, 0], [0, 1]], "reasoning": "half'
FENCED = """Here: ```json
{"claim": [[0, 0]]}
```"""


@pytest.mark.parametrize(
    ("reason", "text", "failure"),
    [
        ("stop", CUT, None),  # the server says that it is complete, so it is repaired
        ("insufficient_system_resource", FENCED, Outcome.PROVIDER_ERROR),
        ("IMAGE_SAFETY", FENCED, Outcome.REFUSED),
        ("MAX_TOKENS", FENCED, Outcome.TRUNCATED),
        (None, CUT, Outcome.TRUNCATED),
        (None, FENCED, None),
        ("whatever", CUT, Outcome.TRUNCATED),
        ("whatever", FENCED, None),
        ("whatever", "", None),
    ],
)
def test_a_message_with_an_unknown_finish_reason_is_not_repaired(
    reason: str | None, text: str, failure: Outcome | None
) -> None:
    assert chat.ended(outcome_of_finish({"finish_reason": reason}), text) == failure


@pytest.mark.parametrize(
    ("spec", "name", "parameters"),
    [
        ("openai:gpt-5-mini", "gpt-5-mini", {}),
        ("openai:m?temperature=0.5", "m", {"temperature": 0.5}),
        ("openai-responses:m?temperature=0.5", "m", {"temperature": 0.5, "api": "responses"}),
        (
            "openai:org/m:free?max_tokens=800&temperature=0",
            "org/m:free",
            {"max_tokens": 800, "temperature": 0.0},
        ),
        ("openai:policy/guided?noise=0.1&max_tokens=9", "policy/guided?noise=0.1", {"max_tokens": 9}),
        ("openai:qwen3:8b?response_format=json_schema", "qwen3:8b", {"response_format": "json_schema"}),
    ],
)
def test_a_model_spec_may_have_parameters(spec: str, name: str, parameters: dict[str, Any]) -> None:
    parsed = parse_spec(MINING.policies, spec)
    assert (parsed.kind, parsed.name) == ("openai", name)
    assert parsed.settings == ModelSettings.model_validate({"model": name, **parameters})


@pytest.mark.parametrize(
    "spec", [f"openai:m?{wrong}" for wrong in ("temperature=3", "max_tokens=0", "response_format=xml")]
)
def test_parameters_out_of_range_are_refused(spec: str) -> None:
    with pytest.raises(ValueError, match="max_tokens"):
        parse_spec(MINING.policies, spec)


def test_a_policy_spec_takes_its_parameters_in_any_order() -> None:
    one, other = (
        parse_spec(MINING.policies, f"policy:guided?{said}")
        for said in ("noise=0.1&tremble=0.2&rng=own", "rng=own&tremble=0.2&noise=0.1")
    )
    assert one == other
    assert (one.noise, one.tremble, one.rng) == (0.1, 0.2, "own")


def test_draws_of_its_own_replace_those_that_a_spec_names() -> None:
    for said in ("rng=a&tremble=0.2", "tremble=0.2&rng=a", "tremble=0.2"):
        spec = with_rng(f"policy:guided?{said}", "b")
        assert (parse_spec(MINING.policies, spec).rng, parse_spec(MINING.policies, spec).tremble) == (
            "b",
            0.2,
        )


def test_a_policy_spec_takes_parameters_of_the_policys_own() -> None:
    assert parse_spec(MINING.policies, "policy:raider?greed=0.7&noise=0.1").parameters == {"greed": 0.7}
    assert parse_spec(MINING.policies, "policy:raider").parameters == {}


def test_a_players_parameters_reach_its_policy() -> None:
    setting = make_setting(MINING, MINING.names(2), 1, {"rows": 2, "cols": 4})
    state = MINING.setup(setting.config, setting.agents, setting.seed)
    land = replace(state, owners=(("miner-02",) * 4,) * 2)
    raids = []
    for greed in ("0.1", "0.6"):
        player = PolicyPlayer(MINING, parse_spec(MINING.policies, f"policy:raider?greed={greed}"), 1)
        prompt = player.prompt(MINING.observe(land, "miner-01"))
        reply = asyncio.run(player.reply(Address(0, "miner-01", 1), prompt))
        raids.append(len(json.loads(reply.text)["raid"]))
    assert raids == [1, 6]
