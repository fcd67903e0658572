"""A report as an appendix of a paper: Markdown, with its figures as SVG and PDF, its data and its plan."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from hobbes.engine.telling import counted
from hobbes.engine.worlds import world_named
from hobbes.lab.experiment.file import NULL, ExperimentFile
from hobbes.lab.experiment.report import Report
from hobbes.lab.experiment.statistics import ALPHA, CALIBRATED, MAX_EXACT, RANDOM_FLIPS
from hobbes.lab.experiment.wording import FEW_VALUES, RARE_EVENTS, cautions, explorations, short
from hobbes.lab.show.answers import (
    COLUMNS,
    answers,
    answers_about_invasions,
    asked_of,
    variant_name,
    what_was_changed,
)
from hobbes.lab.show.comparison_table import word_diff_text
from hobbes.lab.show.findings import Picture, Section, numbers, parts, rankings, with_unit
from hobbes.lab.show.reports import (
    charts_of_differences,
    escape_markdown,
    fence,
    table_in_markdown,
    title_of,
)
from hobbes.lab.store.home import Store
from hobbes.nodes.journal import PlayerKind
from hobbes.nodes.rng_name import without_rng

APPENDIX, FIGURES, PLAN = "appendix.md", "report.json", "plan.json"
"""The files beside the pictures: the text, all figures, and the frozen plan."""

STAND_IN = f"{PlayerKind.CHAT}:policy/"
"""How the players of the stand-in server begin."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A work by which something was computed: how the text names it, and where it was published."""

    name: str
    published: str


FISHER = Reference("Fisher, 1935", "Fisher, R. A. (1935). *The Design of Experiments*. Oliver and Boyd.")
PITMAN = Reference(
    "Pitman, 1937",
    "Pitman, E. J. G. (1937). Significance tests which may be applied to samples from any populations. "
    "*Supplement to the Journal of the Royal Statistical Society*, 4(1), 119-130.",
)
PHIPSON = Reference(
    "Phipson & Smyth, 2010",
    "Phipson, B., & Smyth, G. K. (2010). Permutation p-values should never be zero: calculating exact "
    "p-values when permutations are randomly drawn. *Statistical Applications in Genetics and Molecular "
    "Biology*, 9(1), Article 39.",
)
STUDENT = Reference(
    "Student, 1908", "Student (1908). The probable error of a mean. *Biometrika*, 6(1), 1-25."
)
JOHNSON = Reference(
    "Johnson, 1978",
    "Johnson, N. J. (1978). Modified t tests and confidence intervals for asymmetrical populations. *Journal "
    "of the American Statistical Association*, 73(363), 536-544.",
)
HOLM = Reference(
    "Holm, 1979",
    "Holm, S. (1979). A simple sequentially rejective multiple test procedure. *Scandinavian Journal of "
    "Statistics*, 6(2), 65-70.",
)
SCHUIRMANN = Reference(
    "Schuirmann, 1987",
    "Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach for "
    "assessing the equivalence of average bioavailability. *Journal of Pharmacokinetics and "
    "Biopharmaceutics*, 15(6), 657-680.",
)
LAN = Reference(
    "Lan & DeMets, 1983",
    "Lan, K. K. G., & DeMets, D. L. (1983). Discrete sequential boundaries for clinical trials. "
    "*Biometrika*, 70(3), 659-663.",
)
OBRIEN = Reference(
    "O'Brien & Fleming, 1979",
    "O'Brien, P. C., & Fleming, T. R. (1979). A multiple testing procedure for clinical trials. "
    "*Biometrics*, 35(3), 549-556.",
)
KAPLAN = Reference(
    "Kaplan & Meier, 1958",
    "Kaplan, E. L., & Meier, P. (1958). Nonparametric estimation from incomplete observations. *Journal of "
    "the American Statistical Association*, 53(282), 457-481.",
)
MANTEL = Reference(
    "Mantel, 1966",
    "Mantel, N. (1966). Evaluation of survival data and two new rank order statistics arising in its "
    "consideration. *Cancer Chemotherapy Reports*, 50(3), 163-170.",
)
EFRON = Reference(
    "Efron, 1979",
    "Efron, B. (1979). Bootstrap methods: another look at the jackknife. *The Annals of Statistics*, 7(1), "
    "1-26.",
)
HESTERBERG = Reference(
    "Hesterberg, 2015",
    "Hesterberg, T. C. (2015). What teachers should know about the bootstrap: resampling in the "
    "undergraduate statistics curriculum. *The American Statistician*, 69(4), 371-386.",
)
MORAN = Reference(
    "Moran, 1958",
    "Moran, P. A. P. (1958). Random processes in genetics. *Mathematical Proceedings of the Cambridge "
    "Philosophical Society*, 54(1), 60-71.",
)
CLOPPER = Reference(
    "Clopper & Pearson, 1934",
    "Clopper, C. J., & Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated in the "
    "case of the binomial. *Biometrika*, 26(4), 404-413.",
)
VIRTANEN = Reference(
    "Virtanen et al., 2020",
    "Virtanen, P., et al. (2020). SciPy 1.0: fundamental algorithms for scientific computing in Python. "
    "*Nature Methods*, 17, 261-272.",
)
HARRIS = Reference(
    "Harris et al., 2020",
    "Harris, C. R., et al. (2020). Array programming with NumPy. *Nature*, 585, 357-362.",
)
HUNTER = Reference(
    "Hunter, 2007",
    "Hunter, J. D. (2007). Matplotlib: a 2D graphics environment. *Computing in Science & Engineering*, "
    "9(3), 90-95.",
)


class Bibliography:
    """The works that a text has named."""

    def __init__(self) -> None:
        self._named: set[Reference] = set()

    def cite(self, *works: Reference) -> str:
        """Return the names of works in brackets."""
        self._named |= {*works}
        return f"({'; '.join(work.name for work in works)})"

    def listed(self) -> list[str]:
        """Return the works that have been named, by author."""
        return sorted(work.published for work in self._named)


def appendix(store: Store, report: Report) -> dict[str, bytes]:
    """Return the files of an appendix of a paper: their names and what is in them."""
    files = {FIGURES: json.dumps(report.to_json(), indent=2, ensure_ascii=False).encode()}
    if report.plan:
        # The very text whose hash is that of the plan.
        files[PLAN] = json.dumps(report.plan.kept.plan, ensure_ascii=False).encode()
    numbers_of_figures, captions = count(1), []
    for picture in _charts(report):
        if drawn := picture.pdf():
            number = next(numbers_of_figures)
            files |= {f"figure-{number}.svg": picture.svg().encode(), f"figure-{number}.pdf": drawn}
            captions.append(picture.label)
    return {APPENDIX: "\n".join(_lines(store, report, captions)).encode(), **files}


def _charts(report: Report) -> Iterator[Picture]:
    """Yield the charts of a report."""
    yield from charts_of_differences(report)
    yield from (picture for section in parts(report) for picture in section.pictures())


def _lines(store: Store, report: Report, captions: list[str]) -> Iterator[str]:
    """Yield the lines of the text."""
    file, works = asked_of(store, report), Bibliography()
    yield from (f"# {escape_markdown(file.question or title_of(report))}", "")
    yield from ("## Methods", "")
    for sentences in (_games(report, file), _plan(report, file)):
        yield from (escape_markdown(" ".join(sentences)), "")
    yield from (" ".join(_tests(report, works)), "")
    changes, _ = what_was_changed(store, report)
    yield from _table(1, f"What was changed. {' '.join(changes.texts)}", changes)
    yield from ("## Results", "")
    if told := list(cautions(report)):
        yield from (escape_markdown(" ".join(told)), "")
    yield from _table(
        2,
        "The answers: the mean difference of the pairs with its unit, the same as a share of the mean of the "
        "baseline, the 95% interval, the number of pairs, the verdict with p after correction, and the "
        "smallest difference that so many pairs of this spread find in 80% of experiments.",
        _answers(report),
    )
    yield from _table(3, "The means of each arm, with 95% intervals.", _arms(report))
    if report.rankings:
        ranking, *_ = rankings(report.rankings, world_named(report.world).score)
        yield from _table(4, " ".join(ranking.texts), ranking)
    yield from ("## Figures", "")
    for number, caption in enumerate(captions, start=1):
        label = f"Figure {number}. {escape_markdown(caption.rstrip('.'))}."
        yield from (f"![{label}](figure-{number}.svg)", "", f"*{label}* ([PDF](figure-{number}.pdf))", "")
    yield from (
        "## What this cannot say",
        "",
        *(f"- {escape_markdown(one)}" for one in _limits(report, file)),
        "",
    )
    yield from ("## Data, and how to run it again", "", *_data(report), "")
    yield from ("## References", "", *(f"- {one}" for one in works.listed()), "")


def _table(number: int, caption: str, section: Section) -> Iterator[str]:
    """Yield a table with its caption, and the word diffs below it."""
    yield from (f"*Table {number}. {escape_markdown(caption)}*", "")
    if section.columns:
        yield from table_in_markdown(section.columns, section.rows)
    for label, pieces in section.diffs:
        yield from (escape_markdown(label), "", *fence(word_diff_text(pieces).plain.rstrip()), "")


def _answers(report: Report) -> Section:
    """Return the table of answers, with how small a difference would have been found."""
    rows = [(*one.row(report), short(one.one.judged.detectable)) for one in answers(report)]
    rows += [(*row, "-") for row in answers_about_invasions(report)]
    return Section("", (), (*COLUMNS, "found in 80%"), rows)


def _arms(report: Report) -> Section:
    """Return the means of each arm."""
    rows = [
        (name, str(arm.runs), with_unit(report, measure), *numbers(mean))
        for name, arm in report.arms.items()
        for measure, mean in arm.measures.items()
    ]
    return Section("", (), ("arm", "runs", "measure", "n", "mean", "95% interval"), rows)


def _games(report: Report, file: ExperimentFile) -> Iterator[str]:
    """Yield what was played, and by whom."""
    world, made = world_named(report.world), report.manifest
    options = file.options(file.baseline)
    agents = options.agents or world.default_agents
    config = world.config.model_validate(options.settings)
    versions = ", ".join(sorted({str(one["rules_version"]) for one in made["recorded_by"]}))
    arms = [arm for arm in report.arms if arm != NULL]
    yield (
        f"The games are those of the world {report.world} (hobbes {made['hobbes']}, rules version "
        f"{versions}), with {counted(agents, 'agent')} and at most {counted(config.rounds, 'round')} unless "
        "Table 1 says otherwise."
    )
    yield f"The agents were played by {', '.join(_players(report, file))}."
    yield from _how_asked(report)
    prompts = (
        f"{variant_name(one['prompts'])} ({one['lang']}, SHA-256 {one['prompts_hash']})"
        for one in made["prompts"]
    )
    yield f"The prompts were {' and '.join(prompts)}."
    yield (
        f"The experiment has {counted(len(arms), 'arm')} ({', '.join(arms)}), each played with the same "
        f"{counted(len(file.seeds), 'seed')} ({_in_short(file.seeds)}); the baseline is {report.baseline}."
    )
    if NULL in report.arms:
        yield "A null arm repeats the baseline with answers of its own, to check the test."


def _how_asked(report: Report) -> Iterator[str]:
    """Yield with which settings chat models were asked, those of the null arm apart."""
    by_settings: dict[str, dict[str, None]] = {}
    for one in report.manifest["model_settings"]:
        for spec, settings in one["model_settings"].items():
            others = {name: value for name, value in settings.items() if name not in {"api", "model"}}
            told = ", ".join(f"{name} {value}" for name, value in others.items())
            by_settings.setdefault(told, {})[without_rng(spec)] = None
    for told, specs in by_settings.items():
        if told:
            yield f"Calls to {', '.join(specs)} had {told}."


def _in_short(seeds: Sequence[int]) -> str:
    """Return seeds in words: the first and the last if they are those from one to the other."""
    if len(seeds) > 1 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _tests(report: Report, works: Bibliography) -> Iterator[str]:
    """Yield how the figures were computed."""
    flips = f"all flips up to {MAX_EXACT} pairs, {RANDOM_FLIPS:,} random ones of more"
    yield (
        "A game is one value, and each arm is compared with the baseline seed by seed. The p-value is the "
        f"larger one of a permutation test that flips the signs of the differences ({flips}) "
        f"{works.cite(FISHER, PITMAN, PHIPSON)} and that at which the interval ends at 0. Intervals are "
        f"Student's {works.cite(STUDENT)}, made longer on the side of the longer tail {works.cite(JOHNSON)}. "
        f"{RARE_EVENTS}"
    )
    yield (
        "p-values are corrected by Holm's method, for the planned hypotheses among themselves and for all "
        f"planned comparisons of arms and measures {works.cite(HOLM)}, at a level of {ALPHA:g} each; "
        "intervals are not corrected."
    )
    if report.rules.margins:
        margins = ", ".join(f"{name} {short(of)}" for name, of in report.rules.margins.items())
        yield (
            f"A difference is called no larger than the margin ({escape_markdown(margins)}) by two one-sided "
            f"tests {works.cite(SCHUIRMANN)}. Pairs that are all equal do not show how far others may be "
            "off, so they are never called no larger than the margin."
        )
    if report.rules.looks:
        yield (
            f"The level of {ALPHA:g} is spent over the looks {works.cite(LAN)} like O'Brien and Fleming's "
            f"bounds {works.cite(OBRIEN)}."
        )
    yield (
        "Power was simulated with the same test, at the level of the strictest step of the correction: Table "
        "2 has the smallest difference that is found in 80% of experiments."
    )
    if report.findings.survival or report.findings.durations:
        yield (
            f"How long something lasts is shown as Kaplan-Meier curves {works.cite(KAPLAN)}; what had not "
            "happened by the end of a game is censored there."
        )
    if report.findings.survival:
        yield (
            "The bands of spells are from a bootstrap over games, widened for few games "
            f"{works.cite(EFRON, HESTERBERG)}."
        )
    if report.findings.durations:
        yield f"Times until an event are compared by a logrank test {works.cite(MANTEL)}."
    if report.invasions:
        yield (
            "Whether a newcomer takes over is computed in closed form for a Moran process with the mean "
            f"payoffs {works.cite(MORAN)}; where all seeds agree, its interval is that of a share "
            f"{works.cite(CLOPPER)}."
        )
    packages = report.manifest["packages"]
    yield (
        f"The figures were computed with Python {report.manifest['python']}, SciPy {packages['scipy']} "
        f"{works.cite(VIRTANEN)} and NumPy {packages['numpy']} {works.cite(HARRIS)}, and drawn with "
        f"Matplotlib {packages['matplotlib']} {works.cite(HUNTER)}."
    )


def _players(report: Report, file: ExperimentFile) -> list[str]:
    """Return the players of all arms but the null arm."""
    if report.plan is None:
        default = f"{PlayerKind.POLICY.value}:{world_named(report.world).policies.default}"
        mixes = [file.options(arm).model or default for arm in file.arms]
        return sorted({spec.partition("*")[0] for mix in mixes for spec in mix.split(",")})
    models = report.plan.kept.plan["models"]
    return sorted({spec for arm in file.arms for spec in models.get(arm, ())})


def _plan(report: Report, file: ExperimentFile) -> Iterator[str]:
    """Yield what the plan was."""
    if report.plan is None:
        yield "No plan was kept before the first game."
        return
    kept = report.plan.kept
    yield (
        f"Hypotheses, measures, directions, seeds and prompts were frozen before the first game, at "
        f"{kept.kept} (SHA-256 {kept.hash}, the file {PLAN})."
    )
    if file.looks:
        yield f"The experiment was to be judged after {', '.join(map(str, file.looks))} seeds."
    else:
        yield "All games were to be played, and then judged once."
    for one in file.hypotheses:
        yield f"Planned: {one.text.rstrip('.')} ({one.measure} {one.direction}; {one.test})."


def _limits(report: Report, file: ExperimentFile) -> Iterator[str]:
    """Yield what cannot be concluded."""
    ns = [one.difference.mean.n for one in report.differences] or [0]
    pairs = counted(ns[0], "pair") if len({*ns}) == 1 else f"{min(ns)} to {max(ns)} pairs"
    yield (
        f"Each comparison rests on {pairs} of games in one world with the settings above. Nothing is known "
        "about other settings, longer games or more agents."
    )
    sampled = any(one.judged.wordings for one in report.differences)
    yield from _limits_of_players(_players(report, file), sampled=sampled)
    told = [one.one.verdict() for one in answers(report)]
    if unknown := told.count("cannot tell"):
        yield (
            f"In {unknown} of {counted(len(told), 'answer')} the experiment cannot tell. That is no evidence "
            "that nothing differs: a difference smaller than that in the last column of Table 2 is missed "
            "in more than one experiment in five. Where the column has none, there are too few pairs to find "
            "any difference, or all pairs are equal."
        )
    if min(ns) < CALIBRATED:
        yield FEW_VALUES
    yield "Intervals are not corrected for the number of comparisons; shares of the baseline have none."
    if any(report.may_be_failures(one.one.judged) for one in answers(report)):
        yield "Where the verdict says so, a difference may be that of failed calls, not of what was changed."
    for one in explorations(report):
        yield f"Exploratory: {one.removeprefix('Exploratory: ')}"
    yield from (f"Left out: {one}" for one in report.left_out)


def _limits_of_players(players: list[str], *, sampled: bool) -> Iterator[str]:
    """Yield what cannot be concluded because of who has played."""
    others = tuple(kind.value for kind in PlayerKind if kind is not PlayerKind.CHAT)
    chat = [one for one in players if not one.startswith((STAND_IN, *others))]
    if any(one.startswith(STAND_IN) for one in players):
        yield (
            "Models of the stand-in server have played. They read the view and not the prompt, so a change "
            "of words cannot reach them."
        )
    if chat:
        wordings = "the wordings above" if sampled else "one wording of each prompt"
        yield (
            f"The language models ({', '.join(chat)}) were asked as they were at that time, with {wordings}. "
            "Other models, versions and wordings may play otherwise."
        )
    else:
        yield "No language model has played, so nothing here says how language models play."


def _data(report: Report) -> Iterator[str]:
    """Yield where the data are, and the commands that compute all of this again."""
    made, name = report.manifest, report.experiment
    yield (
        f"Played: {len(report.cells)} of {counted(report.planned, 'game')}. `{FIGURES}` has every figure, "
        f"and each run's name and digest. The SHA-256 of all digests is `{made['digests']}`, that of the "
        f"experiment file `{made['file']}`."
    )
    yield ""
    yield (
        "With the experiment file, these commands play the games that are missing, check that a recorded "
        "game follows from its answers, and write this appendix:"
    )
    yield ""
    run = report.cells[0].run if report.cells else f"{name}.{report.baseline}.1"
    yield from fence(
        f"hobbes experiment {name}.toml\nhobbes replay {run}\nhobbes report {name} --format paper --to {name}"
    )
