"""The files of a recorded run: its cassette, `NAME.yaml`, and its description, `NAME.json`.

A cassette holds nothing but exchanges, in vcrpy's own format, so vcrpy and pytest-recording play it as it is.
The description is no part of it, because pytest-recording cannot read a cassette with metadata.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic refuses typing.TypedDict before Python 3.12
from vcr.cassette import Cassette
from vcr.persisters.filesystem import CassetteNotFoundError, FilesystemPersister
from vcr.request import Request
from vcr.serializers import yamlserializer

from hobbes.engine.world import in_one_line
from hobbes.errors import UsageError
from hobbes.files import read_json
from hobbes.nodes import file_content
from hobbes.nodes.chat import ADDRESS_HEADER
from hobbes.play.start import RunOptions

MAX_BYTES = 256_000_000
"""The size of the largest cassette that is read. One of 1,000 calls has 10 MB."""

DAMAGE_ERRORS = (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What vcrpy and its YAML raise for a file that is not a cassette."""


class Body(TypedDict):
    """The body of a response."""

    string: str | bytes


class Status(TypedDict):
    """The status of a response."""

    code: int
    message: str | None


class StoredResponse(TypedDict):
    """A response as vcrpy stores it."""

    status: Status
    headers: dict[str, list[str]]
    body: Body


class StoredRequest(TypedDict):
    """A request as vcrpy stores it."""

    method: str
    uri: str
    headers: dict[str, list[str]]
    body: str | bytes | None


class Exchange(TypedDict):
    """A request and its response."""

    request: StoredRequest
    response: StoredResponse


class Content(TypedDict):
    """The content of a cassette."""

    interactions: list[Exchange]


CONTENT = TypeAdapter(Content)


class Description(TypedDict):
    """The description of a recorded run: where its answers came from, its options and its results."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # as pydantic asks for it

    source: str
    run: dict[str, Any]
    digest: str
    digests: list[str]


DESCRIPTION = TypeAdapter(Description)

Exchanges = tuple[list[Request], list[dict[str, Any]]]
"""The requests of a cassette, and the response to each."""


class CheckedSerializer:
    """vcrpy's YAML serializer, with a check of what was read; vcrpy checks nothing."""

    @staticmethod
    def deserialize(text: str) -> dict[str, Any]:
        """Return the content of a cassette; raise one of DAMAGE_ERRORS if it is not one."""
        content: dict[str, Any] = yamlserializer.deserialize(text)
        CONTENT.validate_python(content)
        return content


class CheckedPersister(FilesystemPersister):  # type: ignore[misc]  # vcrpy has no types
    """vcrpy's persister, but a missing or damaged file is an error: vcrpy alone would treat it as empty."""

    @classmethod
    def load_cassette(cls, cassette_path: Path, serializer: object = None) -> Exchanges:
        """Return the exchanges of a cassette; raise UsageError if the file is not one."""
        del serializer  # vcrpy's argument; CheckedSerializer reads what vcrpy's own serializer has written
        try:
            file_content.content_of(cassette_path, MAX_BYTES)
            requests, responses, *_ = super().load_cassette(cassette_path, CheckedSerializer)
        except CassetteNotFoundError as error:
            raise UsageError(f"{cassette_path} is empty or not a file; record it again") from error
        except file_content.FileError as error:
            raise UsageError(
                f"cannot read the cassette {cassette_path}: {error}; name another file"
            ) from error
        except DAMAGE_ERRORS as error:
            problem = in_one_line(error, depth=5) if isinstance(error, ValidationError) else str(error)
            in_short = " ".join(problem.split())
            raise UsageError(
                f"{cassette_path} is not a valid cassette: {in_short}; record it again"
            ) from error
        return requests, responses


def save_cassette(path: Path, cassette: Cassette) -> None:
    """Write a whole cassette or nothing, sorted by address, since concurrent calls end in any order."""

    def address_of(exchange: tuple[Request, Any]) -> list[str]:
        address = exchange[0].headers.get(ADDRESS_HEADER, "")
        return [part.zfill(9) for part in re.split(r"(\d+)", address)]  # turn 10 comes after turn 9

    exchanges = sorted(zip(cassette.requests, cassette.responses, strict=True), key=address_of)
    content = {
        "requests": [request for request, _ in exchanges],
        "responses": [response for _, response in exchanges],
    }
    partial = path.with_name(f"{path.name}.partial")
    FilesystemPersister.save_cassette(partial, content, yamlserializer)
    partial.replace(path)


def description_file(path: Path) -> Path:
    """Return the path of the description of a cassette."""
    return path.with_suffix(".json")


def read_description(path: Path) -> dict[str, Any]:
    """Return the description of the run in a cassette; raise UsageError if it is missing or damaged."""
    if not os.path.exists(path):  # noqa: PTH110  Path.exists raises OSError for some names
        raise UsageError(f"there is no cassette {path}; name another file")
    file = description_file(path)
    content: dict[str, Any] = read_json(file)
    try:
        DESCRIPTION.validate_python(content)
    except ValidationError as error:
        raise UsageError(
            f"{file} does not describe a recorded run: {in_one_line(error)}; record it again"
        ) from error
    return content


def write_description(path: Path, description: Mapping[str, Any]) -> None:
    """Write the description of a cassette."""
    text = json.dumps(description, indent=1, sort_keys=True) + "\n"
    description_file(path).write_text(text, encoding="utf-8")


def recorded_options(path: Path, description: Mapping[str, Any]) -> RunOptions:
    """Return the options of the run in a cassette, from its description."""
    try:
        return RunOptions(**description["run"])
    except TypeError as error:
        raise UsageError(
            f"{description_file(path)} holds a run with options that this version of hobbes does not have: "
            f"{error}; record it again"
        ) from error
