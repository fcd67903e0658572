"""What can be concluded from an experiment, in words."""

from collections import Counter
from collections.abc import Iterator, Sequence

from hobbes.engine.telling import all_of, counted
from hobbes.experiment.arm_comparison import Compared, Judged, Tested
from hobbes.experiment.experiment_file import NULL
from hobbes.experiment.failures import Failing, fail_equally
from hobbes.experiment.report import Report
from hobbes.experiment.statistics import ALPHA, Mean, most_unlike
from hobbes.experiment.wordings import Wordings

NOTHING = "nothing can be concluded"
"""What a conclusion begins with that is said once for all arms and measures that it is about."""

LARGE = 999.5
"""From here on, a figure is told without fractions."""

EXTENDED = " (extended after a look)"
"""What stands beside a p if seeds were added to an experiment that had begun."""


FEW_VALUES = (
    "Of 5 skewed values, 88 to 96% of the 95% intervals hold the true mean, and of 8 very skewed ones 90%."
)
"""What docs/calibration.md says of few values."""

RARE_EVENTS = (
    "Intervals of a measure of 0 or 1 that is seldom 1, or seldom 0, hold less often than 95%, in some cases "
    "53%."
)
"""What docs/calibration.md says of rare events."""


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


def conclusions(found: Report) -> Iterator[str]:
    """Yield what can be concluded, one sentence or more for each arm and measure that the plan names."""
    changed = [arm for arm in found.arms if arm not in {found.baseline, NULL}]
    if not changed:
        yield (
            f"No arm is compared with {found.baseline} but the null arm. It shows how far games differ in "
            "which nothing was changed."
        )
    same = {arm: pairs for arm in changed if (pairs := _same(found, arm))}
    for arm, n in same.items():
        yield f"{arm}: the same as {found.baseline}. Equal digests in {all_of(n, 'pair')}: no turn differs."
    yield from (
        f"{arm}: this claim is about one wording. `paraphrases` makes it one about several."
        for arm in found.about_one
        if arm not in same
    )
    compared = [one for one in found.differences if one.arm not in {NULL, *same} and not one.exploratory]
    yield from _conclude(found, compared)
    if any(one.verdict() == "cannot tell" for one in compared):
        yield MORE


MORE = (
    "If you need more seeds, plan a new experiment with seeds of its own. Seeds that are added to this one "
    "make it an experiment that was extended after a look: its p would be wrong more often than they say."
)


def explorations(found: Report) -> Iterator[str]:
    """Yield what the experiment shows beside its plan, which is never a conclusion."""
    if found.plan is None:
        yield "No plan was kept before the first game, so nothing here was planned for certain."
    else:
        changes = found.plan.changes
        if changes:
            yield f"Since the plan was frozen: {'; '.join(changes)}."
        yield from (f"Amended {one.kept}: {one.why}" for one in found.plan.amendments)
    yield from (_line(found, one) for one in found.hypotheses if one.exploratory)
    yield from _conclude(found, [one for one in found.differences if one.exploratory and one.arm != NULL])


def _same(found: Report, arm: str) -> int:
    """Return the number of pairs if the runs of each pair have the same digest, otherwise 0."""
    digests = {(cell.arm, cell.seed): cell.digest for cell in found.cells}
    pairs = [(digests[arm, s], digests.get((found.baseline, s))) for a, s in digests if a == arm]
    return len(pairs) if all(one == other for one, other in pairs) else 0


def _conclude(found: Report, compared: Sequence[Compared]) -> Iterator[str]:
    """Yield what can be concluded about differences; that nothing can be is said once for each reason."""
    nothing: dict[str, list[Compared]] = {}
    for one in compared:
        conclusion = _conclusion(found, one)
        if conclusion.startswith(NOTHING):
            nothing.setdefault(conclusion, []).append(one)
        else:
            yield f"{one.arm}, {one.measure}: {conclusion}"
    for conclusion, about in nothing.items():
        if len(about) == len(compared) > 1:
            yield conclusion[0].upper() + conclusion[1:]
        else:
            yield f"{'; '.join(_about(found, about))}: {conclusion}"


def _about(found: Report, compared: Sequence[Compared]) -> Iterator[str]:
    """Yield arm and measure of differences, and only the arm where all its measures are among them."""
    for arm, count in Counter(one.arm for one in compared).items():
        if count == len(found.measures) > 1:
            yield arm
        else:
            yield from (f"{arm}, {one.measure}" for one in compared if one.arm == arm)


def _conclusion(found: Report, one: Compared) -> str:
    """Return what can be concluded about one difference."""
    of, mean = one.judged, one.difference.mean
    if of.differs and mean.mean is not None:
        word = "higher" if mean.mean > 0 else "lower"
        return (
            f"{word} than {found.baseline} by {short(abs(mean.mean))} ({interval_in_words(mean)}), "
            f"{told_p(found, of)}.{about_wordings(of)}{_beside(found, of)}"
        )
    if why := _why_nothing(one):
        return f"{NOTHING}{why}"
    if of.all_equal:
        return f"cannot tell: {_all_equal(of)}."
    if of.no_larger:
        return (
            f"no difference larger than {short(one.difference.margin)} ({interval_in_words(mean)}, "
            f"p {short(of.p_margin_holm)}{EXTENDED * found.extended}).{about_wordings(of)}"
        )
    return (
        f"cannot tell ({short(mean.mean)}, {interval_in_words(mean)}, {told_p(found, of)})."
        f"{about_wordings(of)}{_beside_interval(of)}{_what_can_be_found(of)}"
    )


def _all_equal(of: Judged) -> str:
    """Return what is known if no pair differs."""
    n = of.difference.mean.n
    unlike = f"up to {most_unlike(n):.0%} of all pairs may be unlike these (95% confidence)"
    return f"equal in {all_of(n, 'pair')}; {unlike}"


def _why_nothing(one: Compared) -> str:
    """Return why nothing can be concluded about a difference, whatever it is; empty if something can."""
    of, n = one.judged, one.difference.mean.n
    if not n:
        return ", because in no pair do both runs have a value that counts."
    if n >= of.fewest or of.all_equal:
        return ""
    test = "The test needs" if of.tests == 1 else f"With {of.tests} comparisons the test needs"
    return f" from {counted(n, 'pair')}. {test} {of.fewest} or more."


def told_p(found: Report, of: Judged) -> str:
    """Return the corrected p in words."""
    return f"p {short(of.p_holm)}{EXTENDED * found.extended}"


def about_wordings(of: Judged) -> str:
    """Return over which wordings or models a difference is one; empty if each arm has one."""
    if not of.wordings:
        return ""
    about = " and ".join(of_sample(one) for one in of.wordings)
    return f" This is about {about}, and the interval is over them as well as over games."


def of_sample(one: Wordings) -> str:
    """Return in words how many wordings or models some arms have."""
    kind = "wordings" if one.kind == "paraphrases" else "models"
    return f"{len(one.each)} {kind} of {' and '.join(one.arms)}"


def samples_in_words(found: Report) -> Iterator[str]:
    """Yield how far differences depend on wordings or models."""
    for one in found.differences:
        yield from (
            f"{one.arm}, {one.measure}: {of_sample(of)}; the standard deviation between them is "
            f"{short(of.between)}, and between games {short(of.of_games)}."
            for of in one.judged.wordings
        )


def _beside(found: Report, of: Judged) -> str:
    """Return what has to be said beside a difference that was found."""
    said = ""
    if of.no_larger:
        said += f" It is no larger than {short(of.difference.margin)}, the smallest difference that matters."
    if of.without_failures is not None:
        left = of.without_failures
        mean = left.difference.mean
        pairs = f"the {len(of.failed)} pairs" if len(of.failed) > 1 else "the pair"
        said += f" Without {pairs} in which calls failed: "
        said += (
            f"{short(mean.mean)} ({interval_in_words(mean)}), n {mean.n}, p {short(left.p_holm)}."
            if mean.n
            else "no pair is left."
        )
        if mean.n < left.fewest:
            said += f" These are too few to test. {_shares_of_failed(found, of)}"
    if found.may_be_failures(of):
        said += " So the difference may be that of the failed calls."
    return said


def _shares_of_failed(found: Report, of: Judged) -> str:
    """Return which share of the calls failed in the arms that are compared."""
    arms = found.failing_of(of)
    if fail_equally(arms):
        return f"The arms fail equally often ({_share(arms[0])} of their calls)."
    return f"Failed calls: {', '.join(f'{one.arm} {_share(one)}' for one in arms)}."


def _beside_interval(of: Judged) -> str:
    """Return why a difference is not found if the interval leaves out 0, otherwise nothing."""
    mean = of.difference.mean
    if mean.low is None or mean.high is None or mean.low <= 0 <= mean.high:
        return ""
    corrected = (
        f"; p is corrected for {of.tests} comparisons, and the interval is not" if of.tests > 1 else ""
    )
    return f" The interval leaves out 0, but p decides{corrected}."


def _what_can_be_found(of: Judged) -> str:
    """Return how small a difference so many pairs find."""
    n, margin = of.difference.mean.n, of.difference.margin
    if of.detectable is None:
        return ""
    least = f"; the smallest that matters is {short(margin)}" if margin else ""
    return (
        f" {n} pairs would find a difference of {short(of.detectable)} in about 80% of experiments, if "
        f"values are normal and spread like these{least}."
    )


def verdicts(found: Report) -> Iterator[str]:
    """Yield a line for each hypothesis of the plan: the verdict, its text, and the numbers."""
    yield from (_line(found, one) for one in found.hypotheses if not one.exploratory)


def compares(found: Report, one: Tested) -> str:
    """Return in words what a hypothesis compares."""
    asked = one.hypothesis
    factors = " and ".join(asked.factors or [])
    share = "" if asked.share is None else f"{asked.share:g} of "
    return {
        "baseline": f"{asked.arm} minus {share}{asked.against or found.baseline}",
        "halves": f"{asked.arm}, second half of a run minus the first",
        "zero": f"{asked.arm}, compared with 0",
        "trend": f"trend over {factors}, from its smallest to its largest value on the line that fits best",
        "interaction": f"interaction of {factors}",
    }[asked.test]


def _verdict(one: Compared | Tested) -> str:
    """Return a verdict, with the margin where no difference is larger."""
    verdict = one.verdict()
    return f"{verdict} {short(one.difference.margin)}" if verdict == "no larger than" else verdict


def verdict_in_words(found: Report, one: Compared | Tested) -> str:
    """Return a verdict with its p, and what has to be known beside it."""
    of, verdict = one.judged, one.verdict()
    p = of.p_margin_holm if verdict == "no larger than" else of.p_holm
    told = _verdict(one)
    if of.all_equal:
        told += f": {_all_equal(of)}"
    elif p is not None:
        told += f", p {short(p)}"
    if isinstance(one, Compared) or one.exploratory:
        told += EXTENDED * (found.extended and p is not None)
    elif not one.complete:
        told += "; not all of the planned runs have been played"
    if of.differs and of.no_larger:
        told += f"; smaller than {short(one.difference.margin)}, the smallest that matters"
    if verdict == "cannot tell" and one.difference.mean.n < of.fewest and not of.all_equal:
        told += f"; the test needs {of.fewest} pairs or more"
    if isinstance(one, Compared) and _same(found, one.arm):
        told += "; no turn differs"
    if found.may_be_failures(of):
        told += "; it may be that of the failed calls"
    return told


def _line(found: Report, one: Tested) -> str:
    """Return the verdict of a hypothesis with its numbers."""
    of, mean, told = one.judged, one.difference.mean, _verdict(one)
    p = f"p {short(of.p_holm)}"
    seeds = ""
    if found.extended:
        p += EXTENDED if one.exploratory else ""
        seeds = "" if one.exploratory else " These are the figures of the planned seeds."
    if not one.complete and not one.exploratory:
        seeds += " Not all of the planned runs have been played."
    few = f" The test needs {of.fewest} pairs or more." if mean.n < of.fewest else ""
    if of.all_equal:
        few = f" It is {_all_equal(of)}."
    beside = _beside(found, of) if of.differs else ""
    return (
        f"{told[0].upper()}{told[1:]}: {one.hypothesis.text.rstrip('.')}. "
        f"Expected: {one.hypothesis.direction}. "
        f"{one.hypothesis.measure}, {compares(found, one)}: {short(mean.mean)} "
        f"({interval_in_words(mean)}), n {mean.n}, {p}.{about_wordings(of)}{beside}{few}{seeds}"
    )


def failures(found: Report) -> Iterator[str]:
    """Yield which arms differ from the baseline in their failed calls."""
    for one in found.failing:
        if one.difference and one.p_holm is not None and one.p_holm < ALPHA and one.arm != NULL:
            more = "more" if (one.difference.mean.mean or 0.0) > 0 else "fewer"
            yield (
                f"{one.arm}: {more} calls failed than in {found.baseline} ({_share(one)} of its calls, "
                f"p {short(one.p_holm)}). What differs between them may be a difference in failures."
            )


def _share(one: Failing) -> str:
    return "-" if one.share is None else f"{one.share:.1%}"


def short(value: float | None) -> str:
    """Return a figure with three digits, or a large one without fractions; a hyphen if it is undefined."""
    if value is None:
        return "-"
    return f"{value:.3g}" if abs(value) < LARGE else f"{value:,.0f}"


def interval_in_words(mean: Mean) -> str:
    """Return an interval in words."""
    if mean.low is None or mean.high is None:
        return "no interval"
    return f"95% interval {short(mean.low)} to {short(mean.high)}"
