"""What a report begins with: what was asked, what was changed, and one table of answers."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import fsum
from pathlib import Path
from typing import TypeAlias

from hobbes.engine.telling import counted
from hobbes.errors import HobbesError
from hobbes.experiment.arm_comparison import Compared, Tested
from hobbes.experiment.experiment_file import NULL, ExperimentFile, parts_of
from hobbes.experiment.report import Report, measures_of, stored_file
from hobbes.experiment.sentences import cautions, compares, short, verdict_in_words
from hobbes.experiment.statistics import means_of
from hobbes.nodes.prompting import is_path, system_text
from hobbes.prove.run_comparison import settings_that_differ
from hobbes.prove.word_diff import CHANGE, word_diff
from hobbes.show.both_runs import settings_by_field
from hobbes.show.curves import definition_of, interval, unit_of
from hobbes.show.documents import Section
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run

MAX_ROWS = 20
"""How many rows the tables before the details have at most. Of more, the details have all."""

MAX_DIFFS = 3
"""How many word diffs of prompts are shown."""

MAX_DIFF_LINES = 12
"""How many lines a word diff of prompts has at most."""

Pieces: TypeAlias = list[tuple[CHANGE, str]]


def _asked_of(store: Store, report: Report) -> ExperimentFile:
    """Return the file with what was asked: that of the frozen plan, or the stored one if none was kept."""
    return report.plan.file if report.plan else stored_file(store, report.experiment)


def what_was_asked(store: Store, report: Report) -> Section:
    """Return what was asked: the question, the hypotheses, the plan, and what the measures are."""
    file = _asked_of(store, report)
    measures = list(dict.fromkeys([*measures_of(file), *(one.measure for one in file.hypotheses)]))
    return Section(
        "What was asked",
        list(_question_in_words(report, file)),
        ("measure", "unit", "what it is"),
        [(one, unit_of(report, one) or "-", definition_of(report, one)) for one in measures],
    )


def _question_in_words(report: Report, file: ExperimentFile) -> Iterator[str]:
    if file.question:
        yield file.question
    for one in report.hypotheses:
        if not one.exploratory:
            about = f"{one.hypothesis.measure}, {compares(report, one)}, is {one.hypothesis.direction}"
            yield f"Hypothesis: {one.hypothesis.text.rstrip('.')} ({about})."
    if not file.question and not file.hypotheses:
        yield f"The file names no question and no hypothesis. Each arm is compared with {file.baseline}."
    if report.plan is None:
        yield "No plan was kept before the first game."
        return
    changes = report.plan.changes
    since = f"Since then: {'; '.join(changes)}" if changes else "Nothing in it has changed since"
    kept = report.plan.kept
    yield f"The plan was frozen at {kept.kept}, with the hash {kept.hash[:12]}. {since}."


@dataclass(frozen=True, slots=True)
class Changed:
    """How an arm differs from the baseline: its settings with both values, and its prompts."""

    arm: str
    settings: Sequence[tuple[str, str, str]]
    prompts: Pieces
    """The lines of the prompts that differ, word by word; empty if none do, or if nobody reads them."""


def what_was_changed(store: Store, report: Report) -> tuple[Section, list[Section]]:
    """Return what was changed, and the parts of it that are left to the details."""
    arms = list(_changes(store, report))
    rows = [(one.arm, *row) for one in arms for row in one.settings]
    columns = ("arm", "setting", f"in {report.baseline}", "in the arm")
    words, diffs = list(_besides_changes(report, arms)), list(_diffs(report, arms))[:MAX_DIFFS]
    return _beginning(Section("What was changed", words, columns, rows, diffs=diffs))


def _beginning(whole: Section) -> tuple[Section, list[Section]]:
    """Return a section with the first rows of its table, and if it has more, one for the details with all."""
    shown = whole.rows[:MAX_ROWS]
    columns = whole.columns if shown else ()
    if len(shown) == len(whole.rows):
        return replace(whole, columns=columns), []
    more = f"These are the first {MAX_ROWS} of {len(whole.rows)} rows; the details have all."
    first = replace(whole, texts=[*whole.texts, more], rows=shown)
    return first, [Section(f"{whole.title}: all rows", (), columns, whole.rows)]


def _besides_changes(report: Report, arms: Sequence[Changed]) -> Iterator[str]:
    """Yield what has to be said beside the table of settings."""
    seeds = len({cell.seed for cell in report.cells})
    yield (
        f"All arms are played with the same {counted(seeds, 'seed')}, and with the settings of "
        f"{report.baseline} but for these."
        if seeds != 1
        else f"All arms are played with one seed, and with the settings of {report.baseline} but for these."
    )
    equal = [one.arm for one in arms if not one.settings and not one.prompts]
    if equal:
        yield f"Nothing that players can tell was changed in {_some(equal)}."
    known = {report.baseline, NULL, *(one.arm for one in arms)}
    if waiting := [arm for arm in report.arms if arm not in known]:
        yield f"There is no pair of runs of {_some(waiting)} that can be read."
    if sampled := [arm for arm, shown in report.shown.items() if shown != arm]:
        yield f"Of the wordings of {_some(sampled)}, the first one is shown here."
    if NULL in report.arms:
        yield f"null is {report.baseline}, played a second time with answers of its own: it checks the test."


def _some(names: Sequence[str]) -> str:
    """Return names, or if they are many the first ones and how many more there are."""
    more = f" and {len(names) - MAX_DIFFS} more" if len(names) > MAX_DIFFS else ""
    return f"{', '.join(names[:MAX_DIFFS])}{more}"


def _changes(store: Store, report: Report) -> Iterator[Changed]:
    """Yield how each arm differs from the baseline, from the first pair of runs that has been played."""
    runs: dict[str, dict[int, str]] = {}
    for cell in report.cells:
        runs.setdefault(cell.arm, {})[cell.seed] = cell.id
    of_baseline = runs.get(report.shown[report.baseline], {})
    for arm in report.arms:
        seed = next((seed for seed in runs.get(report.shown[arm], {}) if seed in of_baseline), None)
        if arm not in {report.baseline, NULL} and seed is not None:
            try:
                a, b = (store.runs.find(of[seed]) for of in (of_baseline, runs[report.shown[arm]]))
            except HobbesError:  # another version of hobbes has recorded it
                continue
            differing = settings_that_differ(a, b)
            differing.pop("prompt_texts", None)  # the word diff shows them
            if "prompts" in differing:
                differing["prompts"] = [_variant_name(variant) for variant in differing["prompts"]]
            settings = [
                (name, _told(one), _told(other)) for name, (one, other) in settings_by_field(differing)
            ]
            yield Changed(arm, settings, _prompts(a, b))


def _told(value: object) -> str:
    """Return a value of a setting as an experiment file has it, such as `false`; a text without quotes."""
    return (
        value if isinstance(value, str) else "-" if value is None else json.dumps(value, ensure_ascii=False)
    )


def _variant_name(variant: str) -> str:
    """Return what a variant of prompts is called: a folder without the path to it."""
    return Path(variant).name if is_path(variant) else variant


def _prompts(a: Run, b: Run) -> Pieces:
    """Return the lines of the prompts of two runs that differ, as players read them, without the views."""
    texts = [(run.prompts.system, run.prompts.turn) for run in (a, b)]
    if texts[0] == texts[1] and not any(_reads_prompts(run) for run in (a, b)):
        return []
    return word_diff(*(f"{system_text(run.prompts, run.setting)}\n\n{run.prompts.turn}" for run in (a, b)))


def _reads_prompts(run: Run) -> bool:
    """Return whether a player of a run is no scripted policy."""
    return any(not spec.startswith("policy:") for spec in run.models.values())


def _diffs(report: Report, arms: Sequence[Changed]) -> Iterator[tuple[str, Pieces]]:
    """Yield each word diff of prompts with the arms that have it."""
    by_text: dict[tuple[tuple[CHANGE, str], ...], list[str]] = {}
    for one in arms:
        if one.prompts:
            by_text.setdefault(tuple(one.prompts), []).append(one.arm)
    for pieces, names in by_text.items():
        yield f"The prompts of {_some(names)}, from those of {report.baseline}:", _shorten(pieces)


def _shorten(pieces: Sequence[tuple[CHANGE, str]]) -> Pieces:
    """Return the beginning of a word diff."""
    shown: Pieces = []
    left = MAX_DIFF_LINES
    for change, piece in pieces:
        kept = "".join(piece.splitlines(keepends=True)[:left])
        shown.append((change, kept))
        left -= kept.count("\n")
        if len(kept) < len(piece) or left <= 0:
            shown.append((" ", " … (`hobbes compare` shows all)"))
            break
    return shown


@dataclass(frozen=True, slots=True)
class Answer:
    """A row of the table of answers."""

    claim: str
    one: Compared | Tested
    share: float | None
    """The difference as a share of the mean of what it is compared with; None if that may be 0 or below."""

    def row(self, report: Report) -> tuple[str, ...]:
        """Return its cells."""
        mean, unit = self.one.difference.mean, unit_of(report, measure_of(self.one))
        figure = short(mean.mean) + (f" {unit}" if unit and mean.mean is not None else "")
        share = "-" if self.share is None else f"{self.share:+.0%}"
        return self.claim, figure, share, interval(mean), str(mean.n), verdict_in_words(report, self.one)


def measure_of(one: Compared | Tested) -> str:
    """Return the measure of a comparison."""
    return one.measure if isinstance(one, Compared) else one.hypothesis.measure


COLUMNS = ("claim", "difference", "of the baseline", "95% interval", "n", "verdict")
"""The columns of the table of answers."""


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
    if isinstance(one, Tested):
        return Answer(one.hypothesis.text.rstrip("."), one, _share_of_tested(report, one))
    claim = f"{one.measure}, {one.arm} minus {report.baseline}"
    return Answer(claim, one, _share(report, one, report.baseline))


def _share_of_tested(report: Report, one: Tested) -> float | None:
    """Return the difference of a hypothesis as a share of the arm with which it compares another one."""
    if one.hypothesis.test != "baseline":
        return None
    return _share(report, one, one.hypothesis.against or report.baseline)


def _share(report: Report, one: Compared | Tested, arm: str) -> float | None:
    """Return a difference as a share of an arm's mean over the same seeds.

    It is None unless the interval of that mean lies above 0; without an interval, the mean itself.
    """
    place, by_seed = ("run", measure_of(one)), dict[int, list[float]]()
    for (name, seed), measures in report.values.items():
        if parts_of(name)[0] == arm and seed in one.judged.sample.pairs:
            if (value := measures.get(place)) is None:
                return None
            by_seed.setdefault(seed, []).append(value)
    (of_arm,) = means_of([[fsum(of) / len(of) for of in by_seed.values()]])
    least = of_arm.mean if of_arm.low is None else of_arm.low
    mean = one.difference.mean.mean
    return mean / of_arm.mean if mean is not None and of_arm.mean and least and least > 0 else None


def table_of_answers(report: Report) -> tuple[Section, list[Section]]:
    """Return the table of answers, and the part of it that is left to the details."""
    rows = [one.row(report) for one in answers(report)]
    words = list(cautions(report))
    if others := explored(report):
        words.append(
            f"Not in the plan: {len(others)} comparisons, which are under Exploratory in the details."
        )
    return _beginning(Section("Answers", words, COLUMNS, rows))


def exploratory(report: Report) -> Iterator[Section]:
    """Yield what the experiment shows beside its plan, which is never a conclusion, if there is anything."""
    words = []
    if report.plan is None:
        words.append("No plan was kept before the first game, so nothing here was planned for certain.")
    elif report.plan.changes:
        words.append(f"Since the plan was frozen: {'; '.join(report.plan.changes)}.")
    rows = [one.row(report) for one in explored(report)]
    if words or rows:
        yield Section("Exploratory", words, COLUMNS if rows else (), rows)
