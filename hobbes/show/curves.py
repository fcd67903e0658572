"""The curves of a report for people: as tables, and as pictures that are drawn from panels and lines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from hobbes.engine.world import AnyWorld
from hobbes.experiment.findings import TimeCurve
from hobbes.experiment.ranking import Place, Rankings
from hobbes.experiment.report import Report
from hobbes.experiment.sentences import short
from hobbes.experiment.statistics import Mean
from hobbes.show.charts import Line, Panel, draw_curves
from hobbes.show.documents import Picture, Section
from hobbes.show.world_list import meaning_of_measure, of_anybody
from hobbes.worlds import world_named

TOLD = 5
"""How many points of a curve over time a table has."""


def parts(report: Report) -> Iterator[Section]:
    """Yield the parts of a report that its curves fill."""
    world = world_named(report.world)
    if report.findings.over_time:
        yield from _over_time(report, world)
    if report.findings.ratings:
        yield _ratings(report, world)


def unit_of(report: Report, measure: str) -> str:
    """Return the unit of a measure, empty if it has none."""
    return world_named(report.world).measures.units.get(of_anybody(measure), "")


def with_unit(report: Report, measure: str) -> str:
    """Return a measure with its unit in brackets, if it has one."""
    unit = unit_of(report, measure)
    return f"{measure} ({unit})" if unit else measure


def definition_of(report: Report, measure: str) -> str:
    """Return in one line what a measure is."""
    return meaning_of_measure(world_named(report.world), measure)


def interval(mean: Mean) -> str:
    """Return the ends of an interval, a hyphen if there is none."""
    return "-" if mean.low is None else f"{short(mean.low)} to {short(mean.high)}"


def rankings(ranking: Rankings, score: str) -> Iterator[Section]:
    """Yield the ranking of the players by wins and by score; `score` is what a score counts."""
    by_score = {place.player: place for place in ranking["score"]}
    yield Section(
        "Ranking by wins and by score",
        [
            f"The share of runs won, and the mean {score} at the end.",
            "Each opponent counts alike, also the player itself. Intervals are over the seeds.",
        ],
        ("player", "rank by wins", "wins", "95% interval", f"rank by {score}", score, "95% interval"),
        [
            (place.player, *_cells_of_rank(place), *_cells_of_rank(by_score[place.player]))
            for place in ranking["wins"]
        ],
    )
    for title, places in (("Wins", ranking["wins"]), (score.capitalize(), ranking["score"])):
        yield Section(
            f"{title} of each row against each column",
            columns=("player", *(str(number) for number, _ in enumerate(places, start=1))),
            rows=[
                (f"{number} {row.player}", *(short(row.against.get(column.player)) for column in places))
                for number, row in enumerate(places, start=1)
            ],
        )


def _cells_of_rank(place: Place) -> tuple[str, str, str]:
    return str(place.rank), short(place.mean.mean), interval(place.mean)


def numbers(mean: Mean) -> tuple[str, str, str]:
    """Return the cells of a mean: of how many values, the mean, and its interval."""
    return str(mean.n), short(mean.mean), interval(mean)


def _over_time(report: Report, world: AnyWorld) -> Iterator[Section]:
    """Yield the measures over time, the shares and the inequality: a panel for each, with all arms."""
    for title, measures in (
        ("Shares over time", world.measures.shares),
        ("Inequality over time", world.measures.inequality),
    ):
        if curves := [one for one in report.findings.over_time if one.measure in measures]:
            panels = [
                Panel(measure, "turn", with_unit(report, measure), _lines(report, map(_in_time, of_measure)))
                for measure in measures
                if (of_measure := [one for one in curves if one.measure == measure])
            ]
            yield _curve_table(report, title, curves, panels)


Means: TypeAlias = Sequence[tuple[float, Mean]]
"""Means, each with its x."""


def _lines(report: Report, curves: Iterable[tuple[str, Means]]) -> list[Line]:
    """Return the curves of arms as lines, without what is undefined."""
    looks = looks_of_arms(report)
    return [
        Line(arm, [(x, one.mean, one.low, one.high) for x, one in means if one.mean is not None], looks[arm])
        for arm, means in curves
    ]


def looks_of_arms(report: Report) -> Mapping[str, int]:
    """Return the look of each arm: its place among them."""
    return {arm: place for place, arm in enumerate(report.arms)}


def _in_time(curve: TimeCurve) -> tuple[str, Means]:
    """Return an arm with its means over time; a stretch of turns stands at its middle."""
    return curve.arm, [((one.first + one.last) / 2, one.mean) for one in curve.points]


def _curve_table(report: Report, title: str, curves: Sequence[TimeCurve], panels: Sequence[Panel]) -> Section:
    """Return curves over time as a table of some of their points."""
    rows = []
    for curve in curves:
        points = [curve.points[k * (len(curve.points) - 1) // (TOLD - 1)] for k in range(TOLD)]
        told = (f"{short(point.mean.mean)} (n {point.mean.n})" for point in points)
        rows.append((curve.arm, curve.measure, *told))
    words = (
        "Means over runs, with their number: of the first turns, at a quarter, a half and three "
        "quarters, and of the last. A run that has ended is left out from then on."
    )
    columns = ("arm", "measure", "first", "1/4", "1/2", "3/4", "last")
    picture = Picture(f"{title}, with 95% bands", partial(draw_curves, panels))
    measures = dict.fromkeys(curve.measure for curve in curves)
    definitions = [f"{measure}: {definition_of(report, measure)}" for measure in measures]
    return Section(title, [*definitions, words], columns, rows, [picture])


def _ratings(report: Report, world: AnyWorld) -> Section:
    """Return what is true of those who were given a rating."""
    curves, truths = report.findings.ratings, world.measures.truths
    kinds = list(dict.fromkeys(one.kind for one in curves))
    of_kinds = {
        kind: [(one.arm, [(p.rating, p.mean) for p in one.points]) for one in curves if one.kind == kind]
        for kind in kinds
    }
    panels = [
        Panel(kind.replace("_", " "), "rating", truths[kind], _lines(report, means))
        for kind, means in of_kinds.items()
    ]
    label = "What is true of agents by the rating that others give them, with 95% intervals"
    rows = [
        (one.arm, one.kind.replace("_", " "), str(point.rating), f"{point.count:,}", *numbers(point.mean))
        for one in curves
        for point in one.points
    ]
    words = " ".join(f"{kind.replace('_', ' ').capitalize()}: {truths[kind]}." for kind in kinds)
    columns = ("arm", "report", "rating", "given", "n", "truth", "95% interval")
    title = "Ratings beside the truth"
    picture = Picture(label, partial(draw_curves, panels))
    return Section(title, [words], columns, rows, [picture])
