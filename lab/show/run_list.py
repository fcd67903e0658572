"""What `hobbes runs` prints: a row per run, or two in a narrow terminal; forks follow their parents."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.measure import Measurement
from rich.text import Text

from hobbes.lab.show.terminal import OUT, percent, plain, table

COLUMNS = ("id", "name", "world", "status", "turns", "failed", "digest", "forked")


def show(runs: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Return the runs as a table; if that is wider than the terminal, two rows of facts per run.

    The runs stand in the order given, but each fork follows its parent.
    """
    rows = [_row(run, depth) for run, depth in _tree(runs)]
    shown = len(COLUMNS) if any(row[-1] for row in rows) else len(COLUMNS) - 1
    whole = table("", COLUMNS[:shown], [row[:shown] for row in rows])
    if Measurement.get(OUT, OUT.options.update(max_width=10_000), whole).maximum <= OUT.width:
        return whole
    return Group(*(line for row in rows for line in _two_lines(row)))


def _tree(runs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Yield each run with its depth in the tree of forks; a fork whose parent is gone is a root."""
    there = {run["id"] for run in runs}
    forks: dict[str | None, list[Mapping[str, Any]]] = {}
    for run in runs:
        forks.setdefault(run["parent"] if run["parent"] in there else None, []).append(run)
    left = [(run, 0) for run in reversed(forks.pop(None, []))]
    while left:
        run, depth = left.pop()
        yield run, depth
        left += [(fork, depth + 1) for fork in reversed(forks.pop(run["id"], []))]


def _row(run: Mapping[str, Any], depth: int) -> list[Any]:
    """Return the cells of a run."""
    return [
        f"{'  ' * (depth - 1)}└ {run['id']}" if depth else run["id"],
        run["name"],
        run["world"],
        "tainted" if run["tainted"] else run["status"],
        run["turns"],
        percent(run["failures"]["share"]),
        (run["digest"] or "")[:8],
        None if run["turn"] is None else f"at turn {run['turn']}",
    ]


def _two_lines(row: Sequence[Any]) -> tuple[Text, Text]:
    """Return id and name, and below them the other facts as far as there is room."""
    run, name, world, status, turns, failed, digest, forked = row
    cells = (
        status,
        forked and f"forked {forked}",
        world,
        f"{turns} turns",
        failed and f"{failed} failed",
        digest,
    )
    facts = [fact for fact in cells if fact]
    lines = ["  " + "  ".join(facts[:n]) for n in range(len(facts) + 1)]
    below = max((line for line in lines if len(line) <= OUT.width), key=len, default="")
    return Text.assemble((run, "bold"), " ", plain(name or "")), Text(below)
