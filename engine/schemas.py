"""JSON schemas in words, and those with the bounds of a setting, from which a language model cannot run away.

Bounds have only what every server that holds models to schemas obeys (docs/models.md#schemas-of-answers).
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from hobbes.engine.record import Json, JsonObject

MAX_NAMED = 30
"""The most names that a schema lists, since it is sent with each call."""


def text_of(most: int) -> JsonObject:
    """Return the schema of a text of at most so many characters."""
    return {"type": "string", "maxLength": most}


def number_of(least: int, most: int) -> JsonObject:
    """Return the schema of a whole number within these bounds."""
    return {"type": "integer", "minimum": least, "maximum": most}


def list_of(element: Json, most: int) -> JsonObject:
    """Return the schema of a list of at most so many elements."""
    return {"type": "array", "items": element, "maxItems": most}


def object_of(fields: Mapping[str, Json], required: Collection[str] = ()) -> JsonObject:
    """Return the schema of an object with these fields, of which only some are required, and no others."""
    schema: JsonObject = {"type": "object", "properties": fields, "additionalProperties": False}
    return {**schema, "required": [*required]} if required else schema


def by_name(names: Collection[str] | None, value: Json) -> JsonObject:
    """Return the schema of an object by these names, or by any if they are too many or not known (None)."""
    if names is not None and len(names) <= MAX_NAMED:
        return object_of(dict.fromkeys(names, value))
    return {"type": "object", "additionalProperties": value}


def resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with its reference replaced by what is meant; what stands beside it has precedence."""
    while "$ref" in schema:
        meant = definitions[schema["$ref"].rpartition("/")[2]]
        schema = {**meant, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def values_of(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:  # noqa: PLR0911  one a kind
    """Return in words which values a JSON schema allows."""
    match resolved(schema, definitions):
        case {"anyOf": options}:
            return " | ".join(values_of(option, definitions) for option in options)
        case {"enum": choices}:
            return " | ".join(map(str, choices))
        case {"const": value}:
            return json.dumps(value)
        case {"type": "boolean"}:
            return "true | false"
        case {"type": "integer" | "number" as kind} as number:
            least, most = number.get("minimum"), number.get("maximum")
            words = "whole number" if kind == "integer" else "number"
            ends = [f" from {least}"] * (least is not None) + [f" to {most}"] * (most is not None)
            return words + "".join(ends)
        case {"type": "array"} as array:
            items = array.get("items") or {"anyOf": array.get("prefixItems", [])}
            return f"list of {values_of(items, definitions)}"
        case {"type": "object", "properties": fields}:
            return "{" + ", ".join(fields) + "}"
        case {"type": "object", "additionalProperties": Mapping() as values}:
            return f"{{NAME: {values_of(values, definitions)}}}"
        case {"type": str(kind)}:
            return {"string": "text", "object": "{}"}.get(kind, kind)
    return "JSON"
