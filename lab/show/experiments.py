"""`/experiments` of `hobbes view`: which experiments there are, how far each is, and what it found."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hobbes.lab.errors import LabError
from hobbes.lab.experiment import report as results
from hobbes.lab.experiment.wording import short
from hobbes.lab.show.findings import MAX_LINES, Section, definition_of, looks_of_arms, with_unit
from hobbes.lab.show.judgements import SHADES
from hobbes.lab.show.palette import COLOURS
from hobbes.lab.show.panels import rows_of_points
from hobbes.lab.show.reports import Told, told
from hobbes.lab.store.experiments import CellSoFar, cells_so_far
from hobbes.lab.store.home import Store

WIDTH, LEFT, ROW, DOT = 640, 130, 44, 4
"""Pixels: the width of a plot, of the names on its left, the height of an arm, the radius of a point."""

SPREAD = 14
"""Pixels: how far from the middle of its row a point may stand, so that it does not cover another one."""


def experiments(store: Store) -> dict[str, Any]:
    """Return what the list of experiments shows."""
    listed = results.overview(store)
    played = any(_is_played(store, cells_so_far(store, one["experiment"]).values()) for one in listed)
    return {"experiments": listed, "played": played}


def _is_played(store: Store, cells: Iterable[CellSoFar]) -> bool:
    """Return whether one of these cells is being played now."""
    return any(cell.status == "unfinished" and store.is_played(cell.run) for cell in cells)


def experiment(store: Store, name: str) -> dict[str, Any]:
    """Return what the page of an experiment shows: its cells, and the report as far as it goes.

    Raise MissingError if no experiment has this name, DamagedError if its file is damaged.
    """
    file = results.stored_file(store, name)
    measures = results.measures_of(file)
    arms = [copy for arm in file.all_arms for copy in file.copies(arm)]
    cells = cells_so_far(store, name)
    planned = [(arm, seed) for seed in file.seeds for arm in arms]
    try:
        full_report, problem = results.report(store, name), ""
    except LabError as error:  # the libraries of statistics are missing
        full_report, problem = None, str(error)
    values = _values(full_report, measures)
    played = _is_played(store, cells.values())
    done = sum(cells[key].status == "finished" for key in planned if key in cells)
    return {
        "experiment": name,
        "told": told(store, full_report) if full_report else Told(name, (), [Section("Runs", own="runs")]),
        "problem": problem,
        "arms": arms,
        "seeds": file.seeds,
        "baseline": file.baseline,
        "cells": cells,
        "measures": measures,
        "values": values,
        "ranks": {measure: _ranks(values, measure) for measure in measures},
        "short": short,
        "done": done,
        "planned": len(planned),
        "unfinished": done < len(planned),
        "plots": list(_plots(full_report, cells)) if full_report else [],
        "played": played,
        "drawn": not played and len(arms) <= MAX_LINES,
        "draw": store.command("report", name, "--format", "html", "--to", f"{name}.html"),
    }


Values = Mapping[tuple[str, int], Mapping[str, float | None]]
"""The measures of each cell that has been played, by arm and seed."""


def _values(full_report: results.Report | None, measures: Sequence[str]) -> Values:
    return {
        cell: {measure: of_cell.get(("run", measure)) for measure in measures}
        for cell, of_cell in (full_report.values.items() if full_report else ())
    }


def _ranks(values: Values, measure: str) -> dict[float, int]:
    """Return the shade of each value of a measure: the largest is the darkest."""
    there = [value for of_cell in values.values() if (value := of_cell[measure]) is not None]
    low, high = min(there, default=0.0), max(there, default=0.0)
    return {value: min(SHADES - 1, int(SHADES * (value - low) / ((high - low) or 1))) for value in there}


def _plots(
    full_report: results.Report, cells: Mapping[tuple[str, int], CellSoFar]
) -> Iterator[dict[str, Any]]:
    """Yield, for each measure in which there are pairs, its differences from the baseline as a plot.

    A row of a plot is an arm: its pairs as points, and the mean of their differences with its interval.
    Lengths are pixels. The scale is symmetric, so that zero stands in the middle.
    """
    looks = looks_of_arms(full_report)
    for measure in full_report.measures:
        compared = [one for one in full_report.differences if one.measure == measure and one.pairs]
        means = [one.difference.mean for one in compared]
        values = [value for one in compared for value in one.pairs.values()]
        values += [end for mean in means for end in (mean.low, mean.high) if end is not None]
        reach = max(map(abs, values), default=0.0) or 1.0
        rows = []
        for place, (one, mean) in enumerate(zip(compared, means, strict=True)):
            middle = ROW * (place + 0.5)
            pairs = [(_x(value, reach), seed, value) for seed, value in one.pairs.items()]
            spread = rows_of_points([x for x, *_ in pairs], 2 * DOT)
            step = min(2 * DOT, SPREAD / max(1, *map(abs, spread)))
            rows.append(
                {
                    "arm": one.arm,
                    "colour": COLOURS[looks[one.arm]] if one.arm in looks else "currentColor",
                    "y": middle,
                    "of_mean": middle + ROW * 0.45,
                    "points": [
                        {
                            "x": x,
                            "y": middle - step * row,
                            "seed": seed,
                            "difference": value,
                            "run": cells[full_report.shown[one.arm], seed].run,
                            "baseline": cells[full_report.shown[full_report.baseline], seed].run,
                        }
                        for (x, seed, value), row in zip(pairs, spread, strict=True)
                    ],
                    **{
                        name: None if end is None else _x(end, reach)
                        for name in ("mean", "low", "high")
                        for end in [getattr(mean, name)]
                    },
                }
            )
        if rows:
            yield {
                "measure": measure,
                "axis": with_unit(full_report, measure),
                "definition": definition_of(full_report, measure),
                "rows": rows,
                "zero": _x(0, reach),
                "height": ROW * len(rows) + 48,
                "ends": (short(-reach), short(reach)),
            }


def _x(value: float, reach: float) -> float:
    """Return where a difference stands in a plot that shows those from -reach to reach."""
    return LEFT + (WIDTH - LEFT - 2 * DOT) * (value / reach + 1) / 2 + DOT
