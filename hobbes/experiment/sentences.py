"""The verdicts of an experiment in words, and what has to be known beside its figures."""

from collections.abc import Iterator

from hobbes.engine.telling import all_of, counted
from hobbes.experiment.arm_comparison import Compared, Tested
from hobbes.experiment.experiment_file import NULL
from hobbes.experiment.report import Report
from hobbes.experiment.statistics import most_unlike

LARGE = 999.5
"""From here on, a figure is told without fractions."""

EXTENDED = " (extended after a look)"
"""What stands beside a p if seeds were added to an experiment that had begun."""


def tainted_of(tainted: int, runs: int) -> str:
    """Return how many of some runs are tainted."""
    return f"{tainted} of {counted(runs, 'run')} {'is' if tainted == 1 else 'are'} tainted"


def cautions(found: Report) -> Iterator[str]:
    """Yield what has to be known before any figure is read."""
    if len(found.cells) < found.planned:
        yield (
            f"Played so far: {len(found.cells)} of {counted(found.planned, 'run')}. "
            "These figures are not the last ones; do not stop early because of them."
        )
    for name, figures in found.arms.items():
        if figures.tainted:
            rest = "include" if found.with_tainted else "leave out"
            tainted = tainted_of(figures.tainted, figures.runs)
            yield f"{name}: {tainted}, because too many calls failed. The figures {rest} tainted runs."
    for one in found.differences:
        if one.arm == NULL and one.judged.differs:
            yield (
                f"Check of the test: the null arm differs from the baseline by {one.measure}, although "
                "nothing was changed. One experiment in twenty shows this by chance."
            )
    if not {*found.arms} - {found.baseline, NULL}:
        yield (
            f"No arm is compared with {found.baseline} but the null arm. It shows how far games differ in "
            "which nothing was changed."
        )
    yield from (
        f"{arm}: this claim is about one wording. `paraphrases` makes it one about several."
        for arm in found.about_one
        if not _is_same(found, arm)
    )


def _is_same(found: Report, arm: str) -> bool:
    """Return whether the runs of each pair of an arm with the baseline have the same digest."""
    digests = {(cell.arm, cell.seed): cell.digest for cell in found.cells}
    pairs = [(digests[arm, s], digests.get((found.baseline, s))) for a, s in digests if a == arm]
    return bool(pairs) and all(one == other for one, other in pairs)


def verdict_in_words(found: Report, one: Compared | Tested) -> str:
    """Return a verdict with its p, and what has to be known beside it."""
    return "; ".join((_verdict(found, one), *_beside(found, one)))


def _verdict(found: Report, one: Compared | Tested) -> str:
    """Return a verdict with its p, or if no pair differs with what is known of other pairs."""
    of, words = one.judged, one.verdict()
    n, p = of.difference.mean.n, of.p_holm
    if words == "no larger than":
        words, p = f"{words} {short(one.difference.margin)}", of.p_margin_holm
    if of.all_equal:
        unlike = f"up to {most_unlike(n):.0%} of all pairs may be unlike these (95% confidence)"
        return f"{words}: equal in {all_of(n, 'pair')}; {unlike}"
    if p is None:
        return words
    is_planned = isinstance(one, Tested) and not one.exploratory
    return f"{words}, p {short(p)}{EXTENDED * (found.extended and not is_planned)}"


def _beside(found: Report, one: Compared | Tested) -> Iterator[str]:
    """Yield what has to be known beside a verdict."""
    of, verdict = one.judged, one.verdict()
    if isinstance(one, Tested) and not one.exploratory:
        if found.extended:
            yield "these are the figures of the planned seeds"
        if not one.complete:
            yield "not all of the planned runs have been played"
    if of.differs and of.no_larger:
        yield f"smaller than {short(one.difference.margin)}, the smallest that matters"
    if verdict == "cannot tell" and one.difference.mean.n < of.fewest and not of.all_equal:
        yield f"the test needs {of.fewest} pairs or more"
    if isinstance(one, Compared) and _is_same(found, one.arm):
        yield "no turn differs"
    for wordings in of.wordings:
        yield f"about {len(wordings.each)} wordings of {' and '.join(wordings.arms)}"
    if of.differs and (left := of.without_failures):
        pairs = f"the {len(of.failed)} pairs" if len(of.failed) > 1 else "the pair"
        mean = left.difference.mean
        figures = f"{short(mean.mean)} (n {mean.n}, p {short(left.p_holm)})" if mean.n else "no pair is left"
        yield f"without {pairs} in which calls failed, {figures}"
    if found.may_be_failures(of):
        yield "it may be that of the failed calls"


def compares(found: Report, one: Tested) -> str:
    """Return in words what a hypothesis compares."""
    asked = one.hypothesis
    share = "" if asked.share is None else f"{asked.share:g} of "
    return {
        "baseline": f"{asked.arm} minus {share}{asked.against or found.baseline}",
        "halves": f"{asked.arm}, second half of a run minus the first",
        "zero": f"{asked.arm}, compared with 0",
        "trend": f"trend over {asked.factor}, from its smallest to its largest value on the line that fits "
        "best",
    }[asked.test]


def short(value: float | None) -> str:
    """Return a figure with three digits, or a large one without fractions; a hyphen if it is undefined."""
    if value is None:
        return "-"
    return f"{value:.3g}" if abs(value) < LARGE else f"{value:,.0f}"
