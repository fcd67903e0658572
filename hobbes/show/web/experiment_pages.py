"""`/experiments/NAME` of `hobbes view`: how far an experiment is, and what it found."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from hobbes.errors import HobbesError
from hobbes.experiment import report as results
from hobbes.experiment.sentences import short
from hobbes.show.charts import WIDTH, rows_of_differences
from hobbes.show.curves import MAX_LINES, definition_of, with_unit
from hobbes.show.documents import Document
from hobbes.show.report_text import pairs_of, report_document
from hobbes.store.experiment_tables import BegunCell, cells_of
from hobbes.store.home import Store


def _is_played(store: Store, cells: Iterable[BegunCell]) -> bool:
    """Return whether one of these cells is being played now."""
    return any(cell.status == "unfinished" and store.is_played(cell.id) for cell in cells)


def experiment(store: Store, name: str, link: Callable[..., str]) -> dict[str, Any]:
    """Return what the page of an experiment shows: its cells, and the report as far as it goes.

    `link` returns the address of a page.

    Raise MissingError if no experiment has this name, DamagedError if its file is damaged.
    """
    file = results.stored_file(store, name)
    measures = results.measures_of(file)
    arms = [name for arm in file.all_arms for name in file.wordings(arm)]
    cells = cells_of(store, name)
    planned = [(arm, seed) for seed in file.seeds for arm in arms]
    try:
        full_report, problem = results.report(store, name), ""
    except HobbesError as error:  # the libraries of statistics are missing
        full_report, problem = None, str(error)
    values = _values(full_report, measures)
    played = _is_played(store, cells.values())
    done = sum(cells[key].finished for key in planned if key in cells)
    return {
        "experiment": name,
        "document": report_document(store, full_report) if full_report else Document(name, ()),
        "problem": problem,
        "arms": arms,
        "seeds": file.seeds,
        "baseline": file.baseline,
        "cells": cells,
        "measures": measures,
        "values": values,
        "short": short,
        "done": done,
        "planned": len(planned),
        "unfinished": done < len(planned),
        "plots": list(_plots(full_report, cells, link)) if full_report else [],
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


def _plots(
    full_report: results.Report, cells: Mapping[tuple[str, int], BegunCell], link: Callable[..., str]
) -> Iterator[dict[str, Any]]:
    """Yield, for each measure in which there are pairs, its differences from the baseline as a chart.

    A dot leads to the comparison of its pair of runs.
    """
    shown = full_report.shown

    def pair(arm: str, seed: int) -> str:
        return link("compare", a=cells[shown[full_report.baseline], seed].id, b=cells[shown[arm], seed].id)

    for measure in full_report.measures:
        if arms := pairs_of(full_report, measure):
            axis = f"difference in {with_unit(full_report, measure)}"
            parts, height = rows_of_differences(axis, arms, pair)
            yield {
                "measure": measure,
                "definition": definition_of(full_report, measure),
                "parts": Markup("\n".join(parts)),  # noqa: S704  charts escape what they are given
                "width": WIDTH,
                "height": height,
            }
