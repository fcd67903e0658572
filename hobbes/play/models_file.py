"""Models files: names for chat models, each with its server and its settings (docs/models.md)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from hobbes.engine.world import MAX_NAME
from hobbes.errors import UsageError
from hobbes.files import read_toml
from hobbes.nodes.journal import PlayerKind
from hobbes.nodes.models import MAX_TEMPERATURE, Models, ModelSettings
from hobbes.nodes.players import NAME, RESPONSES

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

FILE = "models.toml"
"""The models file of a home."""

RESERVED = (*(kind.value for kind in PlayerKind), RESPONSES)
"""What no model may be called: what the spec of a player begins with."""

_WHOLE = "a whole number of at least 1"

VALUES: Mapping[str, str] = {
    "model": "the provider's name for the model, in quotes",
    "base_url": "a URL in quotes",
    "key": "the name of an environment variable, in quotes",
    "api": '"chat" or "responses"',
    "temperature": f"a number from 0 to {MAX_TEMPERATURE}",
    "top_p": "a number from 0 to 1",
    "seed": "a whole number",
    "max_tokens": _WHOLE,
    "reasoning_effort": "a word in quotes",
    "extra_body": "a table of values that JSON has, without dates, inf and nan",
    "response_format": '"json_object", "json_schema" or "none"',
    "required": 'a list of the names of parameters in quotes, such as ["temperature"]',
    "cache": "true or false",
    "timeout": "a number of seconds above 0",
    "parallel": _WHOLE,
    "calls_per_minute": _WHOLE,
    "tokens_per_minute": _WHOLE,
    "price": "a table of numbers from 0 up: input, output and, if they differ, cache_read and cache_write",
}
"""The fields of a table, each with the values that it may have, in words."""


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
    if (whole := _full_name(name, table)) != name:
        raise UsageError(f'{path}: {whole}: a name with a dot needs quotes; write ["{whole}"]')
    try:
        return ModelSettings.model_validate(table)
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
        raise UsageError(f"{path}: {name}: {_in_words(first)}") from error


def _full_name(name: str, table: object) -> str:
    """Return the whole name of a table whose name has dots: TOML reads `[a.b]` as a table in a table."""
    for field, inner in table.items() if isinstance(table, dict) else ():
        if field not in ModelSettings.model_fields and isinstance(inner, dict):
            whole = _full_name(f"{name}.{field}", inner)
            if "model" in inner or whole != f"{name}.{field}":
                return whole
    return name


def _in_words(error: "ErrorDetails") -> str:
    if not error["loc"]:
        own = error["type"] == "value_error"
        return error["msg"].removeprefix("Value error, ") if own else "must be a table, as in docs/models.md"
    field = str(error["loc"][0])
    if field not in VALUES:
        return f"{field}: unknown field; the fields are {', '.join(VALUES)}"
    if error["type"] == "value_error":
        return f"{field}: {error['msg'].removeprefix('Value error, ')}"
    if error["type"] == "missing" and len(error["loc"]) == 1:
        return f"{field} is missing; it must be {VALUES[field]}"
    return f"{field}: must be {VALUES[field]}"


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
