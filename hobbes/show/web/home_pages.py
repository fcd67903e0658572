"""The pages of a home: the list of runs, two runs side by side, searches, experiments and probes."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from hobbes.prove.run_comparison import compare
from hobbes.show import both_runs, run_list
from hobbes.show.palette import looks_of
from hobbes.show.text_search import search
from hobbes.show.web.page_templates import Pages, reload_after
from hobbes.store.recorded_run import Run


@dataclass(frozen=True)
class HomePages(Pages):
    """The pages of a home."""

    def runs(self, at: Mapping[str, Any]) -> str:
        """Return the list of the runs that an address asks for."""
        return self.fill("runs.html", **run_list.page(self.store, at))

    def compare(self, a: Run, b: Run) -> str:
        """Return the page of two runs side by side. Raise UsageError for runs of different worlds."""
        comparison = compare(self.store, a, b)
        decision = comparison["decision"]
        return self.fill(
            "compare.html",
            runs=(a, b),
            comparison=comparison,
            **both_runs.told(comparison),
            wanted=both_runs.wanted(a.world, decision) if decision else (),
            looks=looks_of([*a.setting.agents, *b.setting.agents]),
            command=self.command("compare", a.id, b.id),
        )

    def search(self, at: Mapping[str, Any]) -> str:
        """Return the page of a search over all texts, which an address asks for."""
        return self.fill("search.html", **search(self.store, at))

    def experiment(self, name: str) -> str:
        """Return the page of an experiment: how far it is, its report, and its runs."""
        from hobbes.show.web.experiment_pages import experiment  # noqa: PLC0415  the first page need not wait

        began = monotonic()
        shown = experiment(self.store, name, self.link)
        reload = reload_after(monotonic() - began) if shown["played"] else None
        return self.fill("experiment.html", **shown, reload=reload, command=self.command("report", name))

    def picture(self, name: str, picture: str, digest: str) -> str:
        """Return a picture of the report of an experiment that has this digest, or of the present one."""
        from hobbes.show.web import experiment_pages  # noqa: PLC0415  as above

        return experiment_pages.picture(self.store, name, picture, digest, self.link)

    def probe(self, name: str, situation: int | None, column: str) -> str:
        """Return the page of a probe, or of the answers to one of its situations, side by side."""
        from hobbes.probe.table import read_probe  # noqa: PLC0415  as above
        from hobbes.show.documents import Picture  # noqa: PLC0415
        from hobbes.show.probe_reports import document, document_of_answers  # noqa: PLC0415

        told = read_probe(self.store, name)
        words: tuple[object, ...] = ()
        if situation is None:
            shown = document(told, self.link)
        else:
            words = told.number(situation), column or told.most_changed(situation)[1]
            shown = document_of_answers(told, *words)
        command = self.command("probe", "show", name, *words)
        return self.fill("probe.html", probe=name, document=shown, place=Picture.url, command=command)
