"""The pages of a home: the list of runs, two runs side by side, and searches."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hobbes.prove.run_comparison import compare
from hobbes.show import both_runs, run_list
from hobbes.show.palette import looks_of
from hobbes.show.text_search import search
from hobbes.show.web.page_templates import Pages
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
