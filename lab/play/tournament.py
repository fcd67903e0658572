"""`hobbes tournament`: a round-robin of trust's comparators, on all cores, and how it is shown."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from rich.progress import track
from rich.text import Text

from engine.record import Json
from engine.trust.observer import is_scripted
from engine.trust.tournament import SEATS, Meeting, Pair, Standing, round_robin
from engine.trust.world import TRUST
from engine.world import settle
from lab.errors import UsageError
from lab.show.terminal import ERR, OUT, SHADES, plain, table

TITLE = "points of a game: 1 to who wins, 1/2 to who lives to the end of one that nobody wins, else 0"


def play(games: int, seed: int, values: Mapping[str, Json]) -> tuple[Standing, float]:
    """Play the tournament; give the standing, and the seconds that it took."""
    try:
        config = settle(TRUST, SEATS, seed, values).config
        TRUST.setup(config, SEATS, seed)
    except ValueError as error:
        raise UsageError(f"{error} (the two who play are called {' and '.join(SEATS)})") from error
    if not is_scripted(config.observer):
        raise UsageError("a tournament's observer is never, always or sparing(BUDGET,PATIENCE)")
    began = time.monotonic()
    standing = round_robin(list(TRUST.policies.by_name), games, seed, config, on_all_cores)
    return standing, time.monotonic() - began


def on_all_cores(meet: Callable[[Pair], Meeting], pairs: Iterable[Pair]) -> Iterator[Meeting]:
    """Play the pairs in as many processes as there are cores, and show how far they are."""
    waiting = list(pairs)
    with ProcessPoolExecutor() as pool:
        yield from track(pool.map(meet, waiting), "pairs", len(waiting), console=ERR, transient=True)


def show(standing: Standing, seconds: float) -> None:
    """Print ranks with their intervals, and who got what from whom."""
    columns = ("rank", "strategy", "points", "95% from", "to", "sats", "games")
    ranks = [[p.rank, p.name, p.points, p.low, p.high, p.sats, p.games] for p in standing.places]
    OUT.print(table(TITLE, columns, ranks))
    names = [place.name for place in standing.places]
    ranked = ("", *(str(place) for place in range(1, len(names) + 1)))
    OUT.print(table("\npoints of each row against each column", ranked, _matrix(names, standing.points)))
    told = f"{standing.rounds:,} rounds in {seconds:.1f} s, {standing.rounds / seconds:,.0f} a second"
    ERR.print(Text(told, style="dim"))


def _matrix(names: Sequence[str], points: Mapping[str, Mapping[str, float]]) -> list[list[Any]]:
    """Give the payoffs row by row, painted from low to high."""
    return [
        [plain(f"{place} {row}"), *(_painted(points[row][column]) for column in names)]
        for place, row in enumerate(names, start=1)
    ]


def _painted(points: float) -> Text:
    """Paint a mean of points."""
    return Text(
        f"{points:.2f}".lstrip("0")[:3], style=SHADES[min(int(points * len(SHADES)), len(SHADES) - 1)]
    )
