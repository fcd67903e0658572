"""The report of an experiment for people: in the terminal, as Markdown, and as one page of HTML."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from hobbes.engine.board import Board
from hobbes.engine.telling import all_of
from hobbes.errors import HobbesError
from hobbes.experiment.arm_comparison import Compared
from hobbes.experiment.report import Report
from hobbes.experiment.sentences import (
    EXTENDED,
    short,
)
from hobbes.experiment.statistics import MAX_EXACT, RANDOM_FLIPS
from hobbes.show.answer_table import exploratory, table_of_answers, what_was_asked, what_was_changed
from hobbes.show.boards import svg
from hobbes.show.charts import Pairs, draw_differences
from hobbes.show.curves import (
    definition_of,
    looks_of_arms,
    numbers,
    parts,
    rankings,
    with_unit,
)
from hobbes.show.documents import Document, Picture, Section
from hobbes.store.home import Store
from hobbes.store.policy_games import with_turns
from hobbes.worlds import world_named

MAX_PAIRS = 3
"""How many pairs of runs have their boards in a report."""

NUMBERS = ("n", "mean", "95% interval")


def report_document(store: Store, report: Report) -> Document:
    """Return a report for people. It begins with what was asked, what was changed and the answers."""
    changes, more_changes = what_was_changed(store, report)
    answer, more_answers = table_of_answers(report)
    first = [what_was_asked(store, report), changes, answer]
    matrices: list[Section] = []
    if report.rankings:
        ranking, *matrices = rankings(report.rankings, world_named(report.world).measures.score)
        first.append(ranking)
    details = [*more_changes, *more_answers, *matrices, *_details(store, report)]
    return Document(f"{report.experiment}, an experiment in {report.world}", first, details)


def _details(store: Store, report: Report) -> Iterator[Section]:
    """Yield the details."""
    yield from exploratory(report)
    yield _differences(report)
    if wordings := list(_wordings(report)):
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
    if pairs := list(_pairs(store, report)):
        words = ["These commands show where two runs of a pair begin to differ."]
        columns = ("arm", "measure", "pair", "command")
        yield Section("Pairs to look at", words, columns, pairs, partial(_boards, store, report))
    else:
        yield Section("Pairs to look at", ["There is no pair whose runs differ in a measure."])
    if report.origin:
        bases = [(str(one.number), one.name, str(one.turn)) for one in report.origin.bases]
        words = ["All arms fork the same recorded runs, whose numbers stand in place of seeds."]
        words += (f"Left out: {line}." for line in report.origin.left_out)
        yield Section("Where it begins", words, ("number", "run", "forked at turn"), bases)
    yield Section("The plan", columns=("what", "value"), rows=list(_plan(report)))
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
    return Section(
        f"Differences from {report.baseline}",
        columns=("arm", "measure", *NUMBERS, *tests),
        rows=rows,
        pictures=partial(charts_of_differences, report),
        own=True,
    )


def _wordings(report: Report) -> Iterator[tuple[str, ...]]:
    """Yield the difference with each wording alone."""
    for one in report.differences:
        for of in one.judged.wordings:
            yield from ((one.arm, one.measure, w.wording, *numbers(w.mean)) for w in of.each)


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
    words = [
        "A failed call leads to the default action. p compares the shares of failed calls, game by game."
    ]
    columns = ("arm", "games", "with failed calls", *outcomes, "failed", "p (Holm)")
    return Section("Failed calls", words, columns, rows)


def _plan(report: Report) -> Iterator[tuple[str, str]]:
    """Yield what the frozen plan says beside questions and measures, and why it was amended."""
    plan = report.plan
    if plan is None:
        yield "frozen", "no plan was kept before the first game"
        return
    file = plan.file
    yield "hash", plan.kept.hash
    yield "seeds", ", ".join(map(str, file.seeds))
    yield "stopping rule", f"none: judged once, after {all_of(len(file.seeds), 'seed')}"
    yield (
        "smallest that matters",
        ", ".join(f"{name} {short(of)}" for name, of in file.smallest.items()) or "none",
    )
    for arm, prompts in plan.kept.plan["prompts"].items():
        yield f"arm {arm}", f"prompts {prompts}, played by {', '.join(plan.kept.plan['models'][arm])}"
    for amended in plan.amendments:
        yield f"amended {amended.kept}", str(amended.why)


def _pairs(store: Store, report: Report) -> Iterator[tuple[str, ...]]:
    """Yield the pair nearest the mean difference and the farthest, with the command that compares them."""
    for one, words, seed, pair in _to_look_at(report):
        yield one.arm, one.measure, f"{words}: seed {seed}", store.command("compare", *pair)


def _to_look_at(report: Report) -> Iterator[tuple[Compared, str, int, tuple[str, str]]]:
    """Yield pairs of runs: the difference, why this pair, the seed, the names."""
    runs = {(cell.arm, cell.seed): cell.run for cell in report.cells}
    for one in report.differences:
        for words, seed in (("nearest the mean", one.nearest()), ("farthest from it", one.farthest())):
            if seed is None or not any(one.pairs.values()):
                continue
            pair = (report.shown[report.baseline], seed), (report.shown[one.arm], seed)
            if {*pair} <= runs.keys():
                yield one, words, seed, (runs[pair[0]], runs[pair[1]])


def _boards(store: Store, report: Report) -> Iterator[Picture]:
    """Yield, for the first arms, both boards of a pair of runs in the turn in which they begin to differ."""
    first: dict[str, tuple[int, tuple[str, str]]] = {}
    for one, _, seed, pair in _to_look_at(report):
        first.setdefault(one.arm, (seed, pair))
    for arm, (seed, pair) in list(first.items())[:MAX_PAIRS]:
        try:
            what, boards = _where_they_part(store, *pair)
        except HobbesError:  # the rules have changed since, or the home cannot be written to play them again
            continue
        for name, board in zip((report.baseline, arm), boards, strict=True):
            if board:
                title = f"{name}, seed {seed}, where the {what} begin to differ: {board.title}"
                yield Picture(title, partial(svg, replace(board, title=title)))


def _where_they_part(store: Store, one: str, other: str) -> tuple[str, list[Board | None]]:
    """Return the boards of two runs in the first turn whose decisions differ, or else in the first that does.

    Before them is what differs there: `decisions` or `runs`.
    """
    from hobbes.prove.run_comparison import compare  # noqa: PLC0415  slow to import
    from hobbes.show.both_runs import turn_of_both  # noqa: PLC0415  slow to import
    from hobbes.show.trace import boards_at  # noqa: PLC0415  slow to import

    pair = with_turns(store, store.runs.find(one)), with_turns(store, store.runs.find(other))
    comparison = compare(store, *pair)
    what = "decisions" if comparison["decision"] else "runs"
    return what, boards_at(store, pair, turn_of_both(comparison))


def _rules(report: Report) -> Iterator[str]:
    """Yield how the figures were computed."""
    yield (
        "A game is one value. A run is paired with the baseline's run of the same seed; a pair in which a "
        "measure is undefined is left out, so n may be smaller than the number of seeds."
    )
    yield (
        "A 95% interval is Student's, made longer on the side of the longer tail by Johnson's correction "
        "for skewness. p is the larger one of two: that of the permutation test that flips signs, which "
        f"counts all flips up to {MAX_EXACT} pairs and {RANDOM_FLIPS:,} random ones of more, and that at "
        "which the interval ends at 0. If a measure has two values only, p is as large as that of the exact "
        "sign test or larger, in some cases 200 times. Intervals do not know the bounds of a measure, and "
        "may pass them. docs/calibration.md says how often both are right. Of 5 skewed values, 88 to 96% of "
        "the 95% intervals hold the true mean, and of 8 very skewed ones 90%. Intervals of a measure of 0 or "
        "1 that is seldom 1, or seldom 0, hold less often than 95%, in some cases 53%."
    )
    yield (
        "Holm's method corrects p for all arms and measures that are compared, and for the planned "
        "hypotheses among themselves. These are two families: in each, one false finding in twenty "
        "experiments is allowed. Intervals, and shares of the baseline, are not corrected: an interval may "
        "leave out 0 where p, which decides, finds nothing. The effect is the mean divided by the standard "
        "deviation of the differences. `found in 80%` is the smallest "
        "difference that so many pairs find in 80% of simulated experiments, by the same test and "
        "correction, if values are normal and have this spread. If you need more seeds, plan a new "
        "experiment: the p of one that was extended after a look is wrong more often than it says."
    )
    if any(one.judged.wordings for one in report.differences):
        yield (
            "Wordings are a sample of those that might have been used. They are crossed with "
            "seeds: each is played with each seed. Where an arm has several, the interval is the widest of "
            "three, and p the largest: over games, over wordings, and over both (Clark's min F'). The "
            "difference with each wording alone, and the figures of an arm by itself, have intervals over "
            "games."
        )
    if report.rules.margins:
        yield (
            "A difference is called no larger than the margin, which the file names as the smallest "
            "difference that matters, if two one-sided tests at 0.05, corrected by Holm's method, say so "
            "(TOST) and there are as many pairs as are needed to find a difference. Pairs that are all equal "
            "do not show how far others may be off, so they are never called no larger than the margin."
        )
    if report.hypotheses:
        yield (
            "A hypothesis is supported if the difference has the expected direction and its p is below "
            "0.05 after Holm's correction for the number of planned hypotheses, and not supported if such "
            "a difference has the opposite direction. It may be smaller than the smallest that "
            "matters. Otherwise the difference is no larger than the margin, or nothing can be told. What "
            "the frozen plan does not name is exploratory and is never supported."
        )


def html(document: Document, left_out: Sequence[str]) -> str:
    """Return a report as one page of HTML with its pictures, which loads nothing.

    `left_out` says which runs are not in it.
    """
    from hobbes.show.web.page_templates import environment  # noqa: PLC0415  slow to import

    page = environment().get_template("report.html")
    shown = {"document": document, "drawn": True, "left_out": left_out}
    return page.render(shown, reload=None, script=None, live=False, link=None, looks={})


def pairs_of(report: Report, measure: str) -> list[Pairs]:
    """Return what a chart of the differences by a measure shows of each arm that has pairs."""
    looks = looks_of_arms(report)
    return [
        Pairs(one.arm, one.pairs, mean.mean, mean.low, mean.high, looks.get(one.arm))
        for one in report.differences
        if one.measure == measure and one.pairs
        for mean in [one.difference.mean]
        if mean.mean is not None
    ]


def charts_of_differences(report: Report) -> Iterator[Picture]:
    """Yield a chart of the differences by each measure."""
    for measure in report.measures:
        if arms := pairs_of(report, measure):
            label = (
                f"{measure}: difference from {report.baseline}, each pair and the mean with its interval. "
                f"{definition_of(report, measure)}"
            )
            axis = f"difference in {with_unit(report, measure)}"
            yield Picture(label, partial(draw_differences, label, axis, arms))
