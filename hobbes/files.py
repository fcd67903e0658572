"""Files that people name or write: paths, TOML, JSON, text. Problems are raised as one-line UsageErrors."""

import errno
import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from hobbes.errors import UsageError

T = TypeVar("T")

CASSETTE_SUFFIX = ".yaml"
"""The suffix of a cassette's name; the name of a run never ends in it."""

IGNORED_ERRNOS = {errno.ENOENT, errno.ENOTDIR, errno.EACCES}
"""Errors that are no problem yet: a command may create the path, or report the error in better words."""


def check_path(path: Path, what: str) -> Path:
    """Return a path; raise UsageError if it is not a valid path, for instance because it is too long.

    `what` is the option or the thing that the path is for.
    """
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno not in IGNORED_ERRNOS:
            raise UsageError(f"{what} {path}: {error.strerror}; choose another path") from error
    except ValueError as error:  # a null character
        raise UsageError(f"{what} {str(path)!r}: {error}; choose another path") from error
    return path


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; raise UsageError if it cannot be read."""
    return _parse_file(path, "TOML", tomllib.loads)


def read_json(path: Path) -> Any:  # noqa: ANN401  any JSON
    """Return the content of a JSON file; raise UsageError if it cannot be read."""
    return _parse_file(path, "JSON", json.loads)


def read_text(path: Path) -> str:
    """Return the text of a file; raise UsageError if it cannot be read."""
    return _parse_file(path, "UTF-8", str)


def key_and_value(text: str) -> tuple[str, Any]:
    """Return key and value of `key=value`, where the value is JSON or else text.

    Raise UsageError for anything else.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"{text!r}: write key=value")
    try:
        return key.strip(), json.loads(value)
    except ValueError:
        return key.strip(), value.strip()
    except RecursionError as error:
        raise UsageError(f"{key}: the value is nested too deep") from error


def _parse_file(path: Path, format_name: str, parse: Callable[[str], T]) -> T:
    """Return the content of a file as `parse` reads it from the text; raise UsageError if it cannot."""
    from hobbes.nodes import file_content  # noqa: PLC0415  imported here to keep --help fast

    try:
        return parse(file_content.text_of(path))
    except file_content.FileError as error:
        raise UsageError(f"cannot read {path}: {error}; name another file") from error
    except RecursionError as error:
        raise UsageError(f"{path} is not valid {format_name}: it is nested too deep") from error
    except ValueError as error:  # of any of the parsers
        raise UsageError(f"{path} is not valid {format_name}: {error}") from error
