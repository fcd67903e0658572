"""The verdicts of an experiment in words, and what has to be known beside its figures."""

from collections.abc import Iterator

from hobbes.engine.telling import counted, quoted
from hobbes.experiment.arm_comparison import Compared, Judged, Sample, Tested
from hobbes.experiment.experiment_file import NULL, ExperimentFile, parts_of
from hobbes.experiment.report import Report
from hobbes.experiment.statistics import Mean, most_unlike

LARGE = 999.5
"""From here on, a figure is told without fractions."""

EXTENDED = " (extended after a look)"
"""What stands beside a p if seeds were added to an experiment that had begun."""


def tainted_of(tainted: int, runs: int) -> str:
    """Return how many of some runs are tainted."""
    return f"{tainted} of {counted(runs, 'run')} {'is' if tainted == 1 else 'are'} tainted"


def cautions(report: Report) -> Iterator[str]:
    """Yield what has to be known before any figure is read."""
    if len(report.cells) < len(report.file.cells):
        yield (
            f"Played so far: {len(report.cells)} of {counted(len(report.file.cells), 'run')}. "
            "The figures will still change; do not stop early because of them."
        )
    for name, figures in report.arms.items():
        if figures.tainted:
            tainted = tainted_of(figures.tainted, figures.runs)
            yield f"{quoted(name)}: {tainted}, as too many calls failed. The figures include tainted runs."
    for one in report.differences:
        if one.arm == NULL and one.judged.differs:
            yield (
                f"Check of the test: the null arm differs from the baseline by {one.measure}, although "
                "nothing was changed. One experiment in twenty shows this by chance."
            )
    if not {*report.arms} - {report.baseline, NULL}:
        yield (
            f"Only the null arm is compared with {quoted(report.baseline)}. It shows how far runs differ "
            "if nothing is changed."
        )
    yield from (
        f"{quoted(arm)}: what is said holds for one wording of its prompt; “paraphrases” plays several."
        for arm in _of_one_wording(report.file)
        if not is_same(report, arm)
    )


def _of_one_wording(file: ExperimentFile) -> Iterator[str]:
    """Yield the arms that have other prompts than the baseline, in one wording."""
    baseline = file.options(file.baseline)
    for arm in file.arms:
        own = file.options(arm)
        if not file.paraphrases_of(arm) and own.prompts != baseline.prompts:
            yield arm


def is_same(report: Report, arm: str) -> bool:
    """Return whether the runs of each pair of an arm with the baseline have the same digest."""
    digests = {(cell.arm, cell.seed): cell.digest for cell in report.cells}
    pairs = [(digests[arm, s], digests.get((report.baseline, s))) for a, s in digests if a == arm]
    return bool(pairs) and all(one == other for one, other in pairs)


def verdict_in_words(report: Report, one: Compared | Tested) -> str:
    """Return a verdict with its p, and what has to be known beside it."""
    return "; ".join((_verdict(report, one), *_beside(report, one)))


def _verdict(report: Report, one: Compared | Tested) -> str:
    """Return a verdict with its p, or if no pair differs with what is known of other pairs."""
    judged, words = one.judged, one.verdict()
    n, p = judged.difference.mean.n, judged.p_holm
    if words == "no larger than":
        words, p = f"{words} {short(one.difference.margin)}", judged.p_margin_holm
    if judged.all_equal:
        others = f"with so few, up to {most_unlike(n):.0%} of all pairs could still differ"
        return f"{words}: no difference in any of {counted(n, 'pair')}; {others}"
    if p is None:
        return words
    is_planned = isinstance(one, Tested) and not one.exploratory
    return f"{words}, p {short(p)}{EXTENDED * (report.extended and not is_planned)}"


def _beside(report: Report, one: Compared | Tested) -> Iterator[str]:
    judged, verdict = one.judged, one.verdict()
    if isinstance(one, Tested) and not one.exploratory:
        if report.extended:
            yield "figures of the planned seeds only"
        if not one.complete:
            yield "not all of the planned runs have been played"
    if judged.differs and judged.no_larger:
        yield f"smaller than {short(one.difference.margin)}, the smallest that matters"
    if verdict == "cannot tell" and not (judged.differs or judged.all_equal):
        yield from _why_nobody_can_tell(report, judged)
    if isinstance(one, Compared) and is_same(report, one.arm):
        yield "no turn differs"
    for wordings in judged.sample.wordings:
        yield f"about {len(wordings.crossed)} wordings of {' and '.join(wordings.arms)}"
    if judged.differs and (left := judged.without_failures):
        pairs = f"the {len(judged.failed)} pairs" if len(judged.failed) > 1 else "the pair"
        mean = left.difference.mean
        figures = f"{short(mean.mean)} (n {mean.n}, p {short(left.p_holm)})" if mean.n else "no pair is left"
        yield f"without {pairs} in which calls failed, {figures}"
    if report.may_be_failures(judged):
        yield "the failed calls may be the reason"


def _why_nobody_can_tell(report: Report, judged: Judged) -> Iterator[str]:
    mean = judged.difference.mean
    if undefined := _undefined_in(report, judged.sample):
        yield f"undefined in {' and '.join(map(quoted, undefined))}"
    elif mean.n < judged.fewest:
        yield f"the test needs {judged.fewest} pairs or more"
    if (mean.low or 0) * (mean.high or 0) > 0:
        yield "the verdict follows p, which is stricter than the interval"


def _undefined_in(report: Report, sample: Sample) -> list[str]:
    """Return the arms in whose runs, however many, the measure of a comparison has no value."""
    values: dict[str, list[float | None]] = {}
    for (name, _), measures in report.values.items():
        values.setdefault(parts_of(name)[0], []).append(measures.get(("run", sample.measure)))
    return [arm for arm in sample.arms if arm in values and not any(one is not None for one in values[arm])]


def compares(report: Report, one: Tested) -> str:
    """Return in words what a hypothesis compares."""
    asked = one.hypothesis
    share = "" if asked.share is None else f"{asked.share:g} of "
    return {
        "baseline": f"{asked.arm} minus {share}{asked.against or report.baseline}",
        "halves": f"{asked.arm}, second half of a run minus the first",
        "zero": f"{asked.arm}, compared with 0",
        "trend": f"trend over {asked.factor}, from its smallest to its largest value on the line that fits "
        "best",
    }[asked.test]


def interval(mean: Mean) -> str:
    """Return the ends of an interval, a hyphen if there is none."""
    return "-" if mean.low is None else f"{short(mean.low)} to {short(mean.high)}"


def short(value: float | None) -> str:
    """Return a figure with three digits, or a large one without fractions; a hyphen if it is undefined."""
    if value is None:
        return "-"
    return f"{value:.3g}" if abs(value) < LARGE else f"{value:,.0f}"
