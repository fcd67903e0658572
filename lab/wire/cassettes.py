"""Cassettes: the HTTP exchanges of one run, recorded and played with vcrpy.

Each request carries the address of its call (`turn/agent/attempt`) in a header. Address and body identify an
exchange, whatever server it went to. An index finds it: vcrpy compares each request with every recorded one,
which took two minutes for a thousand calls.
"""

import difflib
import gzip
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Never
from urllib.parse import urlsplit

import httpx2
import orjson
from openai._vendor.httpx_aiohttp import AiohttpTransport
from vcr.cassette import Cassette
from vcr.patch import PATCHER_NAMES
from vcr.persisters.filesystem import CassetteNotFoundError
from vcr.record_mode import RecordMode
from vcr.request import Request
from vcr.stubs.httpx_stubs import vcr_handle_async_request

from hobbes.lab.wire.stored import FORMAT, content_of, dumps
from hobbes.nodes import calling
from hobbes.nodes.chat import ADDRESS_HEADER
from hobbes.nodes.secrecy import without_secrets

ENDPOINT = "/chat/completions"
NEUTRAL_URI = f"https://model.invalid/v1{ENDPOINT}"
KEPT_HEADERS = frozenset({ADDRESS_HEADER, "content-type", "retry-after", "retry-after-ms"})
"""The only headers of requests and responses that are stored; a list of secret headers would have holes."""
LONGEST_DIFF = 8_000


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
    """A vcrpy cassette with an index and a description of the run."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  vcrpy's arguments
        super().__init__(*args, **kwargs)
        # Only the transport of the models' clients is patched. vcrpy's patch of aiohttp lies below it,
        # where each response is built twice.
        handle = vcr_handle_async_request(self, AiohttpTransport.handle_async_request, httpx2)
        self.custom_patches = ((AiohttpTransport, "handle_async_request", handle),)
        self._by_key: dict[Key, list[int]] = defaultdict(list)
        self._by_address: dict[str, list[int]] = defaultdict(list)

    @property
    def meta(self) -> dict[str, Any]:
        """The description of the run; it is filled while recording."""
        meta: dict[str, Any] = self.get_metadata("meta", {})
        return meta

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
        return self.record_mode != RecordMode.ALL and is_chat(request)

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
        return "\n".join(lines)[:LONGEST_DIFF]


class JsonGzip:
    """vcrpy's persister for cassettes: readable JSON, gzipped. Equal exchanges give equal bytes."""

    @staticmethod
    def load_cassette(
        cassette_path: Path, serializer: object
    ) -> tuple[list[Request], list[dict[str, Any]], dict[str, Any]]:
        """Return what vcrpy keeps of a cassette; raise UsageError for a missing or damaged file.

        vcrpy alone would treat such a file as empty and overwrite it.
        """
        del serializer  # vcrpy's argument; the format is our own
        content = content_of(cassette_path)
        stored = content["interactions"]
        requests = [
            Request(**{**one["request"], "body": body_from_stored(one["request"]["body"])}) for one in stored
        ]
        responses = [
            {**one["response"], "body": {"string": body_from_stored(one["response"]["body"])}}
            for one in stored
        ]
        return requests, responses, {"meta": content["meta"]}

    @staticmethod
    def save_cassette(cassette_path: Path, cassette_dict: dict[str, Any], serializer: object) -> None:
        """Write a cassette file, sorted by address, since concurrent calls end in any order."""
        del serializer
        exchanges = sorted(
            zip(cassette_dict["requests"], cassette_dict["responses"], strict=True),
            key=lambda exchange: _sort_key(exchange[0]),
        )
        content = {
            "format": FORMAT,
            "meta": cassette_dict["metadata"]["meta"],
            "interactions": [
                {
                    "request": {
                        "method": request.method,
                        "uri": request.uri,
                        "headers": dict(request.headers),
                        "body": body_to_store(request.body),
                    },
                    "response": {**response, "body": body_to_store(response["body"].get("string"))},
                }
                for request, response in exchanges
            ],
        }
        text = json.dumps(content, indent=1, sort_keys=True) + "\n"
        packed = io.BytesIO()
        # gzip.compress writes a header that depends on the version of Python.
        with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as file:
            file.write(text.encode())
        partial = cassette_path.with_name(f"{cassette_path.name}.partial")
        partial.write_bytes(packed.getvalue())
        partial.replace(cassette_path)


class NewJsonGzip(JsonGzip):
    """The same for a cassette that is recorded, of which nothing is read."""

    @staticmethod
    def load_cassette(cassette_path: Path, serializer: object) -> Never:
        """Raise CassetteNotFoundError, which tells vcrpy to begin with an empty cassette."""
        del serializer
        raise CassetteNotFoundError(cassette_path)


@contextmanager
def recording(path: Path) -> Iterator[RunCassette]:
    """Record exchanges into a new file; those that were answered are saved even after an error."""
    path.unlink(missing_ok=True)
    neutral = {"before_record_request": neutral_request, "before_record_response": neutral_response}
    with _use(path, RecordMode.ALL, NewJsonGzip, **neutral) as cassette:
        try:
            yield cassette
        finally:
            # vcrpy also saves on its exit, but a failure there would leave the transport patched.
            cassette._save(force=True)  # noqa: SLF001  vcrpy has no public method for it


@contextmanager
def playing(path: Path) -> Iterator[RunCassette]:
    """Answer requests from a cassette, without a network and without the waits between retries."""
    before = calling.wait.set(_no_wait)
    try:
        with _use(path, RecordMode.NONE, JsonGzip) as cassette:
            yield cassette
    finally:
        calling.wait.reset(before)


async def _no_wait(_seconds: float) -> None:
    """Return at once."""


@contextmanager
def _use(path: Path, mode: RecordMode, persister: type[JsonGzip], **hooks: object) -> Iterator[RunCassette]:
    """Use a RunCassette with vcrpy; `VCR.use_cassette` always makes vcrpy's own Cassette."""
    with RunCassette.use(
        path=path,
        record_mode=mode,
        persister=persister,
        skip_patchers=PATCHER_NAMES,
        record_on_exception=False,
        **hooks,
    ) as cassette:
        yield cassette


def neutral_request(request: Request) -> Request | None:
    """Return a chat request without host, query and secrets, or None for vcrpy to ignore another request."""
    if not is_chat(request):
        return None
    return Request(request.method, NEUTRAL_URI, request.body, _kept(request.headers))


def is_chat(request: Request) -> bool:
    """Return whether a request is one for a chat completion."""
    path: str = urlsplit(request.uri).path
    return path.endswith(ENDPOINT)


def neutral_response(response: dict[str, Any]) -> dict[str, Any]:
    """Return a response without secrets, decompressed as the client would do it."""
    body = response["body"].get("string") or b""
    encoding = [v for k, v in response["headers"].items() if k.lower() == "content-encoding"]
    if encoding:
        body = httpx2.Response(
            200, headers={"content-encoding": ", ".join(encoding[0])}, content=body
        ).content
    text = without_secrets(body.decode(errors="surrogateescape"))
    return {
        **response,
        "headers": _kept(response["headers"]),
        "body": {"string": text.encode(errors="surrogateescape")},
    }


def _kept(headers: Mapping[str, Any]) -> dict[str, Any]:
    return {k.lower(): v for k, v in headers.items() if k.lower() in KEPT_HEADERS}


def key_of(request: Request) -> Key:
    """Return the key of a request, the same before and after it was stored."""
    return Key(request.method, request.headers.get(ADDRESS_HEADER, ""), _sorted(request.body or b""))


def _sorted(body: bytes) -> bytes:
    """Return a body as it is the same however its JSON was spaced, sorted and escaped."""
    try:
        return orjson.dumps(orjson.loads(body), option=orjson.OPT_SORT_KEYS)
    except ValueError:  # no JSON, or JSON that only Python reads
        return json.dumps(body_to_store(body), sort_keys=True).encode()


def _sort_key(request: Request) -> tuple[list[str], Key]:
    """Return a key that sorts turn 10 after turn 9."""
    key = key_of(request)
    return [part.zfill(9) for part in re.split(r"(\d+)", key.address)], key


def body_to_store(body: bytes | None) -> dict[str, Any]:
    """Return a body in a readable form: as JSON if it is JSON, else as text."""
    raw = body or b""
    try:
        return {"json": json.loads(raw)}
    except (ValueError, RecursionError):
        return {"text": raw.decode(errors="surrogateescape")}


def body_from_stored(body: Mapping[str, Any]) -> bytes:
    """Return the bytes of a stored body; JSON may be spaced and escaped otherwise than it was recorded."""
    if "json" in body:
        return dumps(body["json"])
    return str(body["text"]).encode(errors="surrogateescape")


def readable(body: bytes) -> list[str]:
    """Return a request as lines for a diff: its parameters, then each message under its role."""
    request = body_to_store(body).get("json")
    if not isinstance(request, dict):
        return body.decode(errors="replace").splitlines()
    lines = [f"{k}: {json.dumps(v, sort_keys=True)}" for k, v in sorted(request.items()) if k != "messages"]
    for message in request.get("messages", ()):
        lines += [f"[{message.get('role')}]", *str(message.get("content")).splitlines()]
    return lines
