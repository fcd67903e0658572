"""JSON schemas with the bounds of a setting, from which a language model cannot run away.

They have only what every server that holds models to schemas obeys (docs/models.md#schemas-of-answers).
"""

from collections.abc import Collection, Mapping

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
