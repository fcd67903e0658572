"""Ratings and deeds on the page of a run: how agents rate each other, beside what they did to each other."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hobbes.engine.record import MESSAGE
from hobbes.engine.world import AnyWorld
from hobbes.show.palette import Looks
from hobbes.show.trace import named_in
from hobbes.store.history import reports, stored_turn
from hobbes.store.home import Store
from hobbes.store.marked_turns import PlainRecord
from hobbes.store.recorded_run import Run

SHADES = 5
"""How many shades show how much was done."""

BETWEEN = {MESSAGE: "how often the row wrote to the column"}
"""What a table of all pairs counts of the events that all worlds have."""


@dataclass(slots=True)
class Deeds:
    """What agents did to each other: one type of event, summed up."""

    type: str
    role: str
    """The field of the event that names the other one."""
    counted: str
    """What is summed up: a field of the event, or `times`."""
    words: str
    """What a number in the table of all pairs says."""
    done: dict[str, Counter[str]] = field(default_factory=dict)
    """Agent to other to the sum."""

    @property
    def most(self) -> int:
        """The largest sum."""
        return max((n for of_one in self.done.values() for n in of_one.values()), default=0)

    def by(self, agent: str) -> int:
        """Return the sum of what an agent did."""
        return self.done.get(agent, Counter()).total()


def amount_of(world: AnyWorld, event: PlainRecord) -> tuple[str, int]:
    """Return what an event counts, and how much: the first number that its world declares, else 1 time."""
    for name in world.telling.fields_of(event["type"]):
        value = event.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return name, value
    return "times", 1


class DeedSums:
    """What agents did and wrote to each other so far: a sum for each pair and type of event."""

    def __init__(self, world: AnyWorld, names: Collection[str]) -> None:
        self._world, self._names = world, names
        self._by_type: dict[tuple[str, str, str], Deeds] = {}

    def add(self, events: Iterable[PlainRecord]) -> None:
        """Add events."""
        between = {**self._world.telling.between, **BETWEEN}
        for event in events:
            kind, (counted, amount) = event["type"], amount_of(self._world, event)
            for role, other in named_in(event, self._names):
                deeds = self._by_type.get((kind, role, counted))
                if deeds is None:
                    deeds = Deeds(kind, role, counted, between.get(kind, f"{role}, {counted}"))
                    self._by_type[kind, role, counted] = deeds
                deeds.done.setdefault(event["agent"], Counter())[other] += amount

    def by_type(self) -> list[Deeds]:
        """Return the sums, in the order in which the world has its types of events."""
        order = {name: place for place, name in enumerate(self._world.telling.events)}
        return sorted(
            self._by_type.values(), key=lambda one: (order.get(one.type, len(order)), one.type, one.role)
        )


def shade(total: int, most: int) -> int:
    """Return how dark a sum is shown, from 0; the largest is the darkest."""
    return min(SHADES - 1, max(total, 0) * SHADES // max(most, 1))


def judgements(store: Store, run: Run, looks: Looks, deeds: Sequence[Deeds], number: int) -> dict[str, Any]:
    """Return what is shown of ratings and deeds after a turn. Raise MissingError if there is no such turn."""
    named = {name for one in deeds for agent, others in one.done.items() for name in (agent, *others)}
    return {
        "turn": number,
        "ratings": {
            kind.replace("_", " "): ratings
            for kind, ratings in reports(stored_turn(store, run, number)).items()
        },
        "deeds": deeds,
        "agents": sorted(named, key=lambda name: looks[name].place if name in looks else len(looks)),
        "shade": shade,
    }
