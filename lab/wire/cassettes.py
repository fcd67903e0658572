"""Cassettes: the HTTP exchanges of one run, recorded and played with vcrpy.

Each request carries the address of its call (`turn/agent/attempt`) in a header. Address and body identify an
exchange, whatever server it went to. An index finds it: vcrpy compares each request with every recorded one,
which took two minutes for a thousand calls.
"""

import difflib
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch
from urllib.parse import urlsplit

import aiohttp
import httpx2
import orjson
from vcr.cassette import Cassette
from vcr.record_mode import RecordMode
from vcr.request import Request

from hobbes.lab.wire.cassette_files import CheckedPersister, save_cassette
from hobbes.nodes import calling, chat
from hobbes.nodes.chat import ADDRESS_HEADER
from hobbes.nodes.secrecy import without_secrets

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
    """A request is not in the cassette: a prompt changed, or the run took another course.

    It is a plain exception because openai's client wraps the errors of its transport.
    """

    def __init__(self, address: str, diff: str) -> None:
        turn, agent, _ = (*address.split("/"), "?", "?", "?")[:3]
        super().__init__(f"not in the cassette: turn {turn}, {agent}\n{diff}")
        self.turn, self.agent, self.diff = turn, agent, diff


class Key(NamedTuple):
    """What identifies an exchange; host and path of the base URL are no part of it."""

    method: str
    address: str
    body: bytes


class RunCassette(Cassette):  # type: ignore[misc]  # vcrpy has no types
    """A vcrpy cassette with an index, which is made when it is loaded."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  vcrpy's arguments
        super().__init__(*args, **kwargs)
        self._by_key: dict[Key, list[int]] = defaultdict(list)
        self._by_address: dict[str, list[int]] = defaultdict(list)

    def append(self, request: Request, response: dict[str, Any]) -> None:
        """Add an exchange to the cassette and to the index."""
        start = len(self.data)
        super().append(request, response)
        for index in range(start, len(self.data)):
            key = key_of(self.data[index][0])
            self._by_key[key].append(index)
            self._by_address[key.address].append(index)

    def can_play_response_for(self, request: Request) -> bool:
        """Return whether to answer a request from the cassette: when playing, every chat completion."""
        return self.record_mode != RecordMode.ALL and bool(_endpoint(request))

    def play_response(self, request: Request) -> dict[str, Any]:
        """Return the recorded response; raise CassetteMissError, with a diff, if there is none."""
        key = key_of(request)
        index = next((i for i in self._by_key.get(key, ()) if not self.play_counts[i]), None)
        if index is None:
            raise CassetteMissError(key.address, self._difference(key, request))
        self.play_counts[index] += 1
        response: dict[str, Any] = self.data[index][1]
        return response

    def _difference(self, key: Key, request: Request) -> str:
        """Return why there is no response, as a diff where the address was recorded with another body."""
        if key in self._by_key:
            return "its recorded response was already used"
        recorded = self._by_address.get(key.address)
        if not recorded:
            return "nothing was recorded for this address"
        lines = difflib.unified_diff(
            readable(self.data[recorded[-1]][0].body),
            readable(request.body),
            "recorded",
            "now",
            lineterm="",
            n=1,
        )
        return "\n".join(lines)[:MAX_DIFF_LENGTH]


@contextmanager
def record_cassette(path: Path) -> Iterator[RunCassette]:
    """Record exchanges into a new file; those that were answered are saved even after an error."""
    path.unlink(missing_ok=True)
    neutral = {"before_record_request": neutral_request, "before_record_response": neutral_response}
    with (
        RunCassette.use(path=path, record_mode=RecordMode.ALL, **neutral) as cassette,
        patch.object(aiohttp.ClientResponse, "read", _read_up_to_bound),
    ):
        try:
            yield cassette
        finally:
            # vcrpy would save on its exit, where a failure would leave the transport patched.
            cassette.dirty = False
            save_cassette(path, cassette)


@contextmanager
def answer_from_cassette(path: Path) -> Iterator[RunCassette]:
    """Answer requests from a cassette, without a network and without the waits between retries."""
    before = calling.wait.set(_no_wait)
    try:
        with RunCassette.use(path=path, record_mode=RecordMode.NONE, persister=CheckedPersister) as cassette:
            yield cassette
    finally:
        calling.wait.reset(before)


async def _no_wait(_seconds: float) -> None:
    """Return at once."""


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


def key_of(request: Request) -> Key:
    """Return the key of a request, the same before and after it was stored."""
    return Key(request.method, request.headers.get(ADDRESS_HEADER, ""), _normalize(request.body or b""))


def _normalize(body: bytes) -> bytes:
    """Return a body as it is the same however its JSON was spaced, sorted and escaped."""
    try:
        return orjson.dumps(orjson.loads(body), option=orjson.OPT_SORT_KEYS)
    except ValueError:  # no JSON, or JSON that only Python reads
        return body


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
