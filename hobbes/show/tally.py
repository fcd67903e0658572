"""The tally of runs that were played side by side: how they ended, and between what their figures lie."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import TypeAlias

from rich.console import Group, RenderableType

from hobbes.engine.telling import counted
from hobbes.show.palette import looks_of
from hobbes.show.terminal import plain, table
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.runs import RUNS

Figures: TypeAlias = Mapping[str, float | None]
"""The figures of a run by name: the score of each agent, and the main measures of the world."""


def tally(store: Store, runs: Sequence[Run]) -> RenderableType:
    """Return how many runs ended how, and the least, mean and greatest of each figure of the finished ones.

    Forks are shown beside their parent. A figure has a mean over the runs in which it is defined.
    """
    ended = [store.runs.find(run.id) for run in runs]
    finished = [run for run in ended if run.status == "finished"]
    figures = [_figures(store, run) for run in finished]
    parent = store.runs.find(runs[0].parent) if runs[0].parent else None
    of_parent = _figures(store, parent) if parent else None
    statuses = ", ".join(f"{n} {status}" for status, n in Counter(run.status for run in ended).items())
    digests = len({run.digest for run in finished})
    alike = f"; the finished ones have {counted(digests, 'different digest')}" if finished else ""
    columns = ("figure", *(("parent",) if parent else ()), "least", "mean", "greatest", "runs")
    looks = looks_of(runs[0].setting.agents)
    return Group(
        plain(f"\n{counted(len(runs), 'run')}: {statuses}{alike}"),
        table("", columns, _rows(figures, of_parent), looks),
    )


def _figures(store: Store, run: Run) -> Figures:
    """Return the figures of a run; those of one that has not finished are empty."""
    measures = store.figures.measures(run.id)
    scores: Mapping[str, int] = RUNS.value(store.runs.row(run.id), "scores") or {}
    return {**scores, **{name: measures[name] for name in run.world.measures.headline if name in measures}}


def _rows(figures: Sequence[Figures], of_parent: Figures | None) -> Iterator[list[object]]:
    for name in dict.fromkeys(name for one in figures for name in one):
        values = [value for one in figures if (value := one.get(name)) is not None]
        before = [] if of_parent is None else [of_parent.get(name)]
        spread = [min(values), mean(values), max(values)] if values else [None] * 3
        yield [name, *before, *spread, len(values)]
