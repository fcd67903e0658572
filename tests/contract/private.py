"""Where the private parts of a state are, by the paths of `World.private`."""

import re
from collections.abc import Iterator
from typing import Any

Place = tuple[Any, Any]
"""A container of JSON and a key or index in it."""

STEP = re.compile(r"\.?(?P<key>[^.\[\]]+)|\[(?P<bracket>[^\]]+)\]")


def places(data: Any, path: str, agent: str) -> list[Place]:
    """Return the places to which a path leads for an agent; LookupError if the state has no such part."""
    found: list[Place] = [([data], 0)]
    for step in STEP.finditer(path):
        values = [holder[key] for holder, key in found]
        found = [place for value in values for place in _next(value, step, agent)]
    return found


def _next(value: Any, step: re.Match[str], agent: str) -> Iterator[Place]:
    """Yield the places one step further on."""
    if step["key"] is not None:
        key = _key(value, step["key"])
        value[key]  # a part that is not there is a mistake in the declaration
        yield value, key
    elif step["bracket"] == "*":
        yield from ((value, k) for k in range(len(value)))
    elif step["bracket"] == "agent":
        if agent in value:
            yield value, agent
    else:
        key, _, mark = step["bracket"].partition("=")
        if mark != "agent":
            raise LookupError(f"[{step['bracket']}]: write [*], [agent] or [key=agent]")
        yield from ((value, k) for k, one in enumerate(value) if one[_key(one, key)] == agent)


def _key(value: Any, name: str) -> Any:
    return int(name) if isinstance(value, list) else name


def others(value: Any, seen: list[Any]) -> Iterator[Any]:
    """Yield values that could stand in the place of one: those seen elsewhere, then made-up ones."""
    yield from (one for one in seen if one != value)
    match value:
        case bool():
            yield not value
        case int():
            yield value + 1
        case str():
            yield value + "!"
        case list():
            of_items = ((k, other) for k, inner in enumerate(value) for other in others(inner, []))
            yield from ([*value[:k], other, *value[k + 1 :]] for k, other in of_items)
            if not value:
                yield [0]
        case dict():
            yield from ({**value, key: other} for key, inner in value.items() for other in others(inner, []))
            yield {}
