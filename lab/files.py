"""Files that people write: TOML, JSON and texts. A file that cannot be read is a UsageError, in one line."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.errors import UsageError


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
    try:
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; check the path") from error
    except RecursionError as error:
        raise UsageError(f"{path} is not valid {form}: it is nested too deep") from error
    except ValueError as error:  # the errors of both parsers, and text that is not UTF-8
        raise UsageError(f"{path} is not valid {form}: {error}") from error
