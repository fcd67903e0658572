"""`/RUN/messages` of `hobbes view`: who wrote what to whom, and what they did to each other."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.record import MESSAGE
from lab.errors import UsageError
from lab.show.judgements import shade
from lab.show.looks import Looks
from lab.show.tracing import named_by
from lab.store.database import Run, Store
from lab.store.exchanges import Happened, events_until

MOST_ENTRIES = 200
"""How many messages and deeds a page lists."""

ALL = ""
"""Stands for the receiver of a message that goes to all."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A message, or another event, once for each agent that it names."""

    turn: int
    agent: str
    to: str
    text: str | None
    """The text of a message; None for a deed."""
    event: Mapping[str, Any]


def conversation(store: Store, run: Run, looks: Looks, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows: all messages, or what passed between two agents, in order.

    `at` is its address: `between` names the two, `first` is the number of the first entry. Raise
    UsageError if one of them is wrong.
    """
    two = _two(looks, at.get("between"))
    first = _first(at.get("first"))
    written: dict[str, Counter[str]] = {}
    entries: list[Entry] = []
    for entry in _entries(events_until(store, run, run.turns), looks):
        if entry.text is not None:
            written.setdefault(entry.agent, Counter())[entry.to] += 1
        if _belongs(entry, two):
            entries.append(entry)
    shown = entries[first : first + MOST_ENTRIES]
    return {
        "between": two,
        "agents": list(looks),
        "to_all": any(ALL in of_one for of_one in written.values()),
        "written": written,
        "most": max((n for of_one in written.values() for n in of_one.values()), default=0),
        "shade": shade,
        "turns": _by_turn(shown),
        "total": len(entries),
        "first": first,
        "last": first + len(shown),
        "next": first + MOST_ENTRIES if first + MOST_ENTRIES < len(entries) else None,
        "previous": max(first - MOST_ENTRIES, 0) if first else None,
    }


def _two(looks: Looks, between: str | None) -> tuple[str, str] | None:
    """Return the two agents that an address names."""
    if not between:
        return None
    for one in looks:
        for other in looks:
            if between == f"{one},{other}" and one != other:
                return one, other
    raise UsageError(
        f"`between` in the address must be two agents, such as A,B; this run has: {', '.join(looks)}"
    )


def _first(told: str | None) -> int:
    """Return the number of the first entry that an address asks for, from 0."""
    if told is None:
        return 0
    if not told.isascii() or not told.isdigit() or len(told) > len("1000000000"):
        raise UsageError("`first` in the address is not the number of a message")
    return int(told)


def _entries(happened: Iterable[Happened], looks: Looks) -> Iterable[Entry]:
    """Yield messages, and events that name another agent; once for each that they name."""
    for turn, event in happened:
        told = event.to_json()
        if event.type == MESSAGE:
            to, text = event.facts.get("to", ALL), event.facts.get("text")
            yield Entry(turn, event.agent, str(to), text if isinstance(text, str) else "", told)
        else:
            for _, other in named_by(event, looks):
                yield Entry(turn, event.agent, other, None, told)


def _belongs(entry: Entry, two: tuple[str, str] | None) -> bool:
    """Return whether an entry is listed: a message, or whatever passed between the two who are asked for."""
    if two is None:
        return entry.text is not None
    return entry.agent in two and (entry.to == ALL or (entry.to in two and entry.to != entry.agent))


def _by_turn(entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    """Return entries by turn."""
    found: dict[int, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.turn, []).append(entry)
    return found
