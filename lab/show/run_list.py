"""What `hobbes runs` prints: one row per run, or two where the terminal is narrow."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.measure import Measurement
from rich.text import Text

from lab.show.terminal import OUT, percent, plain, table

COLUMNS = ("id", "name", "world", "status", "turns", "failed", "digest")


def show(runs: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Return the runs as a table; if that is wider than the terminal, two rows of facts per run."""
    rows = [_row(run) for run in runs]
    whole = table("", COLUMNS, rows)
    if Measurement.get(OUT, OUT.options.update(max_width=10_000), whole).maximum <= OUT.width:
        return whole
    return Group(*(line for row in rows for line in _two_lines(row)))


def _row(run: Mapping[str, Any]) -> list[Any]:
    """Return the cells of a run."""
    return [
        run["id"] or "?",
        run["name"],
        run["world"],
        "tainted" if run["tainted"] else run["status"],
        run["turns"],
        percent(run["failures"]["share"]),
        (run["digest"] or "")[:8],
    ]


def _two_lines(row: Sequence[Any]) -> tuple[Text, Text]:
    """Return id and name, and below them the other facts as far as there is room."""
    run, name, world, status, turns, failed, digest = row
    facts = [
        fact for fact in (status, world, f"{turns} turns", failed and f"{failed} failed", digest) if fact
    ]
    lines = ["  " + "  ".join(facts[:n]) for n in range(len(facts) + 1)]
    below = max((line for line in lines if len(line) <= OUT.width), key=len, default="")
    return Text.assemble((run, "bold"), " ", plain(name or "")), Text(below)
