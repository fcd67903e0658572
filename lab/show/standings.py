"""What `hobbes tournament` prints: a progress bar, the ranking and the payoff matrix."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.progress import track
from rich.text import Text

from hobbes.engine.trust.tournament import Meeting, Standing
from hobbes.lab.show.terminal import ERR, OUT, SHADES, plain, table

TITLE = "points per game: 1 for a win, 1/2 for surviving a game without a winner, 0 otherwise"


def watched(meetings: Iterator[Meeting], pairs: int) -> Iterable[Meeting]:
    """Yield the results of the pairs, with a progress bar on stderr."""
    ERR.print(Text(f"{pairs} pairs of policies; 200 games of each take a minute or two", style="dim"))
    return track(meetings, "pairs", pairs, console=ERR, transient=True)


def show(standing: Standing, seconds: float) -> None:
    """Print the ranking with its confidence intervals, and the payoff matrix."""
    columns = ("rank", "policy", "points", "95% from", "to", "sats", "games")
    ranks = [[p.rank, p.name, p.points, p.low, p.high, p.sats, p.games] for p in standing.places]
    OUT.print(table(TITLE, columns, ranks))
    names = [place.name for place in standing.places]
    ranked = ("", *(str(place) for place in range(1, len(names) + 1)))
    OUT.print(table("\npoints of each row against each column", ranked, _matrix(names, standing.points)))
    speed = f"{standing.rounds:,} rounds in {seconds:.1f} s, {standing.rounds / seconds:,.0f} per second"
    ERR.print(Text(speed, style="dim"))


def _matrix(names: Sequence[str], points: Mapping[str, Mapping[str, float]]) -> list[list[Any]]:
    """Return the rows of the payoff matrix, coloured from low to high."""
    return [
        [plain(f"{place} {row}"), *(_coloured(points[row][column]) for column in names)]
        for place, row in enumerate(names, start=1)
    ]


def _coloured(points: float) -> Text:
    """Return the mean number of points in the colour of its size."""
    return Text(
        f"{points:.2f}".lstrip("0")[:3], style=SHADES[min(int(points * len(SHADES)), len(SHADES) - 1)]
    )
