"""The report of an experiment: its figures, its words, and the pairs that it names."""

import json
import re
import shutil
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from hobbes.engine.mining.actions import KINDS
from hobbes.errors import HobbesError, MissingError, UsageError
from hobbes.experiment.report import report
from hobbes.show.documents import Picture
from hobbes.show.palette import COLOURS
from hobbes.show.report_text import html, report_document
from hobbes.store.home import open_store
from tests.conftest import Cli
from tests.small_experiment import FILE, play_all, written

SEEDS = 8

MEASURES = ["efficiency", "raid_rate", "share_claim"]

CURVES = ("Shares over time", "Inequality over time")

QUESTION = "Does it matter how long a claim cannot be raided?"

EIGHT = FILE.replace("seeds = 3", f'seeds = {SEEDS}\nquestion = "{QUESTION}"').replace(
    'baseline = "open"', f'baseline = "open"\nmeasures = {json.dumps(MEASURES)}'
)

HYPOTHESES = [
    {"text": "Immunity lowers raids", "measure": "raid_rate", "arm": "immune", "direction": "lower"},
    {"text": "Immunity lowers output.", "measure": "output", "arm": "immune", "direction": "lower"},
    {
        "text": "Claims go up",
        "measure": "share_claim",
        "arm": "open",
        "direction": "higher",
        "test": "halves",
    },
    {"text": "There are raids", "measure": "raid_rate", "arm": "open", "direction": "higher", "test": "zero"},
]
EIGHT += "".join(
    "\n[[hypothesis]]\n" + "\n".join(f"{key} = {json.dumps(value)}" for key, value in one.items())
    for one in HYPOTHESES
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a played experiment of eight seeds; no test changes it."""
    folder = tmp_path_factory.mktemp("experiment")
    with open_store(folder / "home") as store:
        play_all(store, written(folder, EIGHT))
    return folder / "home"


def told(cli: Cli, *arguments: str) -> Any:
    result = cli(*arguments, "--json")
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def test_a_report_has_these_keys(cli: Cli) -> None:
    found = told(cli, "report", "small")
    keys = (
        "experiment plan from arms differences detectable failures cells hypotheses"
        " rankings over_time ratings payoffs"
    )
    assert " ".join(found) == keys
    assert list(found["arms"]["open"]) == ["runs", "tainted", "measures"]
    assert list(found["arms"]["open"]["measures"]["raid_rate"]) == [*("n", "mean", "low", "high")]
    tested = (
        "n mean low high p p_holm effect spread detectable margin p_margin p_margin_holm wordings "
        "without_failures"
    )
    compared = f"{tested} verdict exploratory"
    assert " ".join(found["differences"][0]) == f"arm baseline measure {compared}"
    assert list(found["cells"][0]) == ["arm", "seed", "run", "digest", "tainted"]
    assert found["cells"][0]["run"] == "small.open.1"
    assert len(found["cells"]) == 3 * SEEDS
    keys = f"text measure arm direction test against share factors verdict {tested}"
    assert " ".join(found["hypotheses"][0]) == keys


def test_a_report_in_words_says_its_rules_and_names_a_pair_to_compare(cli: Cli) -> None:
    text = cli("report", "small", "--format", "md").stdout
    assert text.startswith("# small, an experiment in mining\n")
    assert "Holm's method" in text
    (line,) = [line for line in text.splitlines() if line.startswith("Where the pair nearest the mean")]
    command = line.partition("): ")[2].split()
    assert command[:2] == ["hobbes", "compare"]
    assert told(cli, "compare", *command[2:4])["world"] == "mining"


TOP = ["Answers", "What was changed", "What was measured"]


def test_a_report_reads_from_the_top_in_the_same_order_everywhere(cli: Cli, home: Path) -> None:
    printed = cli("report", "small").stdout
    marked_down = cli("report", "small", "--format", "md").stdout
    page = unescape(cli("report", "small", "--format", "html").stdout)
    assert re.findall(r"^## (.*)$", marked_down, re.MULTILINE) == [*TOP, "Methods"]
    methods = re.findall(r"^### (.*)$", marked_down, re.MULTILINE)
    assert methods[:2] == ["What was asked", "Differences from open"]
    assert re.findall(r"<h2[^>]*>([^<]*)</h2>", page.partition("<dialog")[0]) == [*TOP, "Methods"]
    assert re.findall(r"<h3>([^<]*)</h3>", page) == methods
    assert page.count("<details ") == 1, "all methods are in one fold"
    titles = [*TOP, "Methods", *methods]
    places = [printed.index(f"\n{title}\n") for title in titles]
    assert places == sorted(places)
    for text in (printed, marked_down, page):
        assert text.index("4 claims: ") < text.index(QUESTION) < text.index("Immunity lowers raids")
        assert "Hypothesis: Immunity lowers raids (raid_rate, " in text
    for row in rows_of_answers(home):
        of_picture = [f"`{cell.characters}`" if isinstance(cell, Picture) else cell for cell in row[:-1]]
        assert f"| {' | '.join(map(str, of_picture))} | {row[-1].words} |" in marked_down
        cells = [rf"<td[^>]*>{re.escape(cell)}</td>" for cell in (row[0], row[1])]
        found = re.search(r"\s*".join(cells), page)
        assert found
        assert page[found.end() :].lstrip().startswith('<td data-label="around 0"><svg ')


def rows_of_answers(home: Path) -> Sequence[Sequence[Any]]:
    """Return the rows with which the report begins."""
    with open_store(home) as store:
        return report_document(store, report(store, "small")).first[0].rows


def test_each_figure_of_the_answers_is_that_of_the_json(cli: Cli, home: Path) -> None:
    check_answers(rows_of_answers(home), told(cli, "report", "small"))


def check_answers(rows: Sequence[Sequence[Any]], found: Any) -> None:
    """Check the rows of a table of answers against the JSON of the report."""
    tested = found["hypotheses"]
    covered = {(one["arm"], one["measure"]) for one in tested if one["test"] == "baseline"}
    others = [
        one
        for one in found["differences"]
        if one["arm"] != "null" and (one["arm"], one["measure"]) not in covered
    ]
    assert len(rows) == len(tested) + len(others)
    for row, one in zip(rows, [*tested, *others], strict=True):
        claim, figures, _, verdict, _ = row
        measure, mean = one["measure"], f"{one['mean']:.3g}"
        assert claim == one.get("text", f"{measure}, “{one['arm']}” minus “open”").rstrip(".")
        unit = {"raid_rate": " raids per agent and round", "output": " gold"}.get(measure, "")
        interval = "" if one["low"] is None else f" ({one['low']:.3g} to {one['high']:.3g})"
        told_of = f"{measure} " if "text" in one else ""
        difference, *share, pairs = figures.split("; ")
        assert difference == f"{told_of}{mean}{interval}{unit}"
        assert pairs == f"{one['n']} pairs"
        assert verdict[2:].startswith(one["verdict"])
        assert f"p {one['p_holm']:.3g}" in verdict
        baseline = found["arms"]["open"]["measures"].get(measure)
        if one.get("test", "baseline") == "baseline" and baseline:
            assert share == [f"{one['mean'] / baseline['mean']:+.0%}"]


PROMPTS = """
name = "words"
world = "mining"
rounds = 1
agents = 2
seeds = 1
model = "policy:guided"
set = { rows = 2, cols = 2 }

[arms.advised]

[arms.plain]
prompts = "unguided"

[compare]
null = false
"""


def test_prompts_that_differ_are_shown_word_by_word(cli: Cli, tmp_path: Path) -> None:
    with open_store(tmp_path / "words") as store:
        play_all(store, written(tmp_path, PROMPTS))
    printed, marked_down, page = (
        cli("report", "words", *options, "--home", str(tmp_path / "words")).stdout
        for options in ((), ("--format", "md"), ("--format", "html"))
    )
    for text in (printed, marked_down):
        assert "The prompts of “plain”, beside those of “advised”:" in text
        assert "[-# Advice" in text
        assert text.index("Answers") < text.index("[-# Advice") < text.index("Methods")
    assert "<del># Advice" in page
    assert "[-# Advice" not in page, "colour and elements say it"
    assert page.index("Answers</h2>") < page.index("<del>") < page.index("Methods</h2>")


def test_an_arm_has_one_colour_in_all_charts_and_measures_have_a_panel_each(home: Path) -> None:
    with open_store(home) as store:
        document = report_document(store, report(store, "small"))
    pictures = {one.title: one.pictures for one in (*document.first, *document.methods)}
    colours = dict(zip(("open", "immune", "null"), COLOURS, strict=False))
    shares = pictures["Shares over time"][0].svg()
    assert re.findall(r'y="15">(share_\w+)</text>', shares) == [f"share_{kind}" for kind in KINDS]
    for panel in shares.split("<g ")[1:]:
        assert re.findall(r'<polyline [^>]*stroke="(.*?)"', panel) == [*colours.values()]
    for measure, picture in zip(MEASURES, pictures["What was measured"], strict=True):
        rows = re.split(r'<text [^>]*text-anchor="end"[^>]*>', picture.svg())[1:]
        assert [row.partition("<")[0] for row in rows] == ["immune", "null"]
        for name, row in zip(("immune", "null"), rows, strict=True):
            assert {*re.findall(r'<circle [^>]*fill="(.*?)"', row)} == {colours[name]}
        assert f">difference in {measure}" in rows[-1]
    words = " ".join(re.findall(r"<text [^>]*>(.*?)</text>", pictures["What was measured"][-1].svg()))
    assert "Stamina spent on actions of the kind claim / stamina spent." in words


def test_the_pair_to_look_at_is_the_nearest_to_the_mean_difference(home: Path) -> None:
    with open_store(home) as store:
        for one in report(store, "small").differences:
            off = {seed: abs(value - (one.difference.mean.mean or 0)) for seed, value in one.pairs.items()}
            near = one.judged.nearest()
            assert near is not None
            assert off[near] == min(off.values())


def test_a_page_has_its_charts_inside_and_loads_nothing(cli: Cli, tmp_path: Path) -> None:
    to = tmp_path / "report.html"
    assert cli("report", "small", "--format", "html", "--to", str(to)).exit_code == 0
    page = to.read_text(encoding="utf-8")
    rows = page.count('data-label="around 0"')
    assert page.count("<svg ") == len(MEASURES) + len(CURVES) + rows
    assert "src=" not in page
    assert page.count('<span class="wide" tabindex="0"><svg ') == len(MEASURES) + len(CURVES)
    assert page.count('<div class="wide" tabindex="0"><table>') == page.count("<table>")
    assert "<script" not in page


def test_a_report_plays_no_run_again(home: Path, tmp_path: Path) -> None:
    """Scripted policies left no turns. Its figures and pictures need none."""
    shutil.copytree(home, tmp_path / "home")
    with open_store(tmp_path / "home") as store:
        for table in ("turns", "calls", "measures"):
            store.db.execute(f"delete from {table}")  # noqa: S608  our own
        store.connection.commit()
        document = report_document(store, report(store, "small"))
        assert ["immune", "immunity", "1", "3"] in [[*row] for row in document.first[1].rows]
        html(document, ())
        assert next(store.db.execute("select count(*) from turns")) == (0,)


def test_markdown_in_a_file_has_its_pictures_beside_it(cli: Cli, tmp_path: Path) -> None:
    to = tmp_path / "found.md"
    assert cli("report", "small", "--format", "md", "--to", str(to)).exit_code == 0
    text = to.read_text(encoding="utf-8")
    assert r"\`" not in text, "no sentence of ours has signs of Markdown, which are escaped"
    linked = re.findall(r"^!\[(.*)\]\((.*)\)$", text, flags=re.MULTILINE)
    assert [name for _, name in linked] == [f"found-{n}.svg" for n in range(1, len(linked) + 1)]
    for label in (*MEASURES, *CURVES):
        assert any(told.startswith(label) for told, _ in linked)
    for _, name in linked:
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(("<?xml", "<svg "))
    assert "![" not in cli("report", "small", "--format", "md").stdout


def test_figures_that_a_kill_has_lost_are_worked_out_again(cli: Cli, home: Path) -> None:
    def printed() -> list[str]:
        return [cli("report", "small", *form).stdout for form in (["--format", "html"], ["--json"])]

    before = printed()
    with open_store(home) as store, store.connection as connection:
        connection.execute("delete from reported")
    assert printed() == before


def test_formats_that_do_not_fit_are_refused(cli: Cli, tmp_path: Path) -> None:
    for options in (("--json", "--format", "md"), ("--to", "report.md")):
        assert isinstance(cli("report", "small", *options).exception, UsageError)
    nowhere = str(tmp_path / "none" / "report.md")
    assert isinstance(cli("report", "small", "--format", "md", "--to", nowhere).exception, HobbesError)
    assert isinstance(cli("report", "big").exception, MissingError)
