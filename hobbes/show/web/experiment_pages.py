"""The pages of experiments and probes."""

from collections.abc import Sequence
from time import monotonic

from hobbes.experiment.experiment_file import stored_file
from hobbes.experiment.report import measures_of, report
from hobbes.experiment.sentences import short
from hobbes.probe.table import read_probe
from hobbes.show.probe_reports import document, document_of_answers
from hobbes.show.report_text import report_document
from hobbes.show.web.page_templates import fill, link, reload_after
from hobbes.store.experiment_tables import BegunCell, cells_of
from hobbes.store.home import Store


def experiment_page(store: Store, name: str) -> str:
    """Return the page of an experiment: how far it is, the report as far as it goes, and its runs.

    Raise MissingError if no experiment has this name, DamagedError if its file is damaged.
    """
    began = monotonic()
    file = stored_file(store, name)
    cells = cells_of(store, name)
    done = sum(cells[key].finished for key in file.cells if key in cells)
    result = report(store, name)
    is_played = any(one.status == "unfinished" and store.is_played(one.id) for one in cells.values())
    return fill(
        "experiment.html",
        experiment=name,
        document=report_document(store, result, _runs_of),
        arms=file.names,
        seeds=file.seeds,
        cells=cells,
        measures=measures_of(file),
        values=result.values,
        short=short,
        done=done,
        planned=len(file.cells),
        played=is_played,
        reload=reload_after(monotonic() - began) if is_played else None,
        command=store.command("report", name),
    )


def _runs_of(cells: Sequence[BegunCell]) -> str:
    """Return the address of the comparison of two cells, or of the run of one."""
    return link("compare", a=cells[0].id, b=cells[1].id) if len(cells) > 1 else link(cells[0].id)


def probe_page(store: Store, name: str, situation: int | None, column: str) -> str:
    """Return the page of a probe, or of the answers to one of its situations, side by side."""
    told = read_probe(store, name)
    words: tuple[object, ...] = ()
    if situation is None:
        shown = document(told, link)
    else:
        words = told.number(situation), column or told.most_changed(situation)[1]
        shown = document_of_answers(told, *words)
    command = store.command("probe", "show", name, *words)
    return fill("probe.html", probe=name, document=shown, command=command)
