"""The pages of a home: the list of runs, two runs side by side, and searches."""

from collections.abc import Mapping
from typing import Any

from hobbes.prove.run_comparison import compare
from hobbes.show import both_runs, run_list
from hobbes.show.palette import looks_of
from hobbes.show.text_search import search
from hobbes.show.web.page_templates import fill
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run


def runs_page(store: Store, at: Mapping[str, Any]) -> str:
    """Return the list of the runs that an address asks for."""
    return fill("runs.html", **run_list.page(store, at))


def compare_page(store: Store, a: Run, b: Run) -> str:
    """Return the page of two runs side by side. Raise UsageError for runs of different worlds."""
    comparison = compare(store, a, b)
    decision = comparison["decision"]
    return fill(
        "compare.html",
        runs=(a, b),
        comparison=comparison,
        **both_runs.told(comparison),
        wanted=both_runs.wanted(a.world, decision) if decision else (),
        looks=looks_of([*a.setting.agents, *b.setting.agents]),
        command=store.command("compare", a.id, b.id),
    )


def search_page(store: Store, at: Mapping[str, Any]) -> str:
    """Return the page of a search over all texts, which an address asks for."""
    return fill("search.html", **search(store, at))
