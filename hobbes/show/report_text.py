"""The report of an experiment for people: in the terminal, as Markdown, and as one page of HTML."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from hobbes.experiment.arm_comparison import Compared
from hobbes.experiment.findings import TimeCurve
from hobbes.experiment.ranking import Place, Rankings
from hobbes.experiment.report import Report, measures_of
from hobbes.experiment.sentences import EXTENDED, interval, short
from hobbes.experiment.statistics import MAX_EXACT, RANDOM_FLIPS, Mean
from hobbes.show.answer_table import (
    To,
    definition_of,
    exploratory,
    runs_compared,
    table_of_answers,
    unit_of,
    what_was_asked,
    what_was_changed,
    what_was_measured,
)
from hobbes.show.charts import Line, Pairs, Panel, draw_curves, draw_differences
from hobbes.show.documents import Document, Picture, Section
from hobbes.store.home import Store
from hobbes.worlds import world_named

NUMBERS = ("n", "mean", "95% interval")

TOLD = 5
"""How many points of a curve over time a table has."""


def report_document(store: Store, report: Report, link: To | None = None) -> Document:
    """Return a report for people: the answers, what was changed and what was measured, then the methods.

    With `link`, which returns addresses, pairs of runs lead to their comparisons.
    """
    answer, more_answers = table_of_answers(store, report, link)
    changes, more_changes = what_was_changed(store, report)
    measured = what_was_measured(report, list(charts_of_differences(report, link)), link)
    matrices: list[Section] = []
    first = [answer, changes, measured]
    if report.rankings:
        ranking, *matrices = rankings(report.rankings, world_named(report.file.world).measures.score)
        first.insert(1, ranking)
    methods = [what_was_asked(report), *more_answers, *more_changes, *matrices, *_methods(report)]
    return Document(f"{report.file.name}, an experiment in {report.file.world}", first, methods)


def _methods(report: Report) -> Iterator[Section]:
    """Yield what explains and checks the answers."""
    yield from exploratory(report)
    yield _differences(report)
    if by_wording := [
        (one.arm, one.measure, wording, *_numbers(mean))
        for one in report.differences
        for wordings in one.judged.sample.wordings
        for wording, mean in wordings.means().items()
    ]:
        yield Section("Wordings", (), ("arm", "measure", "wording", *NUMBERS), by_wording)
    yield _failing(report)
    measures = world_named(report.file.world).measures
    yield from _over_time(report, "Shares over time", measures.shares)
    yield from _over_time(report, "Inequality over time", measures.inequality)
    if report.findings.ratings:
        yield _ratings(report, measures.truths)
    yield Section(
        "Each arm",
        columns=("arm", "runs", "tainted", "measure", *NUMBERS),
        rows=[
            (name, str(arm.runs), str(arm.tainted), measure, *_numbers(mean))
            for name, arm in report.arms.items()
            for measure, mean in arm.measures.items()
        ],
    )
    if origin := report.file.origin:
        bases = [(str(one.number), one.name, str(one.turn)) for one in origin.bases]
        words = ["All arms fork the same recorded runs. The number of a run takes the place of a seed."]
        words += (f"Left out: {line}." for line in origin.left_out)
        yield Section("Where it begins", words, ("number", "run", "forked at turn"), bases)
    yield Section("How it was computed", list(_rules(report)))


def rankings(ranking: Rankings, score: str) -> Iterator[Section]:
    """Yield the ranking of the players by wins and by score; `score` is what a score counts."""

    def cells_of(place: Place) -> tuple[str, str, str]:
        return str(place.rank), short(place.mean.mean), interval(place.mean)

    by_score = {place.player: place for place in ranking["score"]}
    yield Section(
        "Ranking by wins and by score",
        [
            f"The share of runs won, and the mean {score} at the end.",
            "Each opponent counts alike, also the player itself. Intervals are over the seeds.",
        ],
        ("player", "rank by wins", "wins", "95% interval", f"rank by {score}", score, "95% interval"),
        [(place.player, *cells_of(place), *cells_of(by_score[place.player])) for place in ranking["wins"]],
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


def _numbers(mean: Mean) -> tuple[str, str, str]:
    """Return the cells of a mean: of how many values, the mean, and its interval."""
    return str(mean.n), short(mean.mean), interval(mean)


def _over_time(report: Report, title: str, measures: Sequence[str]) -> Iterator[Section]:
    """Yield measures over time, with a panel for each in which all arms are, if there are any."""
    curves = [one for one in report.findings.over_time if one.measure in measures]
    panels = [
        Panel(
            measure,
            "turn",
            _with_unit(report, measure),
            [
                _line(report, one.arm, [((p.first + p.last) / 2, p.mean) for p in one.points])
                for one in curves
                if one.measure == measure
            ],
        )
        for measure in dict.fromkeys(curve.measure for curve in curves)
    ]
    if panels:
        yield _curve_table(report, title, curves, panels)


def _line(report: Report, arm: str, means: Iterable[tuple[float, Mean]]) -> Line:
    """Return the means of an arm, each with its x, as a line, without what is undefined."""
    points = [(x, one.mean, one.low, one.high) for x, one in means if one.mean is not None]
    return Line(arm, points, _look(report, arm))


def _look(report: Report, arm: str) -> int:
    """Return the look of an arm: its place among all."""
    return [*report.arms].index(arm)


def _curve_table(report: Report, title: str, curves: Sequence[TimeCurve], panels: Sequence[Panel]) -> Section:
    """Return curves over time as a table of some of their points."""
    rows = []
    for curve in curves:
        points = [curve.points[k * (len(curve.points) - 1) // (TOLD - 1)] for k in range(TOLD)]
        told = (f"{short(point.mean.mean)} (n {point.mean.n})" for point in points)
        rows.append((curve.arm, curve.measure, *told))
    words = (
        "Each cell is the mean over runs, and n the number of runs: in the first turns, after a quarter, a "
        "half and three quarters of all turns, and in the last. Runs that have ended are left out."
    )
    columns = ("arm", "measure", "first", "1/4", "1/2", "3/4", "last")
    picture = Picture(f"{title}, with 95% bands", partial(draw_curves, panels))
    measures = dict.fromkeys(curve.measure for curve in curves)
    definitions = [f"{measure}: {definition_of(report, measure)}" for measure in measures]
    return Section(title, [*definitions, words], columns, rows, [picture])


def _ratings(report: Report, truths: Mapping[str, str]) -> Section:
    """Return what is true of those who were given a rating."""
    curves = report.findings.ratings
    names = {one.kind: one.kind.replace("_", " ") for one in curves}
    panels = [
        Panel(
            name,
            "rating",
            truths[kind],
            [
                _line(report, one.arm, [(p.rating, p.mean) for p in one.points])
                for one in curves
                if one.kind == kind
            ],
        )
        for kind, name in names.items()
    ]
    rows = [
        (one.arm, names[one.kind], str(point.rating), f"{point.count:,}", *_numbers(point.mean))
        for one in curves
        for point in one.points
    ]
    words = " ".join(f"{name.capitalize()}: {truths[kind]}." for kind, name in names.items())
    columns = ("arm", "report", "rating", "given", "n", "truth", "95% interval")
    label = "What is true of agents by the rating that others give them, with 95% intervals"
    picture = Picture(label, partial(draw_curves, panels))
    return Section("Ratings beside the truth", [words], columns, rows, [picture])


def _with_unit(report: Report, measure: str) -> str:
    """Return a measure with its unit in brackets, if it has one."""
    unit = unit_of(report, measure)
    return f"{measure} ({unit})" if unit else measure


def _differences(report: Report) -> Section:
    """Return each arm minus the baseline, tested."""
    extended = EXTENDED * report.extended
    rows = []
    for one in report.differences:
        of, judged = one.difference, one.judged
        ps = (short(p) + (extended if p is not None else "") for p in (of.p, judged.p_holm))
        sizes = map(short, (judged.detectable, of.margin, judged.p_margin_holm))
        rows.append((one.arm, one.measure, *_numbers(of.mean), short(of.effect), *ps, *sizes))
    tests = ("effect", "p", "p (Holm)", "found in 80%", "margin", "p (margin)")
    return Section(f"Differences from {report.baseline}", (), ("arm", "measure", *NUMBERS, *tests), rows)


def _failing(report: Report) -> Section:
    """Return how the calls of each arm ended."""
    outcomes = list(dict.fromkeys(outcome for one in report.failing for outcome in one.outcomes))
    rows = [
        (
            one.arm,
            str(one.games),
            str(one.with_failures),
            *(f"{one.outcomes.get(outcome, 0):,}" for outcome in outcomes),
            "-" if one.share is None else f"{one.share:.2%}",
            short(one.p_holm),
        )
        for one in report.failing
    ]
    words = ["A failed call leads to the default action. p compares the shares of failed calls, run by run."]
    columns = ("arm", "runs", "with failed calls", *outcomes, "failed", "p (Holm)")
    return Section("Failed calls", words, columns, rows)


def _rules(report: Report) -> Iterator[str]:
    """Yield how the figures were computed. docs/experiments.md says more."""
    yield (
        "Each run counts as one value, and is compared with the baseline's run of the same seed. Pairs in "
        "which a measure is undefined are left out. A 95% interval is Student's, with Johnson's correction "
        "for skewness. p is the larger of two. One is that of a permutation test, which flips signs (all "
        f"flips of up to {MAX_EXACT} pairs, {RANDOM_FLIPS:,} random ones of more). The other comes from the "
        "interval: with a confidence of 1 - p, the interval would just reach 0. docs/calibration.md says "
        "how often p and the interval are right."
    )
    yield (
        "Holm's method corrects p for all arms and measures that are compared, and separately for the "
        "planned hypotheses. Intervals and shares of the baseline are not corrected, so an interval may "
        "exclude 0 although p finds nothing; the verdict follows p. The effect is the mean divided by the "
        "standard deviation of the differences. “found in 80%” is the smallest difference that so many pairs "
        "find in 80% of simulated experiments. If you need more seeds, plan a new experiment: if you add "
        "them after you have seen results, p is wrong more often than it says."
    )
    if any(one.judged.sample.wordings for one in report.differences):
        yield (
            "Wordings are a sample of all that might have been used. If an arm has several, the interval "
            "is the widest, and p the largest, of three: over runs, over wordings, and over both (Clark's "
            "min F')."
        )
    if report.file.smallest:
        yield (
            "A difference is called no larger than the margin (the smallest difference that matters) if two "
            "one-sided tests (TOST) show it, with p below 0.05 after Holm's correction. This takes as many "
            "pairs as finding a difference does, and they must not all be equal."
        )


def html(document: Document, left_out: Sequence[str]) -> str:
    """Return a report as one page of HTML with its pictures, which loads nothing.

    `left_out` says which runs are not in it.
    """
    from hobbes.show.web.page_templates import fill  # noqa: PLC0415  slow to import

    return fill("report.html", document=document, left_out=left_out, live=False, script=False)


def charts_of_differences(report: Report, link: To | None = None) -> Iterator[Picture]:
    """Yield a chart of the differences by each measure that has any; `link` leads its dots to comparisons."""
    runs = runs_compared(report)
    for measure in measures_of(report.file):
        compared = {one.arm: one for one in report.differences if one.measure == measure and one.pairs}
        if all(one.judged.all_equal for one in compared.values()):
            continue  # the table says it
        arms = [
            Pairs(arm, one.pairs, one.difference.mean, _look(report, arm)) for arm, one in compared.items()
        ]
        label = (
            f"{measure}: difference from {report.baseline}, each pair and the mean with its interval. "
            f"{definition_of(report, measure)}"
        )
        axis = f"difference in {_with_unit(report, measure)}"
        smallest = report.file.smallest.get(measure)

        def address(arm: str, seed: int, compared: Mapping[str, Compared] = compared) -> str:
            return link(runs(compared[arm].judged, seed)) if link else ""

        draw = partial(draw_differences, label, axis, arms, smallest, address)
        yield Picture(label, draw)
