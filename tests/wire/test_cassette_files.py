"""What is written into a cassette's file, and what is said of a file that is none."""

import asyncio
import gzip
import json
import os
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from vcr.request import Request

from hobbes.errors import UsageError
from hobbes.nodes import chat
from hobbes.nodes.chat import ADDRESS_HEADER
from hobbes.wire import cassettes
from hobbes.wire.cassette_files import MAX_BYTES, read_description, write_description
from hobbes.wire.cassettes import (
    ENDPOINTS,
    NEUTRAL_BASE_URL,
    CassetteMissError,
    answer_from_cassette,
    record_cassette,
)
from hobbes.wire.recorder import (
    STAND_IN,
    cassette_of,
    environment,
    in_thread,
    play_cassette,
    record,
    source_of,
)
from tests import faults
from tests.faults import ANSWER, failing

CANARIES = {
    "OPENAI_API_KEY": "sk-canary-0123",
    "OPENAI_ORG_ID": "org-canary-0123",
    "OPENAI_PROJECT_ID": "proj-canary-0123",
}
RUN = 'world = "mining"\nagents = 1\nrounds = 2\nmodel = "openai:m"\n'


def gossip(heard: list[Headers]) -> Starlette:
    """A server that gives cookies, names the customer, and says the key aloud."""

    async def completions(request: HttpRequest) -> Response:
        heard.append(request.headers)
        told = {
            "set-cookie": "canary=1; Path=/",
            "openai-organization": "org-canary-0123",
            "retry-after": "1",
            "retry-after-ms": request.headers["authorization"],
        }
        if len(heard) == 1:
            choice = {"message": {"role": "assistant", "content": "{}"}}
            return JSONResponse({"choices": [choice], "billed_to": "org-canary-0123"}, headers=told)
        wrong = f"Incorrect API key provided: {request.headers['authorization']}"
        return JSONResponse({"error": {"message": wrong}}, 401, headers=told)

    return Starlette(routes=[Route(f"/v1{ENDPOINTS[0]}", completions, methods=["POST"])])


def test_no_secret_is_written_whatever_the_server_says(tmp_path: Path) -> None:
    file = tmp_path / "gossip.toml"
    file.write_text(RUN)
    heard: list[Headers] = []
    with in_thread(gossip(heard)) as base, environment(**CANARIES):
        record(file, base, source_of("https://me:canary@models.example:8443/v1?key=canary"), None)
    # They were sent, and not kept.
    assert heard[1]["authorization"] == "Bearer sk-canary-0123"
    assert heard[1]["openai-organization"] == "org-canary-0123"
    assert heard[1]["openai-project"] == "proj-canary-0123"
    assert heard[1]["cookie"] == "canary=1"
    text = cassette_of(file).read_text()
    assert "canary" not in text
    assert "Incorrect API key provided: Bearer (OPENAI_API_KEY)" in text
    calls = yaml.safe_load(text)["interactions"]
    assert {name for call in calls for name in call["request"]["headers"]} == {ADDRESS_HEADER, "content-type"}
    assert {name for call in calls for name in call["response"]["headers"]} == {"content-type", "retry-after"}
    assert read_description(cassette_of(file))["source"] == "models.example"
    # A failed call plays as the failure that it was.
    then, now = play_cassette(cassette_of(file))
    assert now["outcomes"] == then["outcomes"] == {"answered": 1, "provider-error": 1}
    assert now["digest"] == then["digest"]


@pytest.mark.parametrize(
    ("name", "value", "is_kept"),
    [
        ("Content-Type", "application/json", True),
        ("content-type", "text/html; charset=utf-8", True),
        ("content-type", "text/sk-canary-0123", False),
        ("content-type", "text/html; charset=canary-0123", False),
        ("content-type", "text/html; boundary=canary", False),
        ("content-type", "Bearer sk-canary-0123", False),
        ("retry-after", "30", True),
        ("retry-after", "0.25", True),
        ("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT", True),
        ("retry-after", "sk-canary-0123", False),
        ("retry-after", "soon", False),
        ("retry-after-ms", "250", True),
        ("retry-after-ms", "20261021", False),
        ("x-hobbes-address", "0/A/1", False),
        ("x-request-id", "1", False),
    ],
)
def test_a_header_of_a_response_is_stored_if_its_value_says_something_and_is_no_secret(
    name: str, value: str, *, is_kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "20261021")
    monkeypatch.setenv("OPENAI_ORG_ID", "canary-0123")
    asked, response = call("0/A/1", "go", "{}")
    path = written(tmp_path / "heads.yaml", [(asked, {**response, "headers": {name: [value]}})])
    (exchange,) = yaml.safe_load(path.read_text())["interactions"]
    assert exchange["response"]["headers"] == ({name.lower(): [value]} if is_kept else {})


@pytest.mark.parametrize(("code", "words"), [(200, "OK"), (429, "Too Many Requests"), (599, None)])
def test_a_status_is_stored_with_the_usual_words(code: int, words: str | None, tmp_path: Path) -> None:
    asked, response = call("0/A/1", "go", "{}")
    status = {"code": code, "message": "Bearer sk-canary-0123"}
    path = written(tmp_path / "status.yaml", [(asked, {**response, "status": status})])
    (exchange,) = yaml.safe_load(path.read_text())["interactions"]
    assert exchange["response"]["status"] == {"code": code, "message": words}


async def without_end(sent: list[int], piece: bytes) -> AsyncIterator[bytes]:
    """Yield a piece again and again, and note the number of bytes."""
    while True:
        sent.append(len(piece))
        yield piece
        await asyncio.sleep(0)


def test_a_body_that_is_too_long_is_recorded_in_bounded_memory_and_plays_as_the_failure_that_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound is a megabyte. After an answer, one has no end, one has 500, and one is packed twice."""
    monkeypatch.setattr(chat, "MAX_BODY_BYTES", 2**20)
    sent: list[int] = []
    pack = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)  # with the header of gzip
    first, then = (pack.compress(bytes(2**20)) + pack.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    bomb = first + then * 499
    choice = {"message": {"role": "assistant", "content": "{}"}}
    answers = iter(
        [
            JSONResponse({"choices": [choice]}),
            StreamingResponse(without_end(sent, b" " * 2**16)),
            Response(bomb, headers={"content-encoding": "gzip"}),
            Response(gzip.compress(bomb), headers={"content-encoding": "gzip, gzip"}),
        ]
    )

    async def answer(_: HttpRequest) -> Response:
        return next(answers)

    server = Starlette(routes=[Route(f"/v1{ENDPOINTS[0]}", answer, methods=["POST"])])
    file = tmp_path / "long.toml"
    file.write_text(RUN.replace("rounds = 2", "rounds = 4"))
    with in_thread(server) as base, environment(OPENAI_API_KEY="none"):
        tracemalloc.start()
        record(file, base, STAND_IN, None)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < 200 * chat.MAX_BODY_BYTES  # most of it for what is imported
    assert sum(sent) < 50 * chat.MAX_BODY_BYTES  # what the connection buffers included
    assert cassette_of(file).stat().st_size < 100_000
    recorded, now = play_cassette(cassette_of(file))
    assert now["outcomes"] == recorded["outcomes"] == {"answered": 1, "provider-error": 3}
    assert now["digest"] == recorded["digest"]


def test_a_cassette_is_played_without_waiting(
    tmp_path: Path, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorded from a server that asks for a second, twice, before it answers."""
    monkeypatch.setattr(
        faults, "draw_fault", lambda _shares, _address, time: ANSWER if time > 2 else "wait-seconds"
    )
    file = tmp_path / "slow.toml"
    file.write_text('world = "mining"\nagents = 1\nrounds = 1\nmodel = "openai:policy/guided"\n')
    with in_thread(failing()) as base:
        record(file, base, STAND_IN, None)
    assert waits == [1.0, 1.0]
    then, now = play_cassette(cassette_of(file))
    assert now["outcomes"] == then["outcomes"] == {"answered": 1}
    assert waits == [1.0, 1.0]


def call(address: str, said: str, answered: str) -> tuple[Request, dict[str, Any]]:
    body = json.dumps({"messages": [{"role": "user", "content": said}]}).encode()
    request = Request("POST", f"{NEUTRAL_BASE_URL}{ENDPOINTS[0]}", body, {ADDRESS_HEADER: address})
    response = {
        "status": {"code": 200, "message": "OK"},
        "headers": {},
        "body": {"string": answered.encode()},
    }
    return request, response


def written(path: Path, calls: list[tuple[Request, dict[str, Any]]]) -> Path:
    with record_cassette(path) as cassette:
        for request, response in calls:
            cassette.append(request, response)
    write_description(path, {"source": "a test", "run": {"world": "mining"}, "digest": "", "digests": []})
    return path


def post(request: Request) -> str:
    """Send a request to the cassette that is played; return what it answers."""
    return httpx2.post(request.uri, content=request.body, headers=request.headers).text


def test_bodies_are_compared_only_where_the_address_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = [call(f"{turn}/miner-{k:02}/1", "go", f"{turn}-{k}") for turn in range(5) for k in range(5)]
    path = written(tmp_path / "many.yaml", calls)
    compared: list[bytes | None] = []
    normalized = cassettes.normalized

    def counting(body: bytes | None) -> bytes:
        compared.append(body)
        return normalized(body)

    monkeypatch.setattr(cassettes, "normalized", counting)
    with answer_from_cassette(path) as cassette:
        for request, response in reversed(calls):
            spaced = Request(request.method, request.uri, request.body + b" ", request.headers)
            assert post(spaced) == response["body"]["string"].decode()
    assert (cassette.play_count, cassette.all_played) == (25, True)
    assert len(compared) == 4 * 25, "two bodies, once to see whether there is a response and once to find it"


def test_calls_are_written_in_the_order_of_their_addresses(tmp_path: Path) -> None:
    calls = [call(f"{turn}/miner-01/1", "go", "{}") for turn in range(12)]
    one = written(tmp_path / "one.yaml", calls).read_bytes()
    assert written(tmp_path / "other.yaml", calls[::-1]).read_bytes() == one
    addresses = [call["request"]["headers"][ADDRESS_HEADER] for call in yaml.safe_load(one)["interactions"]]
    assert addresses == [[f"{turn}/miner-01/1"] for turn in range(12)]


@pytest.mark.parametrize("said", ['{"tokens": NaN}', '{"text": "\\ud83d"}', '{"text": "é"}', "no JSON"])
def test_a_response_is_played_as_it_was_recorded(tmp_path: Path, said: str) -> None:
    asked = call("0/A/1", "go", said)
    with answer_from_cassette(written(tmp_path / "odd.yaml", [asked, call("0/B/1", "go", "{}")])):
        assert post(asked[0]) == said


def test_a_recorded_response_is_used_once(tmp_path: Path) -> None:
    first, second = call("0/A/1", "go", "first"), call("0/A/1", "go", "second")
    path = written(tmp_path / "twice.yaml", [first, second])
    answers: list[str] = []

    def ask(times: int) -> None:
        with answer_from_cassette(path):
            answers.extend(post(first[0]) for _ in range(times))

    with pytest.raises(CassetteMissError, match="turn 0, A\nits recorded response was already used"):
        ask(3)
    assert answers == ["first", "second"]


CALL: dict[str, Any] = {
    "request": {"method": "POST", "uri": f"{NEUTRAL_BASE_URL}{ENDPOINTS[0]}", "headers": {}, "body": "{}"},
    "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": ""}},
}


def calls_of(**changed: Any) -> str:
    """The text of a cassette of one call, of which something is changed."""
    return str(yaml.safe_dump({"version": 1, "interactions": [CALL | changed]}))


DAMAGES: dict[str, tuple[str | bytes, str]] = {
    "of bytes": (b"\xff\xfe\xfd", "is not a valid cassette: "),
    "nothing": ("", "is empty or not a file"),
    "no YAML": ("interactions: [", "is not a valid cassette: while parsing"),
    "no object": ("[]", "is not a valid cassette: Input should be a valid dictionary"),
    "a tag of Python": ("!!python/name:os.system", "is not a valid cassette: .*could not determine"),
    "an empty number": ("interactions: !!int ''", "is not a valid cassette: "),
    "nested too deep": ("[" * 2_000, "is not a valid cassette: "),
    "no calls": ("{}", "is not a valid cassette: interactions: Field required"),
    "half a call": (calls_of(request={}), r"is not a valid cassette: interactions\.0\.request\.method: "),
    "no status": (
        calls_of(response={"headers": {}, "body": {"string": ""}}),
        r"is not a valid cassette: interactions\.0\.response\.status: Field required",
    ),
    "a body that is none": (
        calls_of(response={**CALL["response"], "body": {"string": 3}}),
        r"is not a valid cassette: interactions\.0\.response\.body\.string: ",
    ),
}


@pytest.mark.parametrize(("content", "told"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_cassette_is_reported_in_one_line(tmp_path: Path, content: str | bytes, told: str) -> None:
    path = written(tmp_path / "damaged.yaml", [])
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError, match=f"^{path} {told}.*; record it again$") as error:
        play_cassette(path)
    assert "\n" not in str(error.value)


def test_a_cassette_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    path = written(tmp_path / "long.yaml", [])
    os.truncate(path, MAX_BYTES + 1)
    with pytest.raises(UsageError, match=r"long\.yaml: it is larger than 256,000,000 bytes"):
        play_cassette(path)


@pytest.mark.parametrize(
    ("description", "told"),
    [
        ("[]", "does not describe a recorded run"),
        ("{}", "does not describe a recorded run: source: Field required"),
        (
            '{"source": "", "run": {"planet": "mars"}, "digest": "", "digests": []}',
            "holds a run with options that this version of hobbes does not have: .*planet",
        ),
    ],
)
def test_a_damaged_description_is_reported_in_one_line(tmp_path: Path, description: str, told: str) -> None:
    path = written(tmp_path / "damaged.yaml", [])
    beside = path.with_suffix(".json")
    beside.write_text(description)
    with pytest.raises(UsageError, match=f"^{beside} {told}.*; record it again$") as error:
        play_cassette(path)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path / "missing.yaml", [])
    path.with_suffix(".json").unlink()
    with pytest.raises(UsageError, match=r"cannot read .*missing\.json: No such file"):
        play_cassette(path)
    path.unlink()
    with pytest.raises(UsageError, match=r"there is no cassette .*missing\.yaml; name another file"):
        play_cassette(path)
