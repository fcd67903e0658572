"""Cassettes: the HTTP exchanges of one run, recorded and played with vcrpy.

Each request carries the address of its call (`turn/agent/attempt`) in a header. Address and body identify an
exchange, whatever server it went to. vcrpy compares each request with every recorded one, so bodies are only
compared where the address is the same.
"""

import asyncio
import difflib
import gzip
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import aiohttp
import httpx2
import orjson
from vcr import VCR
from vcr.cassette import Cassette
from vcr.errors import CannotOverwriteExistingCassetteException
from vcr.record_mode import RecordMode
from vcr.request import Request

from hobbes.nodes import call_failures, chat
from hobbes.nodes.chat import ADDRESS_HEADER
from hobbes.nodes.secrecy import without_secrets
from hobbes.wire.cassette_files import CheckedPersister, save_cassette

ENDPOINTS = ("/chat/completions", "/responses")
NEUTRAL_BASE_URL = "https://model.invalid/v1"
TEXTS = ("messages", "input")
"""Where a request has the texts for the model: a chat completion, and a response."""
_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
_DATE = r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"
REQUEST_HEADERS = frozenset({ADDRESS_HEADER, "content-type"})
"""The only headers of requests that are stored; a list of secret headers would have holes."""
RESPONSE_HEADERS = {
    "content-type": re.compile(r"[\w.+-]+/[\w.+-]+(?:; ?charset=[\w-]+)?"),
    "retry-after": re.compile(f"{_NUMBER}|{_DATE}"),
    "retry-after-ms": re.compile(_NUMBER),
}
"""The only headers of responses that are stored. A value is stored if it matches, and has no secret in it."""
MAX_DIFF_LENGTH = 8_000


class CassetteMissError(Exception):
    """A request is not in the cassette: a prompt changed, or the run took another course."""

    def __init__(self, address: str, diff: str) -> None:
        turn, agent, _ = (*address.split("/"), "?", "?", "?")[:3]
        super().__init__(f"not in the cassette: turn {turn}, {agent}\n{diff}")
        self.turn, self.agent, self.diff = turn, agent, diff


def is_same_call(now: Request, recorded: Request) -> bool:
    """Return whether two requests are one call: with one address, method and body. A matcher of vcrpy."""
    # One matcher, because vcrpy runs each of several, and a body takes longer to read than an address.
    if address_of(now) != address_of(recorded) or now.method != recorded.method:
        return False
    return now.body == recorded.body or normalized(now.body) == normalized(recorded.body)


VCRPY = VCR(match_on=["call"])
VCRPY.register_matcher("call", is_same_call)


@contextmanager
def record_cassette(path: Path) -> Iterator[Cassette]:
    """Record exchanges into a new file; those that were answered are saved even after an error."""
    path.unlink(missing_ok=True)
    neutral = {"before_record_request": neutral_request, "before_record_response": neutral_response}
    with (
        VCRPY.use_cassette(path, record_mode=RecordMode.ALL, **neutral) as cassette,
        patch.object(aiohttp.ClientResponse, "read", _read_up_to_bound),
    ):
        try:
            yield cassette
        finally:
            # vcrpy would save on its exit, where a failure would leave the transport patched.
            cassette.dirty = False
            save_cassette(path, cassette)


@contextmanager
def answer_from_cassette(path: Path) -> Iterator[Cassette]:
    """Answer requests from a cassette, without a network and without the waits between retries.

    Raise CassetteMissError for a request that is not in it.
    """
    before = call_failures.wait.set(lambda _: asyncio.sleep(0))
    try:
        with VCRPY.use_cassette(path, record_mode=RecordMode.NONE, persister=CheckedPersister) as cassette:
            yield cassette
    except CannotOverwriteExistingCassetteException as miss:
        request = miss.failed_request
        raise CassetteMissError(address_of(request), _difference(miss.cassette, request)) from None
    finally:
        call_failures.wait.reset(before)


def _difference(cassette: Cassette, request: Request) -> str:
    """Return why there is no response, as a diff where the address was recorded with another body."""
    same = [recorded for recorded in cassette.requests if address_of(recorded) == address_of(request)]
    if not same:
        return "nothing was recorded for this address"
    if any(is_same_call(request, recorded) for recorded in same):
        return "its recorded response was already used"
    then, now = readable(same[-1].body), readable(request.body)
    lines = difflib.unified_diff(then, now, "recorded", "now", lineterm="", n=1)
    return "\n".join(lines)[:MAX_DIFF_LENGTH]


def neutral_request(request: Request) -> Request | None:
    """Return a chat request without host, query and secrets, or None for vcrpy to ignore another request."""
    endpoint = _endpoint(request)
    if not endpoint:
        return None
    headers = {k.lower(): v for k, v in request.headers.items() if k.lower() in REQUEST_HEADERS}
    return Request(request.method, NEUTRAL_BASE_URL + endpoint, request.body, headers)


def _endpoint(request: Request) -> str:
    """Return the endpoint that a request asks for the answer of a chat model; empty if it is another one."""
    path: str = urlsplit(request.uri).path
    return next((endpoint for endpoint in ENDPOINTS if path.endswith(endpoint)), "")


def neutral_response(response: dict[str, Any]) -> dict[str, Any]:
    """Return a response without secrets, decompressed as the client would do it.

    In place of a body that the client refuses, another one is stored which it refuses for the same reason.
    """
    headers = {name.lower(): values for name, values in response["headers"].items()}
    encoding = ", ".join(headers.get("content-encoding", ()))
    stored = {"status": _status(response["status"]["code"]), "headers": _kept_headers(headers)}
    if "," in encoding:
        stored["headers"]["content-encoding"] = ["gzip, gzip"]
        return {**stored, "body": {"string": b""}}
    body = _decompressed(response["body"].get("string") or b"", encoding)
    if len(body) > chat.MAX_BODY_BYTES:
        stored["headers"]["content-encoding"] = ["gzip"]
        return {**stored, "body": {"string": gzip.compress(bytes(len(body)), mtime=0)}}
    text = without_secrets(body.decode(errors="surrogateescape"))
    return {**stored, "body": {"string": text.encode(errors="surrogateescape")}}


def _decompressed(body: bytes, encoding: str) -> bytes:
    """Return a body decompressed, and no more of it than one byte that the client does not read."""
    compressed = httpx2.Response(200, headers={"content-encoding": encoding}, stream=httpx2.ByteStream(body))
    pieces = bytearray()
    for piece in compressed.iter_bytes():
        pieces += piece
        if len(pieces) > chat.MAX_BODY_BYTES:
            break
    return bytes(pieces[: chat.MAX_BODY_BYTES + 1])


async def _read_up_to_bound(response: aiohttp.ClientResponse) -> bytes:
    """Return the body of a response, and no more of it than one byte that the client does not read.

    vcrpy reads a body before the client does, however long it is.
    """
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > chat.MAX_BODY_BYTES:
            response.close()
            break
    return bytes(body[: chat.MAX_BODY_BYTES + 1])


def _status(code: int) -> dict[str, Any]:
    """Return a status with the usual words for its code, whatever words the server had."""
    return {"code": code, "message": HTTPStatus(code).phrase if code in [*HTTPStatus] else None}


def _kept_headers(headers: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return those values of the headers of a response that are stored."""
    kept = {
        name: [one for one in headers.get(name, ()) if stored.fullmatch(one) and without_secrets(one) == one]
        for name, stored in RESPONSE_HEADERS.items()
    }
    return {name: values for name, values in kept.items() if values}


def address_of(request: Request) -> str:
    """Return the address of the call of a request; empty if it has none."""
    address: str = request.headers.get(ADDRESS_HEADER, "")
    return address


def normalized(body: bytes | None) -> bytes:
    """Return a body as it is the same however its JSON was spaced, sorted and escaped."""
    try:
        return orjson.dumps(orjson.loads(body or b""), option=orjson.OPT_SORT_KEYS)
    except ValueError:  # no JSON, or JSON that only Python reads
        return body or b""


def readable(body: bytes) -> list[str]:
    """Return a request as lines for a diff: its parameters, then each message under its role."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        request = None
    if not isinstance(request, dict):
        return body.decode(errors="replace").splitlines()
    lines = [f"{k}: {json.dumps(v, sort_keys=True)}" for k, v in sorted(request.items()) if k not in TEXTS]
    for message in (text for name in TEXTS for text in request.get(name, ())):
        lines += [f"[{message.get('role')}]", *str(message.get("content")).splitlines()]
    return lines
