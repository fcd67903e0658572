"""The order of territories, the graph of those that touch, and the capitals.

Source: docs/rules/nations.md#map, docs/rules/nations.md#order-of-territories.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import isqrt
from typing import TypeAlias

Edge: TypeAlias = tuple[str, str]
"""Two territories that touch."""


@lru_cache(maxsize=4096)
def by_number(territory: str) -> tuple[str, int, str, str]:
    """Return a sort key for territories: T6 before T10, and other names as text.

    Source: docs/rules/nations.md#order-of-territories.
    """
    prefix = territory.rstrip("0123456789")
    number = territory[len(prefix) :].lstrip("0")
    # A longer number is a larger one. `int` would refuse a name of thousands of digits.
    return prefix, len(number), number, territory


def sort_edges(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Return the edges sorted, each once and with the lower territory first.

    Source: docs/rules/nations.md#map-from-a-file.
    """
    pairs = {(min(edge, key=by_number), max(edge, key=by_number)) for edge in edges}
    return tuple(sorted(pairs, key=lambda pair: (by_number(pair[0]), by_number(pair[1]))))


@dataclass(frozen=True)
class Land:
    """Which territories touch, and each agent's capital: the first territory that it started with.

    Source: docs/rules/nations.md#map, docs/rules/nations.md#map-from-a-file, docs/rules/nations.md#capitals.
    """

    edges: tuple[Edge, ...]
    capitals: Mapping[str, str]

    def may_cede(self, owned: Mapping[str, Collection[str]]) -> dict[str, dict[str, list[str]]]:
        """Return which territories each agent may cede, by receiver: those that touch the receiver's land.

        Capitals are left out, and so are receivers to whom nothing may be ceded.

        Source: docs/rules/nations.md#ceding-under-a-map, docs/rules/nations.md#capitals.
        """
        owner = {territory: agent for agent, held in owned.items() for territory in held}
        capitals = set(self.capitals.values())
        by_giver: dict[str, dict[str, set[str]]] = {agent: {} for agent in owned}
        both_ways = (pair for edge in self.edges for pair in (edge, edge[::-1]))
        for territory, neighbour in both_ways:
            giver, receiver = owner.get(territory), owner.get(neighbour)
            if giver and receiver and giver != receiver and territory not in capitals:
                by_giver[giver].setdefault(receiver, set()).add(territory)
        return {
            giver: {receiver: sorted(land, key=by_number) for receiver, land in sorted(by_receiver.items())}
            for giver, by_receiver in by_giver.items()
        }


def ring(territories: Sequence[str]) -> tuple[Edge, ...]:
    """Join each territory to the next one, and the last to the first.

    Source: docs/rules/nations.md#ring.
    """
    edges = tuple(pairwise(territories))
    return (*edges, (territories[-1], territories[0])) if len(territories) > 2 else edges  # noqa: PLR2004  two territories share one edge


def grid(territories: Sequence[str]) -> tuple[Edge, ...]:
    """Lay the territories row by row on the smallest square that holds them, and join neighbours.

    Each territory touches those to its left and right, above and below.

    Source: docs/rules/nations.md#grid.
    """
    width = isqrt(max(0, len(territories) - 1)) + 1
    across = [pair for k, pair in enumerate(pairwise(territories), start=1) if k % width]
    return (*across, *zip(territories, territories[width:], strict=False))


GENERATED_MAPS: Mapping[str, Callable[[Sequence[str]], tuple[Edge, ...]]] = {"ring": ring, "grid": grid}
"""The maps that are generated from the list of territories. For the map `file`, the config has the edges."""
