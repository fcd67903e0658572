"""`/experiments` of `hobbes view`: which experiments there are, how far each is, and what it found."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hobbes.lab.errors import LabError
from hobbes.lab.experiment.report import (
    Compared,
    Report,
    arms_of,
    measures_of,
    overview,
    report,
    short,
    stored_file,
)
from hobbes.lab.show.findings import MOST_LINES
from hobbes.lab.show.judgements import SHADES
from hobbes.lab.show.reports import sections, title_of
from hobbes.lab.store.experiments import CellSoFar, cells_so_far
from hobbes.lab.store.home import Store

WIDTH, LEFT, ROW, DOT = 640, 130, 34, 5
"""Pixels: the width of a plot, of the names on its left, the height of an arm, the radius of a point."""


def experiments(store: Store) -> dict[str, Any]:
    """Return what the list of experiments shows."""
    listed = overview(store)
    played = any(_is_played(store, cells_so_far(store, one["experiment"]).values()) for one in listed)
    return {"experiments": listed, "played": played}


def _is_played(store: Store, cells: Iterable[CellSoFar]) -> bool:
    """Return whether one of these cells is being played now."""
    return any(cell.status == "unfinished" and store.is_played(cell.run) for cell in cells)


def experiment(store: Store, name: str) -> dict[str, Any]:
    """Return what the page of an experiment shows: its cells, and the report as far as it goes.

    Raise MissingError if no experiment has this name, DamagedError if its file is damaged.
    """
    file = stored_file(store, name)
    arms, measures = arms_of(file), measures_of(file)
    cells = cells_so_far(store, name)
    planned = [(arm, seed) for seed in file.seeds for arm in arms]
    try:
        full_report, problem = report(store, name), ""
    except LabError as error:  # the libraries of statistics are missing
        full_report, problem = None, str(error)
    values = _values(full_report, measures)
    played = _is_played(store, cells.values())
    return {
        "experiment": name,
        "title": title_of(full_report) if full_report else name,
        "problem": problem,
        "arms": arms,
        "seeds": file.seeds,
        "baseline": file.baseline,
        "cells": cells,
        "measures": measures,
        "values": values,
        "ranks": {measure: _ranks(values, measure) for measure in measures},
        "short": short,
        "done": sum(cells[key].status == "finished" for key in planned if key in cells),
        "planned": len(planned),
        "sections": list(sections(store, full_report)) if full_report else [],
        "plots": list(_plots(full_report, cells)) if full_report else [],
        "played": played,
        "drawn": not played and len(arms) <= MOST_LINES,
        "draw": store.command("report", name, "--format", "html", "--to", f"{name}.html"),
    }


Values = Mapping[tuple[str, int], Mapping[str, float | None]]
"""The measures of each cell that has been played, by arm and seed."""


def _values(full_report: Report | None, measures: Sequence[str]) -> Values:
    return {
        cell: {measure: of_cell.get(("run", measure)) for measure in measures}
        for cell, of_cell in (full_report.values.items() if full_report else ())
    }


def _ranks(values: Values, measure: str) -> dict[float, int]:
    """Return the shade of each value of a measure: the largest is the darkest."""
    there = [value for of_cell in values.values() if (value := of_cell[measure]) is not None]
    low, high = min(there, default=0.0), max(there, default=0.0)
    return {value: min(SHADES - 1, int(SHADES * (value - low) / ((high - low) or 1))) for value in there}


@dataclass(frozen=True, slots=True)
class Point:
    """A pair of runs in a plot."""

    x: float
    y: float
    seed: int
    difference: float
    run: str
    """The id of the arm's run."""
    baseline: str
    """The id of the baseline's run."""


@dataclass(frozen=True, slots=True)
class Row:
    """An arm in a plot: its pairs, and the mean of their differences with its interval."""

    arm: str
    y: float
    points: tuple[Point, ...]
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Plot:
    """The differences from the baseline by one measure, in pixels."""

    measure: str
    rows: tuple[Row, ...]
    zero: float
    height: float
    ends: tuple[str, str]
    """What stands at the left end and at the right end."""


def _plots(full_report: Report, cells: Mapping[tuple[str, int], CellSoFar]) -> Iterator[Plot]:
    """Yield a plot for each measure in which there are pairs."""
    for measure in full_report.measures:
        rows = [one for one in full_report.differences if one.measure == measure and one.pairs]
        if rows:
            yield _plot(full_report, measure, rows, cells)


def _plot(
    full_report: Report,
    measure: str,
    compared: Sequence[Compared],
    cells: Mapping[tuple[str, int], CellSoFar],
) -> Plot:
    """Return the plot of a measure. Its scale is symmetric, so that zero stands in the middle."""
    ends = [
        abs(value)
        for one in compared
        for value in (*one.pairs.values(), one.difference.mean.low, one.difference.mean.high)
        if value is not None
    ]
    reach = max(ends) or 1.0

    def x(value: float | None) -> float | None:
        return None if value is None else LEFT + (WIDTH - LEFT - 2 * DOT) * (value / reach + 1) / 2 + DOT

    rows = []
    for place, one in enumerate(compared):
        y = ROW * (place + 0.7)
        mean = one.difference.mean
        points = tuple(
            Point(
                x(value) or 0.0,
                y - 7,
                seed,
                value,
                cells[one.arm, seed].run,
                cells[full_report.baseline, seed].run,
            )
            for seed, value in one.pairs.items()
        )
        rows.append(Row(one.arm, y, points, x(mean.mean), x(mean.low), x(mean.high)))
    return Plot(measure, tuple(rows), x(0.0) or 0.0, ROW * (len(rows) + 0.8), (short(-reach), short(reach)))
