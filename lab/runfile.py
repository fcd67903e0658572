"""A run's file: what `hobbes run FILE.toml` plays, and what a cassette is recorded from."""

import tomllib
from pathlib import Path
from typing import Any

from lab.errors import UsageError
from lab.playing import Request

KEYS = {"world", "agents", "rounds", "seed", "model", "prompts", "lang", "name", "config"}


def read_run_file(path: Path) -> Request:
    """Read a run's file; UsageError says what is wrong with it."""
    try:
        file: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
    if unknown := sorted(file.keys() - KEYS):
        raise UsageError(f"{path}: unknown {', '.join(unknown)}; a run's file has {', '.join(sorted(KEYS))}")
    values = file.pop("config", {})
    if "rounds" in file:
        values["rounds"] = file.pop("rounds")
    if "model" in file:
        file["models"] = file.pop("model")
    return Request(**{"world": "", **file}, values=values)
