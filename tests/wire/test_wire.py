"""Whatever a server sends, a call ends as one of the outcomes, and what it sent can be kept."""

import asyncio
import gzip
import json
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from hobbes.errors import HaltedRunError, HobbesError, UsageError
from hobbes.nodes import breaker, call_failures, chat, prompt_set, secrecy
from hobbes.nodes.chat import ADDRESS_HEADER
from hobbes.nodes.journal import Call
from hobbes.nodes.models import ModelSettings, server_address
from hobbes.nodes.reading import MAX_LENGTH
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import Store
from hobbes.wire.recorder import environment, in_thread
from hobbes.wire.stand_in import stand_in
from tests.conftest import LiveCallError
from tests.faults import Cut, cuttable
from tests.forking import Command
from tests.small_probes import variant
from tests.small_runs import played

HALF = "\\ud800"
"""Half of a surrogate pair, as JSON spells it."""


def choice(**message: Any) -> str:
    return json.dumps({"choices": [{"message": {"role": "assistant", **message}, "finish_reason": "stop"}]})


BODIES: list[tuple[str, str]] = [
    ("null", "provider-error"),
    ("[]", "provider-error"),
    ("7", "provider-error"),
    ("{}", "provider-error"),
    ('{"choices": null}', "provider-error"),
    ('{"choices": []}', "provider-error"),
    ('{"choices": {}}', "provider-error"),
    ('{"choices": "all"}', "provider-error"),
    ('{"choices": [null]}', "provider-error"),
    ('{"choices": [7]}', "provider-error"),
    ('{"choices": [{}]}', "provider-error"),
    ('{"choices": [{"message": null}]}', "provider-error"),
    ('{"choices": [{"message": "{}"}]}', "provider-error"),
    ('{"choices": [{"message": {}}]}', "provider-error"),
    ('{"choices": [{"message": {"role": "assistant"}}]}', "unreadable"),
    ('{"choices": [{"message": {"role": "user", "content": "{}"}}]}', "provider-error"),
    ('{"choices": [{"message": {"role": "oracle", "content": "{}"}}]}', "provider-error"),
    (choice(content=7), "provider-error"),
    (choice(content={"claim": []}), "provider-error"),
    (choice(content=[{"type": "text", "text": "{}"}]), "answered"),
    (choice(content="{}", tool_calls=[]), "answered"),
    (choice(content="{}", tool_calls=7), "provider-error"),
    (choice(content="{}", reasoning=7), "answered"),
    (choice(content="{}", refusal=7), "refused"),
    (choice(content='{"memory": "' + HALF + '"}'), "answered"),
    (choice(content="{}").replace('"{}"', f'"{{}}{HALF}"'), "answered"),
    (choice(content="{}", reasoning="?").replace('"?"', f'"{HALF}"'), "answered"),
    (choice(content="{}")[:-1] + f', "model": "{HALF}"}}', "answered"),
    (choice(content="{}")[:-1] + ', "model": {"name": "m"}}', "answered"),
    (choice(content="{}")[:-1] + ', "model": null}', "answered"),
    (choice(content="{}")[:-1] + ', "usage": null}', "answered"),
    (choice(content="{}")[:-1] + ', "usage": {}}', "answered"),
    (choice(content="{}")[:-1] + ', "usage": 7}', "answered"),
    (choice(content="{}")[:-1] + ', "usage": {"prompt_tokens": "many", "completion_tokens": 1}}', "answered"),
    (choice(content="{}")[:-1] + ', "usage": {"prompt_tokens": 1e99, "completion_tokens": {}}}', "answered"),
    (choice(content="{}")[:-1] + f', "usage": {{"cost": NaN, "x": "{HALF}"}}}}', "answered"),
    (choice(content="{}")[:-1] + ', "usage": {"cost": true, "prompt_tokens_details": [1]}}', "answered"),
    (choice(content="{}")[:-1] + f', "usage": {{"prompt_tokens": {10**30}}}}}', "answered"),
    (choice(content="{}")[:-1] + ', "id": 7, "error": null}', "answered"),
    (choice(content="{}")[:-1] + ', "error": {"message": "down"}}', "provider-error"),
    ("[" * 100_000, "provider-error"),
]


REASONS: list[tuple[object, str]] = [
    *((word, "truncated") for word in ("length", "LENGTH", "MAX_TOKENS", "max_output_tokens")),
    *((word, "truncated") for word in ("model_length", "model_context_window_exceeded")),
    *((word, "refused") for word in ("content_filter", "SAFETY", "RECITATION", "PROHIBITED_CONTENT")),
    *((word, "refused") for word in ("BLOCKLIST", "SPII", "refusal", "guardrail_intervened")),
    *((word, "provider-error") for word in ("error", "abort", "aborted", "CANCELLED")),
    *((word, "repaired") for word in ("stop", "end_turn", "eos")),
    *((word, "truncated") for word in ("", None, 7, {"error": ["length"]}, "a new word")),
]
"""Why a message ended with half an object in it: how its call ended."""


def test_a_finish_reason_is_known_in_whatever_words_a_server_has_for_it(opened: Store) -> None:
    half = {"message": {"role": "assistant", "content": '{"memory": "we'}}
    answers = [Response(json.dumps({"choices": [{**half, "finish_reason": why}]})) for why, _ in REASONS]
    assert outcomes(opened, answers) == [ended for _, ended in REASONS]


def test_an_error_in_a_choice_is_the_status_that_it_names(opened: Store) -> None:
    """403 is final, 503 may pass, and so does what names none."""
    whole = {"message": {"role": "assistant", "content": "{}"}, "finish_reason": "stop"}
    errors: list[object] = [{"code": 403}, {"code": 503}, "died", {"message": "died"}, None, {}]
    answers = [Response(json.dumps({"choices": [{**whole, "error": error}]})) for error in errors]
    ended = [(call.outcome, call.reply.tries) for call in calls_answered(opened, answers)]
    failed = [("provider-error", tries) for tries in (1, 5, 5, 5)]
    assert ended == [*failed, ("answered", 1), ("answered", 1)]


NAMES = [
    ("gpt-5", "human", "openai:human"),
    ("gpt-5", "given", "openai:given"),
    ("gpt-5", "policy/guided", "openai:policy/guided"),
    ("gpt-5", "python/a.py:A", "openai:python/a.py:A"),
    ("gpt-5", "gpt-5-2026-01-01", "gpt-5-2026-01-01"),
    ("policy/guided", "policy/guided", "policy/guided"),
    ("policy/guided", "human", "openai:human"),
    ("human", "", "openai:human"),
]


@pytest.mark.parametrize(("asked", "told", "kept"), NAMES)
def test_a_server_cannot_call_its_model_a_person_or_a_program(
    opened: Store, asked: str, told: str, kept: str
) -> None:
    """What is free is not counted by `max_calls`; the second call is a failure, which has the model asked."""
    answers = [Response(choice(content="{}")[:-1] + f', "model": "{told}"}}'), Response("no", 400)]
    with each_agent_its_own(answers):
        run = played(opened, RunOptions("mining", 2, models=f"openai:{asked}", values={"rounds": 1}))
    first, second = opened.calls.of_turn(run.id, 0)
    assert first.reply.model == kept
    assert second.reply.model == (kept if asked == "human" else asked)
    assert opened.figures.spent(run).calls == 2


TOKENS = [(0, 0), (2**40 - 1, 2**40 - 1), (2**40, None), (2**62, None), (10**30, None), (-1, None)]


def test_an_impossible_token_count_is_unknown(opened: Store) -> None:
    """Sums of larger ones would be larger than SQLite's integers are."""
    usage = [{"prompt_tokens": n, "completion_tokens": n, "total_tokens": n} for n, _ in TOKENS]
    answers = [Response(choice(content="{}")[:-1] + f', "usage": {json.dumps(said)}}}') for said in usage]
    replies = [call.reply for call in calls_answered(opened, answers)]
    assert [(reply.tokens_in, reply.tokens_out) for reply in replies] == [(n, n) for _, n in TOKENS]


@contextmanager
def each_agent_its_own(answers: list[Response]) -> Iterator[str]:
    """Serve the first answer to miner-01, the second to miner-02, and so on; give the base URL."""

    async def completions(request: HttpRequest) -> Response:
        agent = request.headers[ADDRESS_HEADER].split("/")[1]
        return answers[int(agent.removeprefix("miner-")) - 1]

    app = Starlette(routes=[Route("/v1/chat/completions", completions, methods=["POST"])])
    with cuttable(app) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        yield base


def calls_answered(store: Store, answers: list[Response], model: str = "openai:m") -> list[Call]:
    """Play one round in which each agent is answered so; return the calls in the order of the agents."""
    with each_agent_its_own(answers), suppress(HaltedRunError):  # if none of them is an answer
        played(store, RunOptions("mining", agents=len(answers), models=model, values={"rounds": 1}))
    return store.calls.of_turn(store.runs.find("last").id, 0)


def outcomes(store: Store, answers: list[Response], model: str = "openai:m") -> list[str]:
    return [call.outcome for call in calls_answered(store, answers, model)]


def test_a_completion_of_any_shape_is_an_outcome_and_no_crash(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(breaker, "GONE_AFTER", len(BODIES))
    answers = [Response(body, media_type="application/json") for body, _ in BODIES]
    ended = outcomes(opened, answers)
    wrong = [(*case, end) for case, end in zip(BODIES, ended, strict=True) if case[1] != end]
    assert wrong == []


def test_a_connection_that_breaks_off_is_the_providers_error(opened: Store) -> None:
    short = Response("{}", headers={"content-length": "2000"}, media_type="application/json")
    packed = Response("no gzip", headers={"content-encoding": "gzip"}, media_type="application/json")
    lost = Response(status_code=302, headers={"location": "nowhere://"})
    assert outcomes(opened, [short, packed, lost]) == ["provider-error"] * 3


@pytest.mark.parametrize("status", [200, 400, 500])
def test_no_charset_that_a_header_names_is_used(opened: Store, status: int) -> None:
    names = ("hex", "zlib", "undefined", "rot13", "idna", "utf-16", "no-such")
    answers = [Response(b"oops \xff..", status, media_type=f"text/html; charset={name}") for name in names]
    errors = [call.reply.error for call in calls_answered(opened, answers)]
    assert [error.rpartition(": ")[2] for error in errors] == ["oops \ufffd.."] * len(names)


ODD_HEADS = [
    "hello there\r\n\r\n",
    "HTTP/1.1 200 \xff\xfe\r\ncontent-length: 2\r\n\r\n{}",
    "HTTP/1.1 200 OK\r\nx-\xe9: 1\r\ncontent-length: 2\r\n\r\n{}",
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
    "HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\n{}",
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx: " + "x" * 100_000 + "\r\n\r\n{}",
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n" + "x: 1\r\n" * 10_000 + "\r\n{}",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "HTTP/1.1 307 X\r\nlocation: /a\x00b\r\ncontent-length: 0\r\n\r\n",
]
"""What is no HTTP, or none that is read, as Latin-1."""


def test_a_response_that_is_not_http_is_a_lost_connection(opened: Store) -> None:
    calls = calls_answered(opened, [Cut(head.encode("latin-1")) for head in ODD_HEADS])
    assert [(call.outcome, call.reply.tries) for call in calls] == [("provider-error", 5)] * len(ODD_HEADS)


def test_a_query_in_the_base_url_goes_after_the_path_and_is_never_told(opened: Store) -> None:
    """The first agent is answered with the address that it asked; the second with what is no HTTP."""
    asked = []

    async def completions(request: HttpRequest) -> Response:
        asked.append(f"{request.url.path}?{request.url.query}")
        last = "miner-02" in request.headers[ADDRESS_HEADER]
        return Cut(b"hello there\r\n\r\n") if last else Response(choice(content="{}"))

    app = Starlette(routes=[Route("/v1/chat/completions", completions, methods=["POST"])])
    with cuttable(app) as base:
        base_url = f"{base}?key=canary%2B0123&v=2"
        with environment(OPENAI_BASE_URL=base_url, OPENAI_API_KEY="none"):
            run = played(opened, RunOptions("mining", agents=2, models="openai:m", values={"rounds": 1}))
    assert {*asked} == {"/v1/chat/completions?key=canary%2B0123&v=2"}
    first, second = opened.calls.of_turn(run.id, 0)
    assert (first.outcome, second.outcome) == ("answered", "provider-error")
    assert re.search(r"url='.*\(OPENAI_BASE_URL\)", second.reply.error)
    assert "canary" not in "\n".join(opened.connection.iterdump())


def test_what_is_twice_or_empty_in_a_query_is_sent_so(opened: Store) -> None:
    asked = []

    async def completions(request: HttpRequest) -> Response:
        asked.append(request.query_params.multi_items())
        return Response(choice(content="{}"))

    app = Starlette(routes=[Route("/v1/chat/completions", completions, methods=["POST"])])
    with in_thread(app) as base, environment(OPENAI_BASE_URL=f"{base}?a=1&a=2&b=", OPENAI_API_KEY="none"):
        played(opened, RunOptions("mining", agents=1, models="openai:m", values={"rounds": 1}))
    assert asked == [[("a", "1"), ("a", "2"), ("b", "")]]


def test_a_server_that_sends_blanks_while_it_thinks_times_out(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def blanks() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.01)

    monkeypatch.setattr(call_failures, "TRIES_AFTER_TIMEOUT", 1)
    (opened.home / "models.toml").write_text('quick = { model = "m", timeout = 0.2 }')
    answers = [StreamingResponse(blanks()), Response(choice(content="{}"))]
    assert outcomes(opened, answers, "quick") == ["timed-out", "answered"]


def test_a_response_is_read_up_to_a_number_of_bytes_as_they_come_and_unpacked(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound here is 1000 bytes; what follows a gzip's end unpacks to nothing, but it comes.

    What is packed twice is not unpacked at all: it could keep the process busy, and bring nothing.
    """
    full, over = (choice(content="{}").ljust(size).encode() for size in (1000, 1001))
    packed = {"content-encoding": "gzip"}
    monkeypatch.setattr(chat, "MAX_BODY_BYTES", 1000)
    assert outcomes(
        opened,
        [
            Response(full),
            Response(over),
            Response(over, 400),
            Response(gzip.compress(full), headers=packed),
            Response(gzip.compress(over), headers=packed),
            Response(gzip.compress(full) + b"x" * 1000, headers=packed),
            Response(gzip.compress(gzip.compress(full)), headers={"content-encoding": "gzip, gzip"}),
        ],
    ) == ["answered", *["provider-error"] * 2, "answered", *["provider-error"] * 3]


def test_a_response_is_parsed_up_to_a_number_of_parts(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound here is 100. In a text, what looks like a part is none."""
    most = (98 - len(re.findall(r'"[^"]*"|[\[{,]', choice(content="{}")))) // 2  # objects with their commas
    inner = [f'"x": [{", ".join(["{}"] * n)}]' for n in (most, most + 1)]
    within, over = (f"{{{more}, {choice(content='{}')[1:]}" for more in inner)
    text = choice(content="{}" + '[,"' * 1_000 + "\\" * 1_000)
    monkeypatch.setattr(chat, "MAX_BODY_PARTS", 100)
    bodies = [(within, 200), (text, 200), (over, 200), (over, 400), (over[:-1], 200), ("[" * 101, 200)]
    answers = [Response(body, status) for body, status in bodies]
    calls = calls_answered(opened, answers)
    assert [call.outcome for call in calls] == ["answered"] * 2 + ["provider-error"] * 4
    told = "ResponseTooLongError more than 100 parts of JSON"
    assert [(call.reply.error, call.reply.tries) for call in calls[2:]] == [(told, 1)] * 4


def test_the_longest_answer_that_is_read_arrives_however_it_is_escaped(opened: Store) -> None:
    """With one character more, it is kept and not read."""
    texts = [f'{{"memory": "{"工" * (size - 14)}"}}' for size in (MAX_LENGTH, MAX_LENGTH + 1)]
    answers = [Response(choice(content=text)) for text in texts]  # each 工 takes six bytes
    calls = calls_answered(opened, answers)
    assert [call.outcome for call in calls] == ["answered", "unreadable"]
    assert [call.reply.text for call in calls] == texts
    assert [call.reply.error for call in calls] == ["", ""]


def test_of_a_longer_text_the_beginning_is_searched_and_kept(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is still too long to be read, also if keys were taken out of it."""
    searched: list[int] = []
    without_secrets = secrecy.without_secrets

    def counting(text: str) -> str:
        searched.append(len(text))
        return without_secrets(text)

    monkeypatch.setattr(secrecy, "without_secrets", counting)
    long, key = "{}" + "x" * 2 * MAX_LENGTH, "canary-0123456789-0123456789"
    parts = [{"type": "text", "text": long[:MAX_LENGTH]}, {"type": "text", "text": long[MAX_LENGTH:]}]
    answers = [
        choice(content=long),
        choice(content=parts),
        choice(content="{}", reasoning=long),
        choice(content="{}" + key * (2 * MAX_LENGTH // len(key))),
        choice(content=None, refusal=long, tool_calls=[{"name": long}]),
    ]
    with each_agent_its_own([Response(body) for body in answers]), environment(OPENAI_API_KEY=key):
        run = played(opened, RunOptions("mining", agents=5, models="openai:m", values={"rounds": 1}))
    calls = opened.calls.of_turn(run.id, 0)
    assert [call.outcome for call in calls] == ["unreadable"] * 2 + ["answered", "unreadable", "refused"]
    cut = long[:MAX_LENGTH] + "…"
    assert [calls[k].reply.text for k in (0, 1)] == [cut, cut]
    assert calls[2].reply.reasoning == cut
    assert len(calls[3].reply.text) == MAX_LENGTH + 1
    assert key not in calls[3].reply.text
    notes = [call.reply.error for call in calls]
    assert notes[:2] == ["the answer is too long; its first 1000000 characters are kept"] * 2
    assert notes[2] == "the reasoning is too long; its first 1000000 characters are kept"
    assert len(notes[4]) == secrecy.MAX_LINE_LENGTH + 1
    assert max(searched) == secrecy.MAX_SEARCHED_ANSWER


@pytest.mark.parametrize(
    ("base", "key", "told"),
    [
        ("http://127.0.0.1:nine/v1", "none", "OPENAI_BASE_URL is not a valid URL"),
        ("http://127.0.0.1:9/\nv1", "none", "OPENAI_BASE_URL is not a valid URL"),
        *(
            (base, "none", "OPENAI_BASE_URL is not a valid URL; write http://HOST:PORT/v1")
            for base in (
                "127.0.0.1:9/v1?key=schluessel",
                "localhost:9/v1",
                "u:schluessel@",
                "ftp://127.0.0.1/v1",
                "http://127.0.0.1:99999/v1",
                "http://127.0.0.1:0/v1",
                "http://127.0.0.1:schluessel/v1",
                "http:///v1",
                "http://[::1/v1",
                "/v1",
                " ",
                "http://127.0.0.1:9/v1 ",
                "?schluessel=b",
            )
        ),
        ("http://me:schluessel@127.0.0.1:9/v1", "none", "OPENAI_BASE_URL contains a user name"),
        ("http://é..é/v1", "none", "OPENAI_BASE_URL is not a valid URL"),
        ("http://127.0.0.1:9/v1", "schlüssel", "OPENAI_API_KEY contains a character"),
        ("http://127.0.0.1:9/v1", "schluessel\r", "OPENAI_API_KEY contains a character"),
    ],
)
def test_an_invalid_base_url_or_key_stops_the_run_before_its_first_call(
    opened: Store, base: str, key: str, told: str
) -> None:
    with (
        environment(OPENAI_BASE_URL=base, OPENAI_API_KEY=key),
        pytest.raises(HobbesError, match=told) as said,
    ):
        played(opened, RunOptions("mining", agents=1, models="openai:m", values={"rounds": 1}))
    assert isinstance(said.value, UsageError)
    assert "schl" not in str(said.value)
    assert opened.db.table("runs").count == 0


def test_what_is_no_address_stops_a_run_that_goes_on_and_none_of_policies(opened: Store) -> None:
    request = RunOptions("mining", agents=1, values={"rounds": 1})
    with environment(OPENAI_BASE_URL="http://127.0.0.1:9/v1", OPENAI_API_KEY="none"):
        run = begin(opened, replace(request, models="openai:m"))
    with environment(OPENAI_BASE_URL="127.0.0.1:9/v1", OPENAI_API_KEY="none"):
        with pytest.raises(UsageError, match="is not a valid URL"):
            asyncio.run(go_on(opened, run, lambda _: None))
        assert played(opened, request).status == "finished"
    assert opened.runs.find(run.id).status == "unfinished"


@pytest.mark.parametrize(
    ("base", "asked"),
    [
        ("", "https://api.openai.com/v1"),
        *((base, base) for base in ("http://h:65535/v1", "HTTPS://[::1]/v1", "http://h:1", "http://é.de/v1")),
    ],
)
def test_the_server_is_that_of_the_environment_or_openais_own(base: str, asked: str) -> None:
    with environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        assert server_address(ModelSettings(model="m")) == httpx2.URL(asked)


def test_what_goes_to_the_network_fails_its_test(opened: Store) -> None:
    for base in ("https://api.openai.com/v1", "http://192.0.2.1/v1"):
        with environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"), pytest.raises(LiveCallError):
            played(opened, RunOptions("mining", agents=1, models="openai:m", values={"rounds": 1}))


def test_a_placebo_edit_of_a_prompt_changes_no_answer_of_the_stand_in_server(
    opened: Store, tmp_path: Path
) -> None:
    """Its random draws depend on the address of a call and on the view."""
    placebo = shutil.copytree(prompt_set.ROOT / "mining" / "unguided", tmp_path / "placebo")
    for file in placebo.glob("*.en.md"):
        file.write_text(f"Good rng.\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        asked = RunOptions("mining", 4, models="openai:policy/random?noise=0.4", values={"rounds": 4})
        runs = [played(opened, replace(asked, prompts=prompts)) for prompts in ("unguided", str(placebo))]
    one, other = (opened.calls.of_turn(run.id, 0)[0].prompt for run in runs)
    assert one.system != other.system
    assert one.turn != other.turn
    assert runs[0].digest == runs[1].digest


def test_the_obedient_model_plays_as_the_default_policy_but_obeys_a_sentence_of_its_prompt(
    opened: Store, tmp_path: Path
) -> None:
    ways = [("copykitten", "plain"), ("obedient", "plain"), ("obedient", variant(tmp_path, "Do not attack."))]
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        runs = [
            played(
                opened,
                RunOptions("trust", 4, 1, f"openai:policy/{model}?tremble=0.6", prompts, "en", {"rounds": 6}),
            )
            for model, prompts in ways
        ]
    actions = [
        {one["action"] for turn in opened.turns.of(run) for one in turn.record.intents.values()}
        for run in runs
    ]
    assert runs[0].digest == runs[1].digest
    assert ["attack" in each for each in actions] == [True, True, False]


def test_serve_answers_the_models_of_a_run(opened: Store, process: Callable[..., Command]) -> None:
    serving = process("serve", "--port", "0", "--delay", "0.01")
    assert serving.stdout is not None
    base = serving.stdout.readline().strip()
    with environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        run = played(opened, RunOptions("mining", 1, models="openai:policy/guided", values={"rounds": 1}))
    assert opened.figures.result(run)["outcomes"] == {"answered": 1}


def test_the_stand_in_server_says_how_its_models_are_called(opened: Store) -> None:
    with (
        in_thread(stand_in()) as base,
        environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"),
        pytest.raises(HobbesError, match=r"no model 'gpt-6-luna'; .* such as openai:policy/guided"),
    ):
        played(opened, RunOptions("mining", 2, models="openai:gpt-6-luna", values={"rounds": 9}))
