"""What a report begins with: what was asked, what was changed, and one table of answers."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import fsum
from pathlib import Path
from typing import TypeAlias

from hobbes.engine.telling import all_of, counted, quoted
from hobbes.errors import HobbesError
from hobbes.experiment.arm_comparison import Compared, Judged, Tested
from hobbes.experiment.experiment_file import NULL, ExperimentFile, parts_of
from hobbes.experiment.frozen import FrozenPlan
from hobbes.experiment.report import Report, measures_of
from hobbes.experiment.sentences import cautions, compares, interval, is_same, short, verdict_in_words
from hobbes.experiment.statistics import means_of
from hobbes.nodes.prompt_set import is_path
from hobbes.nodes.prompting import system_text
from hobbes.prove.run_comparison import settings_that_differ
from hobbes.prove.word_diff import CHANGE, word_diff
from hobbes.show.both_runs import settings_by_field
from hobbes.show.charts import draw_estimate, type_estimate
from hobbes.show.documents import SIGNS, Cell, Link, Picture, Section, shorten
from hobbes.show.trace import Pieces
from hobbes.show.world_list import meaning_of_measure, of_anybody
from hobbes.store.experiment_tables import BegunCell
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.worlds import world_named

MAX_ROWS = 20
"""How many rows the tables before the methods have at most. Of more, the methods have all."""

SIGNS_OF_VERDICTS = {
    "supported": "✓",
    "not supported": "✗",
    "higher": "↑",
    "lower": "↓",
    "no larger than": "≈",
    "cannot tell": "?",
}
"""What stands before a verdict; before one that was not planned stands a circle."""

ONE_CLAIM = {
    "not supported": "refuted: the opposite was found",
    "no larger than": "about a difference no larger than what matters",
    "cannot tell": "neither shown nor refuted",
}
"""What a verdict says of the only claim, where it is not the verdict itself."""

INKS = {"good": "#0072B2", "bad": "#D55E00", "even": "#808080"}
"""The colour of a difference by what its verdict says. Colour-blind people can tell them apart."""

COLUMNS = ("difference", "around 0", "verdict", "nearest pair")
"""The columns of the table of answers, beside that of what is claimed or compared."""

AXIS_IN_WORDS = (
    "Around 0, the dot is the difference and the bar its 95% interval; a dotted line is the smallest "
    "difference that matters. Each measure has its own scale. Each p is corrected by Holm's method; "
    "intervals are not. The nearest pair is the one nearest the mean."
)

To: TypeAlias = Callable[[Sequence[BegunCell]], str]
"""Returns the address at which two runs are compared, or one is shown."""

MAX_DIFFS = 3
"""How many word diffs of prompts are shown."""


def what_was_asked(report: Report) -> Section:
    """Return what was asked: the hypotheses and the plan."""
    words = list(_question_in_words(report, report.asked))
    rows = list(_plan(report.plan)) if report.plan else []
    return Section("What was asked", words, ("what was planned", "value") if rows else (), rows)


def _plan(plan: FrozenPlan) -> Iterator[tuple[str, str]]:
    """Yield what the frozen plan says beside hypotheses and measures."""
    file = plan.file
    yield "hash", plan.kept.hash
    yield "seeds", ", ".join(map(str, file.seeds))
    yield "stopping rule", f"none: judged once, after {all_of(len(file.seeds), 'seed')}"
    sizes = (f"{name} {short(size)}" for name, size in file.smallest.items())
    yield "smallest that matters", ", ".join(sizes) or "none"
    for arm, prompts in plan.kept.plan["prompts"].items():
        yield f"arm {arm}", f"prompts {prompts}, played by {', '.join(plan.kept.plan['models'][arm])}"


def what_was_measured(report: Report, charts: Sequence[Picture], link: To | None) -> Section:
    """Return what each measure is, with a chart of its differences."""
    asked = report.asked
    measures = dict.fromkeys([*measures_of(asked), *(one.measure for one in asked.hypotheses)])
    rows = [(one, unit_of(report, one) or "-", definition_of(report, one)) for one in measures]
    words = ["Each dot of a chart leads to its pair of runs."] if link and charts else []
    return Section("What was measured", words, ("measure", "unit", "what it is"), rows, charts)


def unit_of(report: Report, measure: str) -> str:
    """Return the unit of a measure, empty if it has none."""
    return world_named(report.file.world).measures.units.get(of_anybody(measure), "")


def definition_of(report: Report, measure: str) -> str:
    """Return in one line what a measure is."""
    return meaning_of_measure(world_named(report.file.world), measure)


def _question_in_words(report: Report, file: ExperimentFile) -> Iterator[str]:
    for one in report.hypotheses:
        if not one.exploratory:
            about = f"{one.hypothesis.measure}, {compares(report, one)}, is {one.hypothesis.direction}"
            yield f"Hypothesis: {one.hypothesis.text.rstrip('.')} ({about})."
    if not file.question and not file.hypotheses:
        yield f"The file names no hypothesis. Each arm is compared with {quoted(file.baseline)}."
    if report.plan is None:
        yield "No plan was kept before the first run."
        return
    changes = report.plan.changes
    since = f"Since then: {'; '.join(changes)}" if changes else "Nothing in it has changed since"
    yield f"The plan was frozen at {report.plan.kept.kept}. {since}."


@dataclass(frozen=True, slots=True)
class Changed:
    """How an arm differs from the baseline: its settings with both values, and its prompts."""

    arm: str
    settings: Sequence[tuple[str, str, str]]
    prompts: Pieces
    """The lines of the prompts that differ, word by word; empty if none do, or if nobody reads them."""


def what_was_changed(store: Store, report: Report) -> tuple[Section, list[Section]]:
    """Return what was changed, and the parts of it that are left to the methods."""
    arms = list(_changes(store, report))
    rows = [(one.arm, *row) for one in arms for row in one.settings]
    columns = ("arm", "setting", f"in {quoted(report.baseline)}", "in this arm")
    words, diffs = list(_besides_changes(report, arms)), list(_diffs(report, arms))[:MAX_DIFFS]
    return _beginning(Section("What was changed", words, columns, rows, diffs=diffs))


def _beginning(whole: Section) -> tuple[Section, list[Section]]:
    """Return a section with the first rows of its table, and if it has more, one for the methods with all."""
    shown = whole.rows[:MAX_ROWS]
    columns = whole.columns if shown else ()
    if len(shown) == len(whole.rows):
        return replace(whole, columns=columns), []
    more = f"These are the first {MAX_ROWS} of {len(whole.rows)} rows; the methods have all."
    first = replace(whole, texts=[*whole.texts, more], rows=shown)
    return first, [Section(f"{whole.title}: all rows", (), columns, whole.rows)]


def _besides_changes(report: Report, arms: Sequence[Changed]) -> Iterator[str]:
    """Yield what has to be said beside the table of settings."""
    seeds = len({cell.seed for cell in report.cells})
    played = "one seed" if seeds == 1 else f"the same {counted(seeds, 'seed')}"
    base = quoted(report.baseline)
    yield f"All arms are played with {played}, and with the settings of {base} but for these."
    equal = [one.arm for one in arms if not one.settings and not one.prompts]
    if equal:
        yield f"Nothing that players can tell was changed in {_some(equal)}."
    known = {report.baseline, NULL, *(one.arm for one in arms)}
    if waiting := [arm for arm in report.arms if arm not in known]:
        yield f"There is no pair of runs of {_some(waiting)} that can be read."
    if sampled := [arm for arm in report.arms if report.file.paraphrases_of(arm)]:
        yield f"Of the wordings of {_some(sampled)}, the first one is shown here."
    if NULL in report.arms:
        yield f"{quoted(NULL)} is {base}, played a second time with answers of its own: it checks the test."


def _some(names: Sequence[str]) -> str:
    """Return names, or if they are many the first ones and how many more there are."""
    more = f" and {len(names) - MAX_DIFFS} more" if len(names) > MAX_DIFFS else ""
    return f"{', '.join(map(quoted, names[:MAX_DIFFS]))}{more}"


def _changes(store: Store, report: Report) -> Iterator[Changed]:
    """Yield how each arm differs from the baseline, from the first pair of runs that has been played."""
    runs: dict[str, dict[int, str]] = {}
    for cell in report.cells:
        runs.setdefault(cell.arm, {})[cell.seed] = cell.id
    of_baseline = runs.get(report.file.wordings(report.baseline)[0], {})
    for arm in report.arms:
        of_arm = runs.get(report.file.wordings(arm)[0], {})
        seed = next((seed for seed in of_arm if seed in of_baseline), None)
        if arm not in {report.baseline, NULL} and seed is not None:
            try:
                a, b = (store.runs.find(of[seed]) for of in (of_baseline, of_arm))
            except HobbesError:  # another version of hobbes has recorded it
                continue
            differing = settings_that_differ(a, b)
            differing.pop("prompt_texts", None)  # the word diff shows them
            if "prompts" in differing:
                variants = differing["prompts"]  # a folder is called by its name, without the path to it
                differing["prompts"] = [Path(one).name if is_path(one) else one for one in variants]
            settings = [
                (name, _told(one), _told(other)) for name, (one, other) in settings_by_field(differing)
            ]
            yield Changed(arm, settings, _prompts(a, b))


def _told(value: object) -> str:
    """Return a value of a setting as an experiment file has it, such as `false`; a text without quotes."""
    return (
        value if isinstance(value, str) else "-" if value is None else json.dumps(value, ensure_ascii=False)
    )


def _prompts(a: Run, b: Run) -> Pieces:
    """Return the lines of the prompts of two runs that differ, as players read them, without the views."""
    texts = [(run.prompts.system, run.prompts.turn) for run in (a, b)]
    players = {*a.models.values(), *b.models.values()}
    if texts[0] == texts[1] and all(spec.startswith("policy:") for spec in players):  # nobody reads them
        return []
    return word_diff(*(f"{system_text(run.prompts, run.setting)}\n\n{run.prompts.turn}" for run in (a, b)))


def _diffs(report: Report, arms: Sequence[Changed]) -> Iterator[tuple[str, Pieces]]:
    """Yield each word diff of prompts with the arms that have it."""
    by_text: dict[tuple[tuple[CHANGE, str], ...], list[str]] = {}
    for one in arms:
        if one.prompts:
            by_text.setdefault(tuple(one.prompts), []).append(one.arm)
    for pieces, names in by_text.items():
        yield f"The prompts of {_some(names)}, beside those of {quoted(report.baseline)}:", shorten([*pieces])


@dataclass(frozen=True, slots=True)
class Answer:
    """A row of the table of answers."""

    claim: str
    result: Compared | Tested
    share: float | None
    """The difference as a share of the mean of what it is compared with; None if that may be 0 or below."""

    @property
    def measure(self) -> str:
        """The measure that it is about."""
        return self.result.measure if isinstance(self.result, Compared) else self.result.hypothesis.measure

    @property
    def reach(self) -> float:
        """How far its figures are from 0 at most."""
        of = self.result.difference
        known = (of.mean.mean, of.mean.low, of.mean.high, of.margin)
        return max((abs(figure) for figure in known if figure is not None), default=0.0)

    def figures(self, report: Report) -> str:
        """Return the difference with its interval and its unit, as a share, and the number of pairs."""
        mean, unit = self.result.difference.mean, unit_of(report, self.measure)
        words = f"{self.measure} " * isinstance(self.result, Tested) + short(mean.mean)
        words += f" ({interval(mean)})" if mean.low is not None else ""
        words += f" {unit}" if unit and mean.mean is not None else ""
        share = [] if self.share is None else [f"{self.share:+.0%}"]
        return "; ".join([words, *share, counted(mean.n, "pair")])

    def row(
        self, report: Report, reach: float, runs: Sequence[BegunCell], link: To | None
    ) -> tuple[Cell, ...]:
        """Return its cells, with the runs to look at. Its picture reaches so far to both sides of 0."""
        difference, figures = self.result.difference, self.figures(report)
        sign = "○" if self.result.exploratory else SIGNS_OF_VERDICTS[self.result.verdict()]
        margins = [] if difference.margin is None else [-difference.margin, difference.margin]
        axis = difference.mean, margins, reach
        draw = partial(draw_estimate, *axis, INKS[SIGNS[sign]])
        picture = Picture(figures, draw, characters=type_estimate(*axis)) if difference.mean.n else ""
        verdict = f"{sign} {verdict_in_words(report, self.result)}"
        pair = Link(f"seed {runs[0].seed}", link(runs) if link else "") if runs else "-"
        return self.claim, figures, picture, verdict, pair


def answers(report: Report) -> list[Answer]:
    """Return the answers to what was asked: each hypothesis of the plan, and each other planned comparison.

    A comparison that a hypothesis makes as well is not repeated, and the rankings of a tournament stand in
    place of the comparisons of its arms.
    """
    tested = [one for one in report.hypotheses if not one.exploratory]
    covered = {
        (one.hypothesis.arm, one.hypothesis.measure)
        for one in tested
        if one.hypothesis.test == "baseline" and one.hypothesis.against in {None, report.baseline}
    }
    compared: list[Compared | Tested] = [
        one
        for one in report.differences
        if not (report.rankings or one.arm == NULL or one.exploratory or (one.arm, one.measure) in covered)
    ]
    return [_answer(report, one) for one in [*tested, *compared]]


def explored(report: Report) -> list[Answer]:
    """Return what the frozen plan does not name: hypotheses and comparisons."""
    tested = [one for one in report.hypotheses if one.exploratory]
    compared: list[Compared | Tested] = [
        one for one in report.differences if one.exploratory and one.arm != NULL
    ]
    return [_answer(report, one) for one in [*tested, *compared]]


def _answer(report: Report, one: Compared | Tested) -> Answer:
    if isinstance(one, Compared):
        claim = f"{one.measure}, “{one.arm}” minus “{report.baseline}”"
        return Answer(claim, one, _share(report, one, one.measure, report.baseline))
    asked = one.hypothesis
    of_arm = asked.test == "baseline"
    share = _share(report, one, asked.measure, asked.against or report.baseline) if of_arm else None
    return Answer(asked.text.rstrip("."), one, share)


def _share(report: Report, one: Compared | Tested, measure: str, arm: str) -> float | None:
    """Return a difference as a share of an arm's mean over the same seeds.

    It is None unless the interval of that mean lies above 0; without an interval, the mean itself.
    """
    by_seed = dict[int, list[float]]()
    for (name, seed), measures in report.values.items():
        if parts_of(name)[0] == arm and seed in one.judged.sample.pairs:
            if (value := measures.get(("run", measure))) is None:
                return None
            by_seed.setdefault(seed, []).append(value)
    (of_arm,) = means_of([[fsum(of) / len(of) for of in by_seed.values()]])
    least = of_arm.mean if of_arm.low is None else of_arm.low
    mean = one.difference.mean.mean
    return mean / of_arm.mean if mean is not None and of_arm.mean and least and least > 0 else None


Runs: TypeAlias = Callable[[Judged, int | None], list[BegunCell]]
"""Returns the runs with a seed that a comparison is about, the baseline's first; none of a trend."""


def runs_compared(report: Report) -> Runs:
    """Return a function that finds the runs of a comparison; of several wordings, those with the first."""
    played: dict[tuple[str, int | None], BegunCell] = {(one.arm, one.seed): one for one in report.cells}
    first = {arm: report.file.wordings(arm)[0] for arm in report.arms}

    def runs(judged: Judged, seed: int | None) -> list[BegunCell]:
        arms = judged.sample.arms[::-1] if seed is not None and len(judged.sample.arms) <= 2 else ()  # noqa: PLR2004
        found = [played.get((first.get(arm, arm), seed)) for arm in arms]
        return [cell for cell in found if cell] if all(found) else []

    return runs


def table_of_answers(store: Store, report: Report, link: To | None = None) -> tuple[Section, list[Section]]:
    """Return the table of answers, and the part of it that is left to the methods.

    Without a plan it has what the experiment shows, which is called exploratory.
    """
    shown = answers(report) if report.plan else explored(report)
    question = report.asked.question
    words = [*_in_short(report, shown), *([question] if question else []), *cautions(report)]
    if report.plan and (others := explored(report)):
        words.append(
            f"Not in the plan: {counted(len(others), 'comparison')}, under Exploratory in the methods."
        )
    if shown:
        words.append(AXIS_IN_WORDS)
    runs = runs_compared(report)
    for one in shown:
        pair = [] if one.result.judged.all_equal else runs(one.result.judged, one.result.judged.nearest())
        if len(pair) > 1 and not link:
            command = store.command("compare", *(cell.run for cell in pair))
            words.append(f"Where the pair nearest the mean begins to differ ({one.claim}): {command}")
            break
    title = "Answers" if report.plan else "Exploratory answers"
    columns = ("claim" if report.plan else "comparison", *COLUMNS)
    return _beginning(Section(title, words, columns, _rows(report, shown, link)))


def _rows(report: Report, shown: Sequence[Answer], link: To | None = None) -> list[tuple[Cell, ...]]:
    """Return the rows of answers. Those of one measure have one axis."""
    reach: dict[str, float] = {}
    for one in shown:
        reach[one.measure] = max(one.reach, reach.get(one.measure, 0.0))
    runs = runs_compared(report)
    near = [runs(one.result.judged, one.result.judged.nearest()) for one in shown]
    return [
        one.row(report, reach[one.measure], of_pair, link) for one, of_pair in zip(shown, near, strict=True)
    ]


def _in_short(report: Report, shown: Sequence[Answer]) -> Iterator[str]:
    """Yield what the answers are in short; before it, whether nothing can be concluded."""
    judged = [one.result.judged for one in shown]
    games = [report.values[cell.arm, cell.seed] for cell in report.cells]
    arms = {*report.arms} - {report.baseline, NULL}
    if is_one_game := len(games) > 1 and all(one == games[0] for one in games):
        yield (
            f"Nothing can be concluded: all {len(games)} runs are one run. Each measure is the same in all "
            "of them, whatever the arm and the seed, so more seeds tell nothing."
        )
    elif arms and all(is_same(report, arm) for arm in arms):
        yield "No run differs from the baseline's of the same seed: what was changed had no effect."
    if judged and not is_one_game and all(one.difference.mean.n < one.fewest for one in judged):
        most = max(one.difference.mean.n for one in judged)
        fewest = min(one.fewest for one in judged)
        yield f"Nothing can be concluded from {counted(most, 'pair')}: the test needs {fewest} or more."
    claims = [one.result.verdict() for one in shown if isinstance(one.result, Tested)]
    compared = [one.result.verdict() for one in shown if isinstance(one.result, Compared)]
    kinds = ("claim", claims), ("other comparison" if claims else "comparison", compared)
    if shown:
        yield " ".join(_tally(kind, verdicts) for kind, verdicts in kinds if verdicts)
    if report.plan is None:
        yield "No plan was kept before the first run, so what stands here is exploratory and no conclusion."


def _tally(kind: str, verdicts: Sequence[str]) -> str:
    """Return how many verdicts on a kind of question there are, or in words what the only one says."""
    if kind == "claim" and len(verdicts) == 1:
        return f"The claim is {ONE_CLAIM.get(verdicts[0], verdicts[0])}."
    counts = ((verdicts.count(verdict), verdict) for verdict in (*SIGNS_OF_VERDICTS, "exploratory"))
    told = ", ".join(
        f"{n} {verdict}{' what matters' * verdict.endswith('than')}" for n, verdict in counts if n
    )
    return f"{counted(len(verdicts), kind)}: {told.removeprefix('1 ') if len(verdicts) == 1 else told}."


def exploratory(report: Report) -> Iterator[Section]:
    """Yield what an experiment shows beside its plan, which is never a conclusion, if there is anything."""
    if report.plan and (rows := _rows(report, explored(report))):
        yield Section("Exploratory", (), ("comparison", *COLUMNS), rows)
