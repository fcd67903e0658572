"""The file of a cassette: gzipped JSON with the description of a run and its exchanges."""

import gzip
import io
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic refuses typing.TypedDict before Python 3.12

from hobbes.engine.world import in_one_line
from hobbes.lab.errors import UsageError
from hobbes.lab.play.playing import RunOptions
from hobbes.nodes import files

FORMAT = 1

LARGEST = 512_000_000
"""The most bytes of an unpacked cassette: a small file may unpack to more than the memory holds."""


class JsonBody(TypedDict):
    """A body of JSON."""

    json: Any


class TextBody(TypedDict):
    """Any other body."""

    text: str


class StoredRequest(TypedDict):
    """A request as it is stored."""

    method: str
    uri: str
    headers: dict[str, Any]
    body: JsonBody | TextBody


class StoredResponse(TypedDict):
    """A response as it is stored."""

    status: dict[str, Any]
    headers: dict[str, Any]
    body: JsonBody | TextBody


class Exchange(TypedDict):
    """A request and its response, as they are stored."""

    request: StoredRequest
    response: StoredResponse


class Meta(TypedDict):
    """The description of the recorded run: where its answers came from, its options and its results."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # as pydantic asks for it

    source: str
    run: dict[str, Any]
    digest: str
    digests: list[str]


class File(TypedDict):
    """The contents of a cassette file."""

    format: int
    meta: Meta
    interactions: list[Exchange]


FILE = TypeAdapter(File)


class NotFinite(float):
    """NaN or infinity, which Python reads and writes as JSON and orjson does not: it would write `null`."""


def loads(text: bytes) -> Any:  # noqa: ANN401  any JSON
    """Return the value of a JSON text. orjson reads it if it can; numbers beyond 64 bits become fractions."""
    try:
        return orjson.loads(text)
    except ValueError:  # no JSON, or NaN, or half characters
        return json.loads(text, parse_constant=NotFinite)


def dumps(value: object) -> bytes:
    """Return a JSON text of what `loads` has returned."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()


def content_of(path: Path) -> dict[str, Any]:
    """Return the contents of a cassette file; raise UsageError if it is not a cassette of this format."""
    try:
        content: dict[str, Any] = loads(_unpacked(files.content_of(path)))
        FILE.validate_python(content)
    except files.FileError as error:
        raise UsageError(f"cannot read the cassette {path}: {error}; name another file") from error
    except ValidationError as error:
        raise UsageError(f"{path} is not a valid cassette: {in_one_line(error)}; record it again") from error
    except (gzip.BadGzipFile, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not a valid cassette: {error}; record it again") from error
    if content["format"] != FORMAT:
        raise UsageError(
            f"{path} has format {content['format']}; this version of hobbes reads format {FORMAT}: "
            "record it again"
        )
    return content


def _unpacked(packed: bytes) -> bytes:
    """Return unpacked bytes; raise ValueError if they are too many, and what gzip raises for damaged ones."""
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"unpacked, it is larger than {LARGEST:,} bytes")
    return content


def meta_of(path: Path) -> dict[str, Any]:
    """Return the description of the run that a cassette holds."""
    meta: dict[str, Any] = content_of(path)["meta"]
    return meta


def options_of(path: Path, meta: Mapping[str, Any]) -> RunOptions:
    """Return the options of the run that a cassette holds, from its description."""
    try:
        return RunOptions(**meta["run"])
    except TypeError as error:
        raise UsageError(
            f"{path} holds a run with options that this version of hobbes does not have: {error}; "
            "record it again"
        ) from error
