"""Models files: names for chat models, each with its server and its settings (docs/models.md)."""

import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lab.errors import UsageError
from lab.files import read_toml
from nodes.journal import PlayerKind
from nodes.models import Models, ModelSettings
from nodes.players import NAME

FILE = "models.toml"
"""The models file of a home."""


def read_models(home: Path, file: Path | None = None) -> dict[str, ModelSettings]:
    """Return the models of a file, by default of the one in the home, which need not exist.

    Raise UsageError if the file is wrong; the message names the table and the field, and quotes no value.
    """
    path = file or home / FILE
    if file is None and not path.exists():
        return {}
    return {name: _settings(path, name, table) for name, table in read_toml(path).items()}


def _settings(path: Path, name: str, table: object) -> ModelSettings:
    """Return the settings of one table; raise UsageError if they are wrong."""
    if NAME.fullmatch(name) is None or name == PlayerKind.HUMAN:
        raise UsageError(
            f"{path}: {name!r} is not a name for a model; use letters, digits, dots, hyphens and underscores"
        )
    try:
        return ModelSettings.model_validate(table)
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the table"
        why = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            why = f"unknown field; the fields are {', '.join(ModelSettings.model_fields)}"
        raise UsageError(f"{path}: {name}: {field}: {why}") from error


def described(models: Models) -> dict[str, dict[str, Any]]:
    """Return the models as JSON, each with whether its key is set."""
    return {
        name: {**settings.to_json(), "key": settings.key_variable, "key_set": key_is_set(settings)}
        for name, settings in models.items()
    }


def key_is_set(settings: ModelSettings) -> bool:
    """Return whether the environment has what the settings need as a key."""
    return settings.key_variable is None or bool(os.environ.get(settings.key_variable))
