"""`/experiments/NAME` of `hobbes view`: how far an experiment is, and what it found."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from hobbes.engine.record import sha256
from hobbes.errors import MissingError
from hobbes.experiment import report as results
from hobbes.experiment.experiment_file import stored_file
from hobbes.experiment.sentences import short
from hobbes.show.documents import Document, Picture
from hobbes.show.report_text import report_document
from hobbes.store.experiment_tables import BegunCell, cells_of
from hobbes.store.home import Store


def experiment(store: Store, name: str, link: Callable[..., str]) -> dict[str, Any]:
    """Return what the page of an experiment shows: its cells, and the report as far as it goes.

    `link` returns the address of a page.

    Raise MissingError if no experiment has this name, DamagedError if its file is damaged.
    """
    file = stored_file(store, name)
    measures = results.measures_of(file)
    arms = [name for arm in file.all_arms for name in file.wordings(arm)]
    cells = cells_of(store, name)
    planned = [(arm, seed) for seed in file.seeds for arm in arms]
    full_report = results.report(store, name)
    document, digest = _document(store, full_report, link), _digest(full_report)
    played = any(one.status == "unfinished" and store.is_played(one.id) for one in cells.values())
    done = sum(cells[key].finished for key in planned if key in cells)
    _pictures(digest, document)

    def place(picture: Picture) -> str:
        """Return the address of a picture; one in a cell of a table is in the page."""
        file = f"{picture.name}.svg"
        return picture.url() if picture.characters else link("experiments", name, file, of=digest)

    return {
        "experiment": name,
        "document": document,
        "place": place,
        "arms": arms,
        "seeds": file.seeds,
        "cells": cells,
        "measures": measures,
        "values": full_report.values,
        "short": short,
        "done": done,
        "planned": len(planned),
        "unfinished": done < len(planned),
        "played": played,
    }


def _document(store: Store, full_report: results.Report, link: Callable[..., str]) -> Document:
    """Return a report whose pairs lead to their comparisons, and single runs to their pages."""

    def to(runs: Sequence[BegunCell]) -> str:
        return link("compare", a=runs[0].id, b=runs[1].id) if len(runs) > 1 else link(runs[0].id)

    return report_document(store, full_report, to)


MAX_KEPT = 16
"""The pictures of how many reports are kept."""

kept: dict[str, dict[str, str]] = {}
"""The pictures of reports as SVG images, by the digest of their report and by their names."""


def _digest(full_report: results.Report) -> str:
    """Return the digest of a report and of the addresses of its runs."""
    return sha256(json.dumps([full_report.to_json(), [cell.id for cell in full_report.cells]]))[:16]


def _pictures(digest: str, document: Document) -> dict[str, str]:
    """Return the pictures of the report with a digest, which are drawn once."""
    if (pictures := kept.get(digest)) is None:
        sections = (*document.first, *document.methods)
        pictures = kept[digest] = {one.name: one.svg() for part in sections for one in part.pictures}
        for oldest in [*kept][:-MAX_KEPT]:
            kept.pop(oldest, None)
    return pictures


def picture(store: Store, name: str, shown: str, digest: str, link: Callable[..., str]) -> str:
    """Return a picture of the report with a digest, or of the present one if that is not kept.

    Raise MissingError if there is no such experiment or picture.
    """
    pictures = kept.get(digest)
    if pictures is None:
        full_report = results.report(store, name)
        pictures = _pictures(_digest(full_report), _document(store, full_report, link))
    if shown not in pictures:
        raise MissingError(f"the report of {name} has no picture {shown!r}; its page shows those that it has")
    return pictures[shown]
