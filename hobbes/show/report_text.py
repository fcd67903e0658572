"""The report of an experiment for people: in the terminal, as Markdown, and as one page of HTML."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from hobbes.experiment.arm_comparison import Compared
from hobbes.experiment.report import Report
from hobbes.experiment.sentences import EXTENDED, short
from hobbes.experiment.statistics import MAX_EXACT, RANDOM_FLIPS
from hobbes.show.answer_table import (
    To,
    exploratory,
    runs_compared,
    table_of_answers,
    what_was_asked,
    what_was_changed,
    what_was_measured,
)
from hobbes.show.charts import Pairs, draw_differences
from hobbes.show.curves import definition_of, looks_of_arms, numbers, parts, rankings, with_unit
from hobbes.show.documents import Document, Picture, Section
from hobbes.store.home import Store
from hobbes.worlds import world_named

NUMBERS = ("n", "mean", "95% interval")


def report_document(store: Store, report: Report, link: To | None = None) -> Document:
    """Return a report for people: the answers, what was changed and what was measured, then the methods.

    With `link`, which returns addresses, pairs of runs lead to their comparisons.
    """
    answer, more_answers = table_of_answers(store, report, link)
    changes, more_changes = what_was_changed(store, report)
    measured = what_was_measured(store, report, list(charts_of_differences(report, link)), link)
    matrices: list[Section] = []
    first = [answer, changes, measured]
    if report.rankings:
        ranking, *matrices = rankings(report.rankings, world_named(report.world).measures.score)
        first.insert(1, ranking)
    methods = [what_was_asked(store, report), *more_answers, *more_changes, *matrices, *_methods(report)]
    return Document(f"{report.experiment}, an experiment in {report.world}", first, methods)


def _methods(report: Report) -> Iterator[Section]:
    """Yield what explains and checks the answers."""
    yield from exploratory(report)
    yield _differences(report)
    if wordings := [
        (one.arm, one.measure, each.wording, *numbers(each.mean))
        for one in report.differences
        for of in one.judged.wordings
        for each in of.each
    ]:
        yield Section("Wordings", (), ("arm", "measure", "wording", *NUMBERS), wordings)
    yield _failing(report)
    yield from parts(report)
    yield Section(
        "Each arm",
        columns=("arm", "runs", "tainted", "measure", *NUMBERS),
        rows=[
            (name, str(arm.runs), str(arm.tainted), measure, *numbers(mean))
            for name, arm in report.arms.items()
            for measure, mean in arm.measures.items()
        ],
    )
    if report.origin:
        bases = [(str(one.number), one.name, str(one.turn)) for one in report.origin.bases]
        words = ["All arms fork the same recorded runs. The number of a run takes the place of a seed."]
        words += (f"Left out: {line}." for line in report.origin.left_out)
        yield Section("Where it begins", words, ("number", "run", "forked at turn"), bases)
    yield Section("How it was computed", list(_rules(report)))


def _differences(report: Report) -> Section:
    """Return each arm minus the baseline, tested."""
    extended = EXTENDED * report.extended
    rows = []
    for one in report.differences:
        of, judged = one.difference, one.judged
        ps = (short(p) + (extended if p is not None else "") for p in (of.p, judged.p_holm))
        sizes = map(short, (judged.detectable, of.margin, judged.p_margin_holm))
        rows.append((one.arm, one.measure, *numbers(of.mean), short(of.effect), *ps, *sizes))
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
        "for skewness. p is the larger of two: that of a permutation test that flips signs (all flips of up "
        f"to {MAX_EXACT} pairs, {RANDOM_FLIPS:,} random ones of more), and that at which the interval ends "
        "at 0. docs/calibration.md says how often both are right."
    )
    yield (
        "Holm's method corrects p for all arms and measures that are compared, and separately for the "
        "planned hypotheses. Intervals and shares of the baseline are not corrected, so an interval may "
        "exclude 0 although p finds nothing; the verdict follows p. The effect is the mean divided by the "
        "standard deviation of the differences. `found in 80%` is the smallest difference that so many pairs "
        "find in 80% of simulated experiments. If you need more seeds, plan a new experiment: if you add "
        "them after you have seen results, p is wrong more often than it says."
    )
    if any(one.judged.wordings for one in report.differences):
        yield (
            "Wordings are a sample of all that might have been used. If an arm has several, the interval "
            "is the widest, and p the largest, of three: over runs, over wordings, and over both (Clark's "
            "min F')."
        )
    if report.rules.margins:
        yield (
            "A difference is called no larger than the margin (the smallest difference that matters) if two "
            "one-sided tests at 0.05 say so, corrected by Holm's method (TOST). This takes as many pairs as "
            "finding a difference does, and they must not all be equal."
        )


def html(document: Document, left_out: Sequence[str]) -> str:
    """Return a report as one page of HTML with its pictures, which loads nothing.

    `left_out` says which runs are not in it.
    """
    from hobbes.show.web.page_templates import environment  # noqa: PLC0415  slow to import

    page = environment().get_template("report.html")
    shown = {"document": document, "left_out": left_out}
    return page.render(shown, reload=None, script=None, live=False, link=None, looks={})


def charts_of_differences(report: Report, link: To | None = None) -> Iterator[Picture]:
    """Yield a chart of the differences by each measure that has any; `link` leads its dots to comparisons."""
    looks, runs = looks_of_arms(report), runs_compared(report)
    for measure in report.measures:
        compared = {one.arm: one for one in report.differences if one.measure == measure and one.pairs}
        if all(one.judged.all_equal for one in compared.values()):
            continue  # the table says it
        arms = [Pairs(arm, one.pairs, one.difference.mean, looks[arm]) for arm, one in compared.items()]
        label = (
            f"{measure}: difference from {report.baseline}, each pair and the mean with its interval. "
            f"{definition_of(report, measure)}"
        )
        axis = f"difference in {with_unit(report, measure)}"
        smallest = report.rules.margins.get(measure)

        def address(arm: str, seed: int, compared: Mapping[str, Compared] = compared) -> str:
            return link(runs(compared[arm].judged, seed)) if link else ""

        draw = partial(draw_differences, label, axis, arms, smallest, address)
        yield Picture(label, draw)
