"""nations: the territory graph and the capitals.

Source: decisions page, "Treatments" (a territory graph under which only a territory that touches the
receiver's land, and no capital, may be ceded). An edge joins two territories that touch.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from typing import TypeAlias

Edge: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Land:
    """What touches what, and each agent's capital: the first territory it started with."""

    edges: tuple[Edge, ...]
    capitals: Mapping[str, str]

    def touches(self, territory: str, land: Iterable[str]) -> bool:
        """Tell whether a territory has an edge to one of these."""
        held = set(land)
        return any(
            (one == territory and other in held) or (other == territory and one in held)
            for one, other in self.edges
        )


def ring(territories: Sequence[str]) -> tuple[Edge, ...]:
    """Join each territory to the next, and the last to the first."""
    edges = tuple(pairwise(territories))
    return (*edges, (territories[-1], territories[0])) if len(territories) > 2 else edges  # noqa: PLR2004  two already touch


def grid(territories: Sequence[str]) -> tuple[Edge, ...]:
    """Lay the territories row by row on the smallest square that holds them; the four sides touch."""
    width = isqrt(max(0, len(territories) - 1)) + 1
    across = [pair for k, pair in enumerate(pairwise(territories), start=1) if k % width]
    return (*across, *zip(territories, territories[width:], strict=False))


DRAWN: Mapping[str, Callable[[Sequence[str]], tuple[Edge, ...]]] = {"ring": ring, "grid": grid}
"""The graphs that are drawn from the list of territories; that of `file` is given in the config."""
