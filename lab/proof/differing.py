"""Where two records of a turn differ, and how."""

import difflib
import json
from typing import Any, NamedTuple

from hobbes.engine.record import canonical
from hobbes.engine.turn import Layer, TurnRecord


class Difference(NamedTuple):
    """A difference between two records of a turn: agent, layer, part of the record, and its diff."""

    agent: str
    layer: Layer
    part: str
    diff: str


def first_differing_part(
    recorded: TurnRecord, now: TurnRecord, sides: tuple[str, str] = ("before", "now")
) -> Difference | None:
    """Return the first part in which two records of a turn differ, or None if they are equal.

    The agent is the first one for which that part differs, or empty if the part belongs to no agent.
    """
    agents = {*recorded.memories, *now.memories}
    for name, part in recorded.parts().items():
        then, today = (part.dump(getattr(record, name)) for record in (recorded, now))
        if canonical(then) != canonical(today):
            pairs = _by_agent(then, today)
            differing = (key for key, a, b in pairs if canonical(a) != canonical(b))
            agent = next((key for key in differing if key in agents), "")
            return Difference(agent, part.layer, name, diff_of(pretty(then), pretty(today), sides))
    return None


def _by_agent(recorded: Any, now: Any) -> list[tuple[str, Any, Any]]:  # noqa: ANN401  any JSON
    """Return name and both values of each agent, from objects by agent or lists of elements with an agent."""
    if isinstance(recorded, list):
        recorded, now = _grouped(recorded), _grouped(now)
    return [(name, recorded.get(name), now.get(name)) for name in sorted({*recorded, *now})]


def _grouped(elements: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return drops, mends, events or draws by their agent."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for element in elements:
        groups.setdefault(element.get("agent", ""), []).append(element)
    return groups


def diff_of(recorded: str, now: str, sides: tuple[str, str] = ("before", "now")) -> str:
    """Return a unified diff, empty if there is no difference."""
    lines = difflib.unified_diff(recorded.splitlines(), now.splitlines(), *sides, lineterm="", n=1)
    return "".join(f"{line}\n" for line in lines)


def pretty(value: Any) -> str:  # noqa: ANN401  any JSON
    """Return JSON on many lines, for a diff."""
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
