"""`hobbes tournament`: a round-robin of the scripted policies of trust, on all cores."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import TypeAlias

from hobbes.engine.record import Json
from hobbes.engine.trust.observer import is_scripted
from hobbes.engine.trust.tournament import SEATS, Meeting, Pair, Standing, round_robin
from hobbes.engine.trust.world import TRUST
from hobbes.engine.world import make_setting
from hobbes.lab.errors import UsageError

Watch: TypeAlias = Callable[[Iterator[Meeting], int], Iterable[Meeting]]
"""Yields the results that it is given, with their number, and may show the progress."""


def play(games: int, seed: int, values: Mapping[str, Json], watch: Watch) -> tuple[Standing, float]:
    """Play the tournament; return the standing, and the seconds that it took."""
    try:
        config = make_setting(TRUST, SEATS, seed, values).config
        TRUST.setup(config, SEATS, seed)
    except ValueError as error:
        raise UsageError(f"{error} (the two agents of each game are {' and '.join(SEATS)})") from error
    if not is_scripted(config.observer):
        raise UsageError(
            f"a tournament cannot ask the observer {config.observer!r}; "
            "set it to never, always or sparing(BUDGET,PATIENCE)"
        )
    began = time.monotonic()

    def on_all_cores(meet: Callable[[Pair], Meeting], pairs: Iterable[Pair]) -> Iterator[Meeting]:
        """Play the pairs in one process per core."""
        waiting = list(pairs)
        with ProcessPoolExecutor() as pool:
            yield from watch(pool.map(meet, waiting), len(waiting))

    standing = round_robin(list(TRUST.policies.by_name), games, seed, config, on_all_cores)
    return standing, time.monotonic() - began
