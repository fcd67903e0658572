"""Cassettes: the HTTP exchanges of one run, recorded and played with vcrpy.

Each call carries its address (`turn/agent/attempt`) in a header; with the request's body it names the call,
wherever the server was. Calls are found by index: vcrpy compares each request with every recorded one, which
took two minutes for a thousand calls.
"""

import difflib
import gzip
import hashlib
import io
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic refuses typing.TypedDict before Python 3.12
from vcr.cassette import Cassette
from vcr.persisters.filesystem import CassetteNotFoundError
from vcr.record_mode import RecordMode
from vcr.request import Request

from engine.world import in_one_line
from lab.errors import UsageError
from nodes import calling
from nodes.chat import ADDRESS_HEADER
from nodes.secrecy import without_secrets

ENDPOINT = "/chat/completions"
NEUTRAL_URI = f"https://model.invalid/v1{ENDPOINT}"
KEPT_HEADERS = frozenset({ADDRESS_HEADER, "content-type", "retry-after", "retry-after-ms"})
"""The headers that may be written, either way: any list of secret ones has holes."""
FORMAT = 1
LONGEST_DIFF = 8_000
SKIPPED_PATCHERS = ("httplib", "requests", "boto3", "urllib3", "httplib2", "tornado", "httpx")
"""vcrpy's patches of clients that ask no chat model."""


class JsonBody(TypedDict):
    """A body that is JSON."""

    json: Any


class TextBody(TypedDict):
    """Any other body."""

    text: str


class StoredRequest(TypedDict):
    """A request in the file."""

    method: str
    uri: str
    headers: dict[str, Any]
    body: JsonBody | TextBody


class StoredResponse(TypedDict):
    """A response in the file."""

    status: dict[str, Any]
    headers: dict[str, Any]
    body: JsonBody | TextBody


class Call(TypedDict):
    """One call in the file."""

    request: StoredRequest
    response: StoredResponse


class Meta(TypedDict):
    """The description of the run: where it came from, what was asked for, what it came to."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # pydantic's own way

    source: str
    run: dict[str, Any]
    digest: str
    digests: list[str]


class File(TypedDict):
    """The file of a cassette."""

    format: int
    meta: Meta
    interactions: list[Call]


FILE = TypeAdapter(File)


class CassetteMissError(Exception):
    """A played request is not in the cassette: the prompt changed, or the run took another path.

    A plain exception on purpose: openai's client wraps only the errors of its transport.
    """

    def __init__(self, address: str, diff: str) -> None:
        turn, agent, _ = (*address.split("/"), "?", "?", "?")[:3]
        super().__init__(f"not in the cassette: turn {turn}, {agent}\n{diff}")
        self.turn, self.agent, self.diff = turn, agent, diff


class Key(NamedTuple):
    """What makes two calls the same: never the host, nor the path that its base URL adds."""

    method: str
    address: str
    body: str


class RunCassette(Cassette):  # type: ignore[misc]  # vcrpy carries no types
    """A vcrpy cassette with an index, and with a description of the run beside its calls."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  vcrpy's own arguments
        super().__init__(*args, **kwargs)
        self._by_key: dict[Key, list[int]] = defaultdict(list)
        self._by_address: dict[str, list[int]] = defaultdict(list)

    @property
    def meta(self) -> dict[str, Any]:
        """The run's description: while recording, a dictionary to fill."""
        meta: dict[str, Any] = self.get_metadata("meta", {})
        return meta

    def append(self, request: Request, response: dict[str, Any]) -> None:
        """Add a call, and index it."""
        start = len(self.data)
        super().append(request, response)
        for index in range(start, len(self.data)):
            key = key_of(self.data[index][0])
            self._by_key[key].append(index)
            self._by_address[key.address].append(index)

    def can_play_response_for(self, request: Request) -> bool:
        """Tell whether a request is to be played; in a played run everything to the endpoint is."""
        return self.record_mode != RecordMode.ALL and self.filter_request(request) is not None

    def play_response(self, request: Request) -> dict[str, Any]:
        """Give the recorded response; CassetteMissError says how the request differs from what was asked."""
        key = key_of(request)
        index = next((i for i in self._by_key.get(key, ()) if not self.play_counts[i]), None)
        if index is None:
            raise CassetteMissError(key.address, self._difference(key, request))
        self.play_counts[index] += 1
        response: dict[str, Any] = self.data[index][1]
        return response

    def _difference(self, key: Key, request: Request) -> str:
        """Say why there is nothing to play."""
        if key in self._by_key:
            return "it was played already"
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
    """The file of a cassette: JSON that a person can read, gzipped; the same calls give the same bytes."""

    @staticmethod
    def load_cassette(
        cassette_path: Path, serializer: object
    ) -> tuple[list[Request], list[dict[str, Any]], dict[str, Any]]:
        """Read a file; a damaged one raises, where vcrpy would take it for empty and record over it."""
        del serializer  # vcrpy offers one; the format is ours
        if not cassette_path.is_file():
            raise CassetteNotFoundError(cassette_path)
        content = _content(cassette_path)
        calls = content["interactions"]
        requests = [Request(**{**call["request"], "body": wire(call["request"]["body"])}) for call in calls]
        responses = [
            {**call["response"], "body": {"string": wire(call["response"]["body"])}} for call in calls
        ]
        return requests, responses, {"meta": content["meta"]}

    @staticmethod
    def save_cassette(cassette_path: Path, cassette_dict: dict[str, Any], serializer: object) -> None:
        """Write a file, its calls by address: concurrent ones end in any order."""
        del serializer
        calls = sorted(
            zip(cassette_dict["requests"], cassette_dict["responses"], strict=True),
            key=lambda call: _natural(call[0]),
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
                        "body": stored(request.body),
                    },
                    "response": {**response, "body": stored(response["body"].get("string"))},
                }
                for request, response in calls
            ],
        }
        text = json.dumps(content, indent=1, sort_keys=True) + "\n"
        packed = io.BytesIO()
        # Not gzip.compress: the header that it writes depends on the version of Python.
        with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as file:
            file.write(text.encode())
        partial = cassette_path.with_name(f"{cassette_path.name}.partial")
        partial.write_bytes(packed.getvalue())
        partial.replace(cassette_path)


def _content(path: Path) -> dict[str, Any]:
    """Read a cassette's file; UsageError says in one line that it is none."""
    try:
        content: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
        FILE.validate_python(content)
    except ValidationError as error:
        raise UsageError(f"{path} is no cassette: {in_one_line(error)}") from error
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no cassette: {error}") from error
    if content["format"] != FORMAT:
        raise UsageError(f"{path} has format {content['format']}; this hobbes reads {FORMAT}")
    return content


def meta_of(path: Path) -> dict[str, Any]:
    """Give the description of the run that a cassette holds."""
    meta: dict[str, Any] = _content(path)["meta"]
    return meta


@contextmanager
def recording(path: Path) -> Iterator[RunCassette]:
    """Record a run's calls anew; whatever happens, those that were answered are saved."""
    path.unlink(missing_ok=True)
    with _use(path, RecordMode.ALL) as cassette:
        try:
            yield cassette
        finally:
            # Here and not on vcrpy's exit: when its save fails there, it leaves the transport patched.
            cassette._save(force=True)  # noqa: SLF001  vcrpy has no public way


@contextmanager
def playing(path: Path) -> Iterator[RunCassette]:
    """Play a recorded run without a network, and without the waits that its server asked for."""
    before = calling.wait.set(_at_once)
    try:
        with _use(path, RecordMode.NONE) as cassette:
            yield cassette
    finally:
        calling.wait.reset(before)


async def _at_once(_seconds: float) -> None:
    """Let no time pass: what comes after it is recorded."""


@contextmanager
def _use(path: Path, mode: RecordMode) -> Iterator[RunCassette]:
    """Enter vcrpy with our parts. `VCR.use_cassette` cannot: it always makes the stock Cassette."""
    with RunCassette.use(
        path=path,
        record_mode=mode,
        persister=JsonGzip,
        before_record_request=neutral_request,
        before_record_response=neutral_response,
        skip_patchers=SKIPPED_PATCHERS,
        record_on_exception=False,
    ) as cassette:
        yield cassette


def neutral_request(request: Request) -> Request | None:
    """A chat request without host, query and secrets; None, for vcrpy to let it be, if it is another."""
    if not urlsplit(request.uri).path.endswith(ENDPOINT):
        return None
    return Request(request.method, NEUTRAL_URI, request.body, _kept(request.headers))


def neutral_response(response: dict[str, Any]) -> dict[str, Any]:
    """A response without secrets, decompressed as the client would, whatever the encoding."""
    body = response["body"].get("string") or b""
    encoding = [v for k, v in response["headers"].items() if k.lower() == "content-encoding"]
    if encoding:
        body = httpx2.Response(
            200, headers={"content-encoding": ", ".join(encoding[0])}, content=body
        ).content
    told = without_secrets(body.decode(errors="surrogateescape"))
    return {
        **response,
        "headers": _kept(response["headers"]),
        "body": {"string": told.encode(errors="surrogateescape")},
    }


def _kept(headers: Mapping[str, Any]) -> dict[str, Any]:
    return {k.lower(): v for k, v in headers.items() if k.lower() in KEPT_HEADERS}


def key_of(request: Request) -> Key:
    """Name a request, the same before and after it was stored."""
    body = json.dumps(stored(request.body), sort_keys=True)
    return Key(
        request.method, request.headers.get(ADDRESS_HEADER, ""), hashlib.sha256(body.encode()).hexdigest()
    )


def _natural(request: Request) -> tuple[list[str], Key]:
    """Sort turn 10 after turn 9."""
    key = key_of(request)
    return [part.zfill(9) for part in re.split(r"(\d+)", key.address)], key


def stored(body: bytes | None) -> dict[str, Any]:
    """Give a body as a person would read it: as JSON, or else as text."""
    raw = body or b""
    try:
        return {"json": json.loads(raw)}
    except ValueError:
        return {"text": raw.decode(errors="surrogateescape")}


def wire(body: Mapping[str, Any]) -> bytes:
    """Give the bytes of a stored body, equal to the recorded ones but for JSON's spelling."""
    if "json" in body:
        return json.dumps(body["json"]).encode()
    return str(body["text"]).encode(errors="surrogateescape")


def readable(body: bytes) -> list[str]:
    """Give a request as lines: its parameters, then each message under its role."""
    request = stored(body).get("json")
    if not isinstance(request, dict):
        return body.decode(errors="replace").splitlines()
    lines = [f"{k}: {json.dumps(v, sort_keys=True)}" for k, v in sorted(request.items()) if k != "messages"]
    for message in request.get("messages", ()):
        lines += [f"[{message.get('role')}]", *str(message.get("content")).splitlines()]
    return lines
