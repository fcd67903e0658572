"""Where two records of a turn differ, and how."""

import difflib
import json
from collections.abc import Collection, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

from hobbes.engine.record import canonical
from hobbes.engine.turn import Layer, TurnRecord

MAX_LINE_LENGTH = 60
"""How many characters of a line stand in the words of a difference."""


class Difference(NamedTuple):
    """A difference between two records of a turn: agent, layer, part of the record, and both texts of it."""

    agent: str
    layer: Layer
    part: str
    before: str
    now: str

    def in_words(self) -> str:
        """Return the first line that differs: `state.gold.a: 7, not state.gold.a: 6`."""
        lines = zip_longest(self.before.splitlines(), self.now.splitlines(), fillvalue="nothing")
        pair = next(pair for pair in lines if pair[0] != pair[1])
        return ", not ".join(shortened(line, MAX_LINE_LENGTH) for line in pair)


def first_differing_part(
    left: TurnRecord, right: TurnRecord, without: Collection[str] = ()
) -> Difference | None:
    """Return the first part in which two records of a turn differ, or None if they are equal.

    Parts with the names in `without` are not compared. The agent is the first one whose part differs; it is
    empty if the part belongs to no agent.
    """
    agents = {*left.memories, *right.memories}
    for name, part in left.parts().items():
        if name in without:
            continue
        ours, theirs = (part.dump(getattr(record, name)) for record in (left, right))
        if canonical(ours) != canonical(theirs):
            a, b = _by_agent(ours), _by_agent(theirs)
            differs = (key for key in sorted(agents) if canonical(a.get(key)) != canonical(b.get(key)))
            before, now = json_text({name: ours}), json_text({name: theirs})
            return Difference(next(differs, ""), part.layer, name, before, now)
    return None


def shortened(text: str, most: int) -> str:
    """Return a text, or of a longer one the first so many characters."""
    return text if len(text) <= most else f"{text[:most]}…"


def _by_agent(part: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    """Return the part of each agent, from an object by agent or from a list of elements with an agent."""
    if isinstance(part, dict):
        return part
    groups: dict[str, list[dict[str, Any]]] = {}
    for element in part:
        groups.setdefault(element.get("agent", ""), []).append(element)
    return groups


def diff_of(left: str, right: str, sides: tuple[str, str] = ("before", "now")) -> str:
    """Return a unified diff, empty if there is no difference."""
    lines = difflib.unified_diff(left.splitlines(), right.splitlines(), *sides, lineterm="", n=1)
    return "".join(f"{line}\n" for line in lines)


def json_text(value: Any) -> str:  # noqa: ANN401  any JSON
    """Return JSON as lines that can be compared: the path of each value, and the value."""
    return "\n".join(_lines("", value))


def _lines(path: str, value: Any) -> Iterator[str]:  # noqa: ANN401  any JSON
    if isinstance(value, dict) and value:
        for name, inner in sorted(value.items()):
            yield from _lines(f"{path}.{name}" if path else name, inner)
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        yield from (f"{path}: {json.dumps(one, ensure_ascii=False, sort_keys=True)}" for one in value)
    else:
        yield f"{path}: {json.dumps(value, ensure_ascii=False)}"
