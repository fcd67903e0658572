"""The territory graph and the capitals. An edge joins two territories that touch.

Source: docs/rules/nations.md#map.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from typing import TypeAlias

Edge: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Land:
    """Which territories touch, and each agent's capital: the first territory that it started with.

    Source: docs/rules/nations.md#map, docs/rules/nations.md#map-from-a-file, docs/rules/nations.md#capitals.
    """

    edges: tuple[Edge, ...]
    capitals: Mapping[str, str]

    def touches(self, territory: str, land: Iterable[str]) -> bool:
        """Return whether a territory has an edge to at least one of the given territories.

        Source: docs/rules/nations.md#ceding-under-a-map.
        """
        held = set(land)
        return any(
            (one == territory and other in held) or (other == territory and one in held)
            for one, other in self.edges
        )


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


DRAWN: Mapping[str, Callable[[Sequence[str]], tuple[Edge, ...]]] = {"ring": ring, "grid": grid}
"""The graphs that are drawn from the list of territories. The edges of `file` come with the config."""
