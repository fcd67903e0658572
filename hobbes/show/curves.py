"""The curves of a report for people: as tables, and as pictures that are drawn from panels and lines."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from hobbes.engine.measures import meaning_of
from hobbes.engine.world import AnyWorld
from hobbes.experiment.experiment_file import NULL
from hobbes.experiment.findings import Duration, RatingCurve, SurvivalCurve, TimeCurve
from hobbes.experiment.ranking import Place, Rankings
from hobbes.experiment.report import Report
from hobbes.experiment.sentences import short
from hobbes.experiment.statistics import Mean
from hobbes.show.charts import Line, Panel, Point, draw_curves
from hobbes.show.documents import Picture, Section
from hobbes.show.world_list import meaning_of_measure, of_anybody
from hobbes.worlds import world_named

MAX_LINES = 8
"""How many lines a picture has at most: as many as differ in colour and in mark.

Of more arms, some are drawn, evenly spread; the tables have them all.
"""

AGES = (1, 2, 5, 10, 20, 50, 100, 200)
"""The numbers of turns that the table of a survival curve tells of."""

TOLD = 5
"""How many points of a curve over time a table has."""


def parts(report: Report) -> Iterator[Section]:
    """Yield the parts of a report that its curves fill."""
    world = world_named(report.world)
    if report.findings.doses:
        yield _doses(report)
    if report.findings.payoffs:
        yield _payoffs(report)
    if report.findings.over_time:
        yield from _over_time(report, world)
    if report.findings.survival:
        yield _survival(report, world)
    if report.findings.durations:
        yield _durations(report)
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
            f"The share of games won, and the mean {score} at the end.",
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


def _doses(report: Report) -> Section:
    """Return the measures by the values of the factors."""
    curves = report.findings.doses
    pictures = []
    for factor in dict.fromkeys(one.factor for one in curves):
        of_factor = [one for one in curves if one.factor == factor]
        every = list(dict.fromkeys(_other_factors(one.fixed) for one in of_factor))
        for first in range(0, len(every), MAX_LINES):
            names = every[first : first + MAX_LINES]
            panels = [
                Panel(
                    measure,
                    factor,
                    with_unit(report, measure),
                    [
                        Line(
                            _other_factors(one.fixed),
                            _points((dose.value, dose.mean) for dose in one.points),
                            names.index(_other_factors(one.fixed)),
                        )
                        for one in of_factor
                        if one.measure == measure and _other_factors(one.fixed) in names
                    ],
                    _null(report, measure),
                )
                for measure in dict.fromkeys(one.measure for one in of_factor)
            ]
            pictures.append(
                Picture(f"Measures by {factor}, with 95% intervals", partial(draw_curves, panels))
            )
    rows = [
        (one.factor, f"{dose.value:g}", _other_factors(one.fixed), one.measure, *numbers(dose.mean))
        for one in curves
        for dose in one.points
    ]
    columns = ("factor", "value", "other factors", "measure", "n", "mean", "95% interval")
    return Section("Factors", ["Means of an arm by the value of a factor."], columns, rows, lambda: pictures)


def _other_factors(fixed: Mapping[str, Any]) -> str:
    """Return the values of the other factors in words."""
    values = (
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in fixed.items()
    )
    return ", ".join(values)


def _null(report: Report, measure: str) -> tuple[float, float] | None:
    """Return the ends of the null arm's interval."""
    arm = report.arms.get(NULL)
    mean = arm.measures[measure] if arm else None
    return (mean.low, mean.high) if mean and mean.low is not None and mean.high is not None else None


def numbers(mean: Mean) -> tuple[str, str, str]:
    """Return the cells of a mean: of how many values, the mean, and its interval."""
    return str(mean.n), short(mean.mean), interval(mean)


def _payoffs(report: Report) -> Section:
    """Return the scores of the players as a matrix of arms and players."""
    payoffs = {(one.arm, one.player): one for one in report.findings.payoffs}
    players = sorted({player for _, player in payoffs})

    def cell(arm: str, player: str) -> str:
        one = payoffs.get((arm, player))
        return "" if one is None else f"{short(one.mean.mean)} ({interval(one.mean)}) x {one.agents:g}"

    rows = [
        (arm, *(cell(arm, player) for player in players))
        for arm in report.arms
        if any((arm, player) in payoffs for player in players)
    ]
    words = "Mean score of the agents of each player, with its 95% interval x their number in a game."
    return Section("Payoffs", [words], ("arm", *players), rows)


def _over_time(report: Report, world: AnyWorld) -> Iterator[Section]:
    """Yield the measures over time, the shares and the inequality: a panel for each, with all arms."""
    for title, measures in (
        ("Shares over time", world.measures.shares),
        ("Inequality over time", world.measures.inequality),
    ):
        if curves := [one for one in report.findings.over_time if one.measure in measures]:
            panels = [
                Panel(measure, "turn", with_unit(report, measure), _of_arms(report, of_measure, _in_time))
                for measure in measures
                if (of_measure := [one for one in curves if one.measure == measure])
            ]
            yield _curve_table(report, title, curves, panels)


C = TypeVar("C", TimeCurve, SurvivalCurve, RatingCurve, Duration)


def _of_arms(report: Report, curves: Sequence[C], points: "Callable[[C], list[Point]]") -> list[Line]:
    """Return the curves of the arms that are drawn as lines."""
    looks = looks_of_arms(report)
    return [Line(one.arm, points(one), looks[one.arm]) for one in curves if one.arm in looks]


def looks_of_arms(report: Report) -> Mapping[str, int]:
    """Return the looks of the arms that are drawn: all, or some, evenly spread, first and last included."""
    arms = list(report.arms)
    count = min(len(arms), MAX_LINES)
    return {arms[k * (len(arms) - 1) // max(count - 1, 1)]: k for k in range(count)}


def _words(report: Report, words: str) -> list[str]:
    """Return what stands above curves; if there are too many arms, also that some of them are drawn."""
    arms = len(report.arms)
    few = [f"Drawn are {MAX_LINES} of {arms} arms; the table has them all."] * (arms > MAX_LINES)
    return [words, *few]


def _points(means: Iterable[tuple[float, Mean]]) -> list[Point]:
    """Return means by their x as points of a line, without those that are undefined."""
    return [(x, one.mean, one.low, one.high) for x, one in means if one.mean is not None]


def _in_time(curve: TimeCurve) -> list[Point]:
    """Return the points of a curve over time; a stretch of turns stands at its middle."""
    return _points(((one.first + one.last) / 2, one.mean) for one in curve.points)


def _surviving(curve: SurvivalCurve | Duration) -> list[Point]:
    """Return the points of a Kaplan-Meier curve."""
    return [(at.turns, at.share, at.low, at.high) for at in curve.points]


def _curve_table(report: Report, title: str, curves: Sequence[TimeCurve], panels: Sequence[Panel]) -> Section:
    """Return curves over time as a table of some of their points."""
    rows = []
    for curve in curves:
        points = [curve.points[k * (len(curve.points) - 1) // (TOLD - 1)] for k in range(TOLD)]
        told = (f"{short(point.mean.mean)} (n {point.mean.n})" for point in points)
        rows.append((curve.arm, curve.measure, *told))
    words = (
        "Means over games, with their number: of the first turns, at a quarter, a half and three "
        "quarters, and of the last. A game that has ended is left out from then on, unless the file says "
        "`after_end`."
    )
    columns = ("arm", "measure", "first", "1/4", "1/2", "3/4", "last")
    picture = Picture(f"{title}, with 95% bands", partial(draw_curves, panels))
    measures = dict.fromkeys(curve.measure for curve in curves)
    definitions = [f"{measure}: {definition_of(report, measure)}" for measure in measures]
    return Section(title, [*definitions, *_words(report, words)], columns, rows, lambda: [picture])


def _survival(report: Report, world: AnyWorld) -> Section:
    """Return how long something lasts."""
    curves = report.findings.survival
    spells = world.measures.spells
    what = meaning_of(spells).rstrip(".") if spells else ""
    lines = _of_arms(report, curves, _surviving)
    panel = Panel(what, "turns", "share that lasts longer", lines, steps=True)
    picture = Picture(f"{what}: the share that lasts longer, with 95% bands", partial(draw_curves, [panel]))
    rows = [
        (
            one.arm,
            str(one.games),
            f"{one.spells:,}",
            f"{one.ended:,}",
            "-" if one.median is None else str(one.median),
            "; ".join(f"{at.turns}: {short(at.share)}" for at in one.points if at.turns in AGES),
        )
        for one in curves
    ]
    columns = ("arm", "games", "spells", "ended", "median", "share that lasts longer than so many turns")
    words = f"{what} (Kaplan-Meier). What still lasts at the end of a game is cut off there."
    return Section("How long it lasts", _words(report, words), columns, rows, lambda: [picture])


def _durations(report: Report) -> Section:
    """Return how long games last until something happens, if it does."""
    curves = report.findings.durations
    panels = [
        Panel(
            measure,
            "turns",
            "share of games in which it has not happened",
            _of_arms(report, [one for one in curves if one.measure == measure], _surviving),
            steps=True,
        )
        for measure in dict.fromkeys(one.measure for one in curves)
    ]
    rows = [
        (
            *(one.arm, one.measure, str(one.games), str(one.happened)),
            *(f"{short(one.mean)} of {one.horizon}", short(one.p)),
        )
        for one in curves
    ]
    words = (
        "Something that has not happened when a game ends is cut off there (Kaplan-Meier). The restricted "
        "mean is how many of the turns pass before it happens; games in which it does not happen count "
        "with all their turns. p is that of a logrank test against the baseline, without correction."
    )
    columns = ("arm", "measure", "games", "happened", "restricted mean", "p (logrank)")
    picture = Picture(
        "The share of games in which it has not happened, with 95% bands", partial(draw_curves, panels)
    )
    return Section("How long until it happens", _words(report, words), columns, rows, lambda: [picture])


def _points_of_ratings(curve: RatingCurve) -> list[Point]:
    """Return the points of a curve of ratings."""
    return _points((point.rating, point.mean) for point in curve.points)


def _ratings(report: Report, world: AnyWorld) -> Section:
    """Return what is true of those who were given a rating."""
    curves, truths = report.findings.ratings, world.measures.truths
    kinds = list(dict.fromkeys(one.kind for one in curves))
    panels = [
        Panel(
            kind.replace("_", " "),
            "rating",
            truths[kind],
            _of_arms(report, [one for one in curves if one.kind == kind], _points_of_ratings),
        )
        for kind in kinds
    ]
    label = "What is true of agents by the rating that others give them, with 95% intervals"
    rows = [
        (one.arm, one.kind.replace("_", " "), str(point.rating), f"{point.count:,}", *numbers(point.mean))
        for one in curves
        for point in one.points
    ]
    words = " ".join(f"{kind.replace('_', ' ').capitalize()}: {truths[kind]}." for kind in kinds)
    columns = ("arm", "report", "rating", "given", "n", "truth", "95% interval")
    picture = Picture(label, partial(draw_curves, panels))
    return Section("Ratings beside the truth", _words(report, words), columns, rows, lambda: [picture])
