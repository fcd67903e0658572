"""Looks: the numbers of seeds after which an experiment may be judged, as its plan names them.

Each look may use a share of ALPHA, so that all looks together are wrong as seldom as one. The shares are
those of Lan and DeMets' spending function of the O'Brien-Fleming kind: the first looks get little, the last
one almost all. A p counts as divided by the share of its look. The shares add up to 1, so this holds whatever
the values are like; bounds that use how looks depend on each other would hold for normal values only.
"""

import math
from collections.abc import Sequence

from hobbes.lab.experiment.statistics import ALPHA


def shares(looks: Sequence[int]) -> list[float]:
    """Return the share of ALPHA that each look may use."""
    from scipy import special  # noqa: PLC0415

    limit = float(special.ndtri(ALPHA / 2))
    spent = [2 * float(special.ndtr(limit / math.sqrt(seeds / looks[-1]))) / ALPHA for seeds in looks]
    return [now - before for now, before in zip(spent, [0.0, *spent], strict=False)]


def reached_looks(looks: Sequence[int], complete: int) -> list[int]:
    """Return the looks that have been reached when so many seeds are complete."""
    return [seeds for seeds in looks if seeds <= complete]
