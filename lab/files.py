"""Files that people name or write: paths, TOML, JSON, text. Mistakes in them are UsageErrors, in one line."""

import errno
import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hobbes.lab.errors import UsageError

CASSETTE = ".yaml"
"""How the name of a cassette ends; the name of a run does not."""

MAY_BE_MADE = {errno.ENOENT, errno.ENOTDIR, errno.EACCES}
"""What the system says of paths that a command may still make, or reports with better words."""


def check_path(path: Path, what: str) -> Path:
    """Return a path; raise UsageError if no file can have it, for instance because it is too long.

    `what` is the option or the thing that the path is for.
    """
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno not in MAY_BE_MADE:
            raise UsageError(f"{what} {path}: {error.strerror}; choose another path") from error
    except ValueError as error:  # a null character
        raise UsageError(f"{what} {str(path)!r}: {error}; choose another path") from error
    return path


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; raise UsageError if it cannot be read."""
    content: dict[str, Any] = _read(path, "TOML", tomllib.loads)
    return content


def read_json(path: Path) -> Any:  # noqa: ANN401  any JSON
    """Return the content of a JSON file; raise UsageError if it cannot be read."""
    return _read(path, "JSON", json.loads)


def read_text(path: Path) -> str:
    """Return the text of a file; raise UsageError if it cannot be read."""
    text: str = _read(path, "UTF-8", str)
    return text


def _read(path: Path, form: str, parse: Callable[[str], Any]) -> Any:  # noqa: ANN401  whatever the file holds
    from hobbes.nodes.files import FileError, text_of  # noqa: PLC0415  help need not wait for it

    try:
        return parse(text_of(path))
    except FileError as error:
        raise UsageError(f"cannot read {path}: {error}; name another file") from error
    except RecursionError as error:
        raise UsageError(f"{path} is not valid {form}: it is nested too deep") from error
    except ValueError as error:  # the errors of both parsers
        raise UsageError(f"{path} is not valid {form}: {error}") from error
