"""The shapes of the fields of an answer. A value of another shape becomes None; nothing raises.

Source: docs/rules/nations.md#wrong-shape.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias, TypeVar

from hobbes.engine.nations.actions import RESOURCES
from hobbes.engine.record import Json
from hobbes.engine.said import whole

T = TypeVar("T")

Shape: TypeAlias = Callable[[Json], T | None]


def as_count(value: Json) -> int | None:
    """Return a whole number of at least 0, or None. An integral float is a whole number.

    Source: docs/rules/nations.md#wrong-shape, docs/rules/nations.md#integral-floats.
    """
    number = whole(value)
    return None if number is None or number < 0 else number


def _as_text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _as_texts(value: Json) -> list[str] | None:
    if not isinstance(value, list | tuple):
        return None
    texts = [element for element in value if isinstance(element, str)]
    return texts if len(texts) == len(value) else None


def _as_object_of(shape: Shape[T], value: Json) -> dict[str, T] | None:
    """Return an object whose every element has a shape, or None: one wrong element spoils all of it."""
    if not isinstance(value, Mapping):
        return None
    shaped: dict[str, T] = {}
    for key, element in value.items():
        kept = shape(element)
        if kept is None:
            return None
        shaped[key] = kept
    return shaped


as_counts: Shape[dict[str, int]] = partial(_as_object_of, as_count)
as_lists: Shape[dict[str, list[str]]] = partial(_as_object_of, _as_texts)
as_messages: Shape[dict[str, str]] = partial(_as_object_of, _as_text)


def _as_resources(value: Json) -> dict[str, int] | None:
    """Return an object of whole numbers under names of resources, or None."""
    amounts = as_counts(value)
    return None if amounts is None or not amounts.keys() <= set(RESOURCES) else amounts


as_amounts: Shape[dict[str, dict[str, int]]] = partial(_as_object_of, _as_resources)
"""The shape of grants of resources. Source: docs/rules/nations.md#resource-grants-in-an-answer."""
