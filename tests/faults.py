"""A server that fails as real servers do: the stand-in server behind it, and faults before its answers.

A fault takes the response that would be sent and returns another one. A hash of the request's address and of
its number at that address decides which fault it meets, so that every server decides the same.
"""

import asyncio
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, TypeAlias

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from hobbes.nodes.chat import ADDRESS_HEADER
from hobbes.wire.body_limits import no_response
from hobbes.wire.recorder import run_server
from hobbes.wire.stand_in import chat_request, stand_in

OK = 200

ANSWER = "answer"
"""What the log says of a request that met no fault."""

STALL_SECONDS = 5.0
"""How late a stalled response is sent."""

BLANKS = b" " * 2**20
DAY = 24 * 60 * 60
PAGE = "<!doctype html><html><head><title>Bad gateway</title></head><body><h1>502</h1></body></html>"
PROSE = "I'm sorry, but I can't help with a game in which others are raided."


@dataclass(frozen=True, slots=True)
class FaultyRequest:
    """A request with its body, the completion that would answer it, and its API key."""

    body: Mapping[str, Any]
    completion: Mapping[str, Any]
    key: str

    @property
    def text(self) -> str:
        text: str = self.completion["choices"][0]["message"]["content"]
        return text


Fault: TypeAlias = Callable[[FaultyRequest], Response | None]
"""Returns the response to send, or None if the fault does not apply to the request."""


class CuttableProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # uvicorn chooses it at its start
    """HTTP whose connections the application can cut: the state of a request has the `transport`."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.app_state: dict[str, Any] = {**self.app_state, "transport": transport}


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Cut(Response):
    """Sends raw bytes and closes the connection."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write to the connection directly, without HTTP."""
        del send
        transport: asyncio.Transport = scope["state"]["transport"]
        transport.write(bytes(self.body))
        transport.close()
        await _wait_for_disconnect(receive)


class Late(JSONResponse):
    """Is sent after STALL_SECONDS."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait, then send, unless the client disconnects meanwhile."""
        try:
            await asyncio.wait_for(_wait_for_disconnect(receive), STALL_SECONDS)
        except TimeoutError:
            await super().__call__(scope, receive, send)


def says(content: Any, finish_reason: str = "stop", **message: Any) -> Fault:
    """Return a fault that sends another message; `content` may be a function of the original text."""

    def fault(request: FaultyRequest) -> Response:
        text = content(request.text) if callable(content) else content
        answer = {"role": "assistant", "content": text, **message}
        choice = {"index": 0, "message": answer, "finish_reason": finish_reason}
        return JSONResponse({**request.completion, "choices": [choice]})

    return fault


def fails(
    status: int, message: str, code: str | int | None = None, kind: str = "server_error", **headers: str
) -> Fault:
    """Return a fault that sends an error in the shape of the protocol."""
    error = {"message": message, "type": kind, "param": None, "code": code}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: JSONResponse({"error": error}, status, named)


def refuses(parameter: str, instead: str = "") -> Fault:
    def fault(request: FaultyRequest) -> Response | None:
        if parameter not in request.body:
            return None
        text = f"Unsupported parameter: '{parameter}' is not supported with this model. {instead}".strip()
        error = {"message": text, "type": "invalid_request_error", "param": parameter}
        return JSONResponse({"error": {**error, "code": "unsupported_parameter"}}, 400)

    return fault


def _asks_to_wait_until(_: FaultyRequest) -> Response:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)
    return JSONResponse({"error": {"message": "slow down"}}, 429, {"retry-after": date})


def _echoes_the_key(request: FaultyRequest) -> Response:
    text = f"Incorrect API key provided: {request.key}. \x1b[31mAsk for another one."
    return JSONResponse({"error": {"message": text, "type": "auth", "code": "invalid_api_key"}}, 401)


def _half_a_body(request: FaultyRequest) -> Response:
    body = json.dumps(request.completion).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return Cut(head.encode() + body[: len(body) // 2])


async def _endless(first: bytes, then: bytes) -> AsyncIterator[bytes]:
    """Yield bytes without end."""
    yield first
    while True:
        yield then
        await asyncio.sleep(0)


def _gzip_bomb(_: FaultyRequest) -> Response:
    """Return a response without end of which each kilobyte unpacks to a megabyte."""
    pack = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)  # with the header of gzip
    first, then = (pack.compress(BLANKS) + pack.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    headers = {"content-encoding": "gzip"}
    return StreamingResponse(_endless(first, then), headers=headers, media_type="application/json")


def _error_in_choice(request: FaultyRequest) -> Response:
    """Return a completion whose choice has an error beside its message."""
    error = {"code": 502, "message": "upstream died"}
    choice = {**request.completion["choices"][0], "error": error}
    return JSONResponse({**request.completion, "choices": [choice]})


STATUSES: Mapping[str, tuple[str, str | None]] = {
    "stop": ("completed", None),
    "tool_calls": ("completed", None),
    "length": ("incomplete", "max_output_tokens"),
    "content_filter": ("incomplete", "content_filter"),
}
"""The status of a response for a finish reason, and why it is incomplete; another reason is passed on."""


def in_responses_words(response: Response) -> Response:
    """Return a response of the chat protocol as one of the Responses API; any other is returned as it is."""
    if isinstance(response, JSONResponse):
        found = json.loads(bytes(response.body))
        if isinstance(found, dict) and "choices" in found:
            response.body = response.render(_response_of(found))
            response.headers["content-length"] = str(len(response.body))
    return response


def _response_of(completion: dict[str, Any]) -> dict[str, Any]:
    choice = completion.pop("choices")[0]
    status, why = STATUSES.get(choice["finish_reason"], ("incomplete", choice["finish_reason"]))
    usage = completion.pop("usage", None)
    told = {} if usage is None else {"usage": _usage(usage)}
    return {
        **completion,
        **told,
        "object": "response",
        "status": status,
        "error": choice.get("error"),
        "incomplete_details": {"reason": why} if why else None,
        "output": list(_output(choice["message"])),
    }


def _output(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the items of a response for a message: reasoning, content, and the tools that it calls."""
    content = message["content"]
    parts: list[dict[str, Any]] = (
        content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    )
    thought = message.get("reasoning_content") or message.get("reasoning")
    details = message.get("reasoning_details", ())
    yield {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text} for text in [thought] if text]
        + [{"type": "summary_text", "text": one["summary"]} for one in details],
        "content": [
            {"type": "reasoning_text", "text": one["text"]}
            for part in parts
            for one in part.get("thinking", ())
        ],
        "encrypted_content": "gAAAAAB",
    }
    texts = [
        {"type": "output_text", "text": part["text"], "annotations": []} for part in parts if "text" in part
    ]
    refusal = [{"type": "refusal", "refusal": text} for text in [message.get("refusal")] if text]
    yield {"type": "message", "role": "assistant", "status": "completed", "content": refusal or texts}
    for call in message.get("tool_calls", ()):
        yield {"type": "function_call", "call_id": call["id"], **call["function"]}


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "input_tokens": usage["prompt_tokens"],
        "output_tokens": usage["completion_tokens"],
        "total_tokens": usage["total_tokens"],
    }


UNKNOWN_FIELDS = {"provider": {"name": "x"}, "x_trace": [1], "moderation": None}
TOOL_CALL = {"id": "call_1", "type": "function", "function": {"name": "act", "arguments": "{}"}}

FAULTS: Mapping[str, Fault] = {
    # valid answers, in other shapes
    "no-usage": lambda request: JSONResponse({k: v for k, v in request.completion.items() if k != "usage"}),
    "unknown-fields": lambda request: JSONResponse({**request.completion, **UNKNOWN_FIELDS}),
    "parts": says(lambda text: [{"type": "text", "text": text}]),
    "reasoning-content": says(str, reasoning_content="First, I look around."),
    "reasoning": says(str, reasoning="First, I look around."),
    "reasoning-details": says(
        str, reasoning_details=[{"type": "reasoning.summary", "summary": "First, I look around."}]
    ),
    "thinking-parts": says(
        lambda text: [
            {"type": "thinking", "thinking": [{"type": "text", "text": "First, I look around."}]},
            {"type": "text", "text": text},
        ]
    ),
    "think-tags": says(lambda text: f"<think>First, I look around.</think>{text}"),
    "thought-tags": says(lambda text: f"<thought>First, I look around.</thought>{text}"),
    # messages without a decision
    "empty-length": says("", "length"),
    "cut-by-length": says(lambda text: text[: len(text) // 2], "length"),
    "finish-max-tokens": says(lambda text: text[: len(text) // 2], "MAX_TOKENS"),
    "finish-safety": says("", "SAFETY"),
    "null": says(None),
    "spaces": says("  \n "),
    "tool-calls": says(None, "tool_calls", tool_calls=[TOOL_CALL]),
    "refusal-prose": says(PROSE),
    "refusal": says(None, refusal=PROSE),
    "content-filter": says("", "content_filter"),
    "filter-400": fails(400, "The prompt was filtered.", "content_filter"),
    # status 200 without a completion
    "finish-error": says(lambda text: text[: len(text) // 2], "error"),
    "error-in-choice": _error_in_choice,
    "error-200": lambda _: JSONResponse({"error": {"message": "upstream is down", "code": 502}}),
    "quota-200": lambda _: JSONResponse({"error": {"message": "no credits", "code": "insufficient_quota"}}),
    "html-200": lambda _: HTMLResponse(PAGE),
    "odd-charset": lambda _: Response(PAGE, media_type="text/html; charset=hex"),
    "broken-json": lambda request: Response(
        json.dumps(request.completion)[:-9], media_type="application/json"
    ),
    # broken connections
    "cut-before-headers": lambda _: Cut(b""),
    "cut-in-headers": lambda _: Cut(b"HTTP/1.1 200 OK\r\ncontent-ty"),
    "cut-in-body": _half_a_body,
    "no-http": lambda _: Cut(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "stall": lambda request: Late(request.completion),
    "endless-body": lambda _: StreamingResponse(_endless(b"", BLANKS), media_type="application/json"),
    "gzip-bomb": _gzip_bomb,
    # transient errors
    "html-502": lambda _: HTMLResponse(PAGE, 502),
    "error-500": fails(500, "The server had an error."),
    "error-503": fails(503, "The model is loading."),
    "overloaded-529": fails(529, "Overloaded", kind="overloaded_error", retry_after="1"),
    "flex-unavailable": fails(
        429, "Resource unavailable: flex has no room.", "resource_unavailable", retry_after="1"
    ),
    "error-408": fails(408, "The request took too long to arrive."),
    "error-409": fails(409, "The request is in conflict with another one."),
    "wait-seconds": fails(429, "slow down", "rate_limit_exceeded", retry_after="1"),
    "wait-fraction": fails(429, "slow down", "rate_limit_exceeded", retry_after="0.25"),
    "wait-milliseconds": fails(429, "slow down", "rate_limit_exceeded", retry_after_ms="250"),
    "wait-date": _asks_to_wait_until,
    # permanent errors
    "wait-a-day": fails(429, "come back tomorrow", "rate_limit_exceeded", retry_after=str(DAY)),
    "quota": fails(429, "You exceeded your current quota.", "insufficient_quota", "insufficient_quota"),
    "error-400": fails(400, "We could not parse the body."),
    "no-model": fails(400, "policy/guided is not a valid model ID", 400),
    "key-echo": _echoes_the_key,
    "redirect": fails(307, "over there", location="http://elsewhere.invalid/v1/chat/completions"),
    "error-403": fails(403, "Your country is not supported."),
    "error-404": fails(404, "There is no such model.", "model_not_found"),
    "overflow-openai": fails(
        400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"
    ),
    "overflow-vllm": fails(
        400,
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens "
        "(8500 in the messages, 500 in the completion). Please reduce max_tokens.",
        400,
        "BadRequestError",
    ),
    "overflow-llama": fails(
        400, "the request exceeds the available context size", 400, "exceed_context_size_error"
    ),
    "overflow-anthropic": fails(
        400,
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length "
        "or `max_tokens` and try again",
        kind="invalid_request_error",
    ),
    "overflow-gemini": fails(
        400,
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        400,
        "INVALID_ARGUMENT",
    ),
    # unsupported parameters
    "no-response-format": refuses("response_format"),
    "no-temperature": refuses("temperature"),
    "no-max-tokens": refuses("max_tokens", "Use 'max_completion_tokens' instead."),
    "no-max-completion-tokens": refuses("max_completion_tokens"),
}


def draw_fault(shares: Mapping[str, float], address: str, time: int) -> str:
    """Return the fault, or ANSWER, that the request meets which is the `time`th at its address, from 1."""
    point = int(hashlib.sha256(f"{address}#{time}".encode()).hexdigest()[:13], 16) / 16**13
    for name, share in shares.items():
        if point < share:
            return name
        point -= share
    return ANSWER


class Faults:
    """Applies to each request the fault that is drawn for it, logs it, and counts those at each address."""

    def __init__(self, shares: Mapping[str, float]) -> None:
        self._shares = shares
        self.times: Counter[str] = Counter()
        self.log: list[dict[str, Any]] = []

    def meet(self, address: str, request: Request, body: Mapping[str, Any], completion: Any) -> Response:
        self.times[address] += 1
        time = self.times[address]
        fault = draw_fault(self._shares, address, time)
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        response = FAULTS[fault](FaultyRequest(body, completion, key)) if fault != ANSWER else None
        self.log.append({"address": address, "time": time, "did": fault if response else ANSWER})
        return response or JSONResponse(completion)


def failing(shares: Mapping[str, float] = {}, delay: float = 0.0) -> Starlette:
    """Return a server that fails in these shares of its requests; `/stats` lists what it did to each.

    Any other request, and what faults are applied to, is answered by the stand-in server, after `delay`.
    """
    behind, faults = stand_in(delay), Faults(shares)
    client = httpx2.AsyncClient(transport=httpx2.ASGITransport(behind), base_url="http://stand-in/v1")

    async def completions(request: Request) -> Response:
        by_responses, body = request.url.path.endswith("/responses"), await request.json()
        if by_responses:
            body = chat_request(body)
        address = request.headers.get(ADDRESS_HEADER, "")
        answer = await client.post("/chat/completions", json=body, headers={ADDRESS_HEADER: address})
        if answer.status_code != OK:
            return JSONResponse(answer.json(), answer.status_code)
        response = faults.meet(address, request, body, answer.json())
        return in_responses_words(response) if by_responses else response

    async def stats(_: Request) -> JSONResponse:
        return JSONResponse({"addresses": faults.times, "log": faults.log})

    routes = [
        Route("/v1/chat/completions", completions, methods=["POST"]),
        Route("/v1/responses", completions, methods=["POST"]),
        Route("/stats", stats),
        Mount("/", behind),
    ]
    return Starlette(routes=routes, exception_handlers={ClientDisconnect: no_response})


@contextmanager
def cuttable(app: Starlette) -> Iterator[str]:
    """Serve an application that may cut its connections, and yield its base URL."""
    quiet: dict[str, Any] = {"ws": "none", "log_level": "error", "access_log": False}
    with run_server(uvicorn.Config(app, http=CuttableProtocol, timeout_keep_alive=300, **quiet)) as url:
        yield f"{url}/v1"
