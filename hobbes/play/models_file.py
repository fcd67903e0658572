"""Models files: names for chat models, each with its server and its settings (docs/models.md)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hobbes.engine.names import did_you_mean
from hobbes.engine.world import MAX_NAME, in_one_line
from hobbes.errors import UsageError
from hobbes.files import read_toml
from hobbes.nodes.journal import PlayerKind
from hobbes.nodes.models import Models, ModelSettings
from hobbes.nodes.players import NAME, RESPONSES

FILE = "models.toml"
"""The models file of a home."""

RESERVED = (*(kind.value for kind in PlayerKind), RESPONSES)
"""What no model may be called: what the spec of a player begins with."""


def read_models(home: Path) -> dict[str, ModelSettings]:
    """Return the models of the models file of a home, which need not exist.

    Raise UsageError if the file is wrong; the message names the table and the field, and quotes no value.
    """
    path = home / FILE
    if not path.exists():
        return {}
    return {name: _settings(path, name, table) for name, table in read_toml(path).items()}


def _settings(path: Path, name: str, table: object) -> ModelSettings:
    if name in RESERVED:
        raise UsageError(
            f"{path}: the name {name} is reserved; reserved names: {', '.join(RESERVED)}; choose another name"
        )
    if NAME.fullmatch(name) is None or len(name) > MAX_NAME:
        raise UsageError(
            f"{path}: {name!r} is not a name for a model; use letters, digits, dots, hyphens and "
            f"underscores, {MAX_NAME} at most, and begin with a letter or a digit"
        )
    if not isinstance(table, dict):
        raise UsageError(f"{path}: {name}: must be a table, as in docs/models.md")
    if (whole := _full_name(name, table)) != name:
        raise UsageError(f'{path}: {whole}: a name with a dot needs quotes; write ["{whole}"]')
    fields = ModelSettings.model_fields
    if unknown := [field for field in table if field not in fields]:
        there = did_you_mean(unknown[0], fields, f"the fields are {', '.join(fields)}")
        raise UsageError(f"{path}: {name}: unknown field {unknown[0]!r}{there}")
    try:
        return ModelSettings.model_validate(table)
    except ValidationError as error:
        raise UsageError(f"{path}: {name}: {in_one_line(error, depth=2)}") from error


def _full_name(name: str, table: Mapping[str, Any]) -> str:
    """Return the whole name of a table whose name has dots: TOML reads `[a.b]` as a table in a table."""
    for field, inner in table.items():
        if field not in ModelSettings.model_fields and isinstance(inner, dict):
            whole = _full_name(f"{name}.{field}", inner)
            if "model" in inner or whole != f"{name}.{field}":
                return whole
    return name


def models_json(models: Models) -> dict[str, dict[str, Any]]:
    """Return the models as JSON, each with whether its key is set; both are null if no key is sent."""
    return {
        name: {
            **settings.to_json(),
            "key": settings.key_variable,
            "key_set": bool(os.environ.get(settings.key_variable)) if settings.key_variable else None,
        }
        for name, settings in models.items()
    }
