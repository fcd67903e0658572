"""Where two records of a turn differ, and how."""

import difflib
import json
from collections.abc import Collection
from typing import Any, NamedTuple

from hobbes.engine.record import canonical
from hobbes.engine.telling import counted
from hobbes.engine.turn import Layer, TurnRecord


class Difference(NamedTuple):
    """A difference between two records of a turn: agent, layer, part of the record, and its diff."""

    agent: str
    layer: Layer
    part: str
    diff: str


def first_differing_part(
    left: TurnRecord,
    right: TurnRecord,
    sides: tuple[str, str] = ("before", "now"),
    without: Collection[str] = (),
) -> Difference | None:
    """Return the first part in which two records of a turn differ, or None if they are equal.

    Parts with the names in `without` are not compared.

    The agent is the first one for which that part differs, or empty if the part belongs to no agent.
    """
    agents = {*left.memories, *right.memories}
    for name, part in left.parts().items():
        if name in without:
            continue
        ours, theirs = (part.dump(getattr(record, name)) for record in (left, right))
        if canonical(ours) != canonical(theirs):
            a, b = _by_agent(ours), _by_agent(theirs)
            differs = (key for key in sorted(agents) if canonical(a.get(key)) != canonical(b.get(key)))
            agent = next(differs, "")
            return Difference(agent, part.layer, name, diff_of(pretty(ours), pretty(theirs), sides))
    return None


MAX_VALUE_LENGTH = 40
"""How many characters of a value stand in the words of a difference."""


def in_a_word(recorded: Any, now: Any, path: str = "") -> str:  # noqa: ANN401  any JSON
    """Return where two values first differ, with both: `gold.miner-01 is 7, not 6`."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        keys = sorted({*recorded, *now})
        key = next(key for key in keys if canonical(recorded.get(key)) != canonical(now.get(key)))
        return in_a_word(recorded.get(key), now.get(key), f"{path}.{key}" if path else key)
    if isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        pairs = enumerate(zip(recorded, now, strict=True))
        place, (a, b) = next((at, two) for at, two in pairs if canonical(two[0]) != canonical(two[1]))
        return in_a_word(a, b, f"{path}[{place}]")
    if isinstance(recorded, list) and isinstance(now, list):
        return f"{path} has {counted(len(recorded), 'entry', 'entries')}, not {len(now)}".strip()
    return f"{path} is {_short(recorded)}, not {_short(now)}".strip()


def _short(value: Any) -> str:  # noqa: ANN401  any JSON
    """Return a value as JSON, cut if it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}…"


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


def pretty(value: Any) -> str:  # noqa: ANN401  any JSON
    """Return JSON with one value per line, so that it can be compared line by line."""
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
