"""`/RUN/messages` of `hobbes view`: who wrote what to whom, and what they did to each other."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, permutations
from operator import attrgetter
from typing import Any

from hobbes.engine.record import MESSAGE
from hobbes.lab.errors import UsageError
from hobbes.lab.show.judgements import shade
from hobbes.lab.show.palette import Looks
from hobbes.lab.show.tracing import named_by
from hobbes.lab.store.exchanges import Happened, events_until
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import Run

MAX_ENTRIES = 200
"""How many messages and deeds a page lists."""

NUMBERED = {"first": "message", "turn": "turn"}
"""What the numbers in an address count."""

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


class Talk:
    """All messages of a run, and all that agents did to each other, read once for several pages."""

    def __init__(self, store: Store, run: Run, looks: Looks) -> None:
        self.looks = looks
        self.written: dict[str, Counter[str]] = {}
        """Agent to receiver to the number of messages."""
        self._entries = list(_entries(events_until(store, run, run.turns), looks))
        self._messages = [entry for entry in self._entries if entry.text is not None]
        for entry in self._messages:
            self.written.setdefault(entry.agent, Counter())[entry.to] += 1

    def entries(self, two: tuple[str, str] | None) -> list[Entry]:
        """Return all messages, or whatever passed between two agents, in order."""
        if two is None:
            return self._messages
        one, other = two
        ways = {(one, other), (other, one), (one, ALL), (other, ALL)}
        return [entry for entry in self._entries if (entry.agent, entry.to) in ways]


def in_order(looks: Looks, one: str, other: str) -> tuple[str, str]:
    """Return two agents in the order in which all pages name them."""
    return (one, other) if looks[one].place <= looks[other].place else (other, one)


def page_of(entries: Sequence[Entry], turn: int) -> int:
    """Return the number of the first entry of the page on which the entries of a turn begin."""
    before = sum(entry.turn < turn for entry in entries)
    return min(before, max(len(entries) - 1, 0)) // MAX_ENTRIES * MAX_ENTRIES


def conversation(talk: Talk, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows: all messages, or what passed between two agents, in order.

    `at` is its address: `between` names the two, `first` is the number of the first entry. In place of
    `first`, `turn` may name a turn whose entries are to be on the page. Raise UsageError if one of them is
    wrong.
    """
    two = _two(talk.looks, at.get("between"))
    entries = talk.entries(two)
    first = _number("first", at["first"]) if "first" in at else 0
    if "turn" in at:
        first = page_of(entries, _number("turn", at["turn"]))
    shown = entries[first : first + MAX_ENTRIES]
    return {
        "between": two,
        "agents": list(talk.looks),
        "to_all": any(ALL in of_one for of_one in talk.written.values()),
        "written": talk.written,
        "most": max((n for of_one in talk.written.values() for n in of_one.values()), default=0),
        "shade": shade,
        "turns": {turn: list(of_turn) for turn, of_turn in groupby(shown, attrgetter("turn"))},
        "total": len(entries),
        "first": first,
        "last": first + len(shown),
        "next": first + MAX_ENTRIES if first + MAX_ENTRIES < len(entries) else None,
        "previous": max(first - MAX_ENTRIES, 0) if first else None,
    }


def _two(looks: Looks, between: str | None) -> tuple[str, str] | None:
    """Return the two agents that an address names."""
    if not between:
        return None
    for two in permutations(looks, 2):
        if between == ",".join(two):
            return two
    raise UsageError(
        f"`between` in the address must be two agents, such as A,B; this run has: {', '.join(looks)}"
    )


def _number(name: str, digits: str) -> int:
    """Return the number that an address has under a name."""
    if not digits.isascii() or not digits.isdigit() or len(digits) > len("1000000000"):
        raise UsageError(f"`{name}` in the address is not the number of a {NUMBERED[name]}")
    return int(digits)


def _entries(happened: Iterable[Happened], looks: Looks) -> Iterable[Entry]:
    """Yield messages, and events that name another agent; once for each that they name."""
    for turn, event in happened:
        fields = event.to_json()
        if event.type == MESSAGE:
            to, text = event.facts.get("to", ALL), event.facts.get("text")
            yield Entry(turn, event.agent, str(to), text if isinstance(text, str) else "", fields)
        else:
            for _, other in named_by(event, looks):
                yield Entry(turn, event.agent, other, None, fields)
