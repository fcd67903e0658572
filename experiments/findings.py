"""Play the ready-made experiments and write their figures into docs/findings.md.

    python -m experiments.findings                      # play what is missing, then write: an hour or more
    python -m experiments.findings --only trust-noise   # one experiment, and what the page says about it
    python -m experiments.findings --no-play            # only write, from what has been played

Each experiment has a home of its own in `findings-home/`, so that it can be thrown away by itself. The words
of the page are written by hand. Between `<!-- BLOCK EXPERIMENT -->` and `<!-- end -->` stands what this
script writes, all of it from `hobbes report EXPERIMENT --json`.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "findings.md"
PICTURES = ROOT / "docs" / "pictures"

BLOCK = re.compile(r"(<!-- (?P<block>[\w-]+) (?P<experiment>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

NEAR = 0.05
"""A Gini coefficient of gold up to this is near that of equal shares, which is 0."""

Report: TypeAlias = Mapping[str, Any]
"""What `hobbes report EXPERIMENT --json` prints."""


def main() -> None:
    """Play and write what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.findings", description=__doc__.split("\n")[0]
    )
    parser.add_argument(
        "--only", nargs="+", metavar="EXPERIMENT", help="the experiments; by default all of the page"
    )
    parser.add_argument("--no-play", action="store_true", help="write only what has been played")
    parser.add_argument("--jobs", help="how many processes play, as in hobbes experiment")
    parser.add_argument("--home", type=Path, default=Path("findings-home"), help="a folder for the homes")
    asked = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    on_page = dict.fromkeys(found["experiment"] for found in BLOCK.finditer(text))
    for experiment in asked.only or on_page:
        home = asked.home / experiment
        if not asked.no_play:
            jobs = ["--jobs", asked.jobs] if asked.jobs else []
            _hobbes(home, "experiment", str(ROOT / "experiments" / f"{experiment}.toml"), "--yes", *jobs)
        if home.is_dir():
            report = json.loads(_hobbes(home, "report", experiment, "--json"))
            text = filled(text, experiment, report)
            if experiment == "mining-noise":
                draw_levels(report, PICTURES / "findings-noise.svg")
            if experiment == "trust-noise":
                draw_doses(report, "miss", ("cooperation", "gain"), PICTURES / "findings-misses.svg")
    PAGE.write_text(text, encoding="utf-8")


def _hobbes(home: Path, *arguments: str) -> str:
    """Return what a command prints. Its progress goes to the terminal."""
    command = [sys.executable, "-m", "hobbes", *arguments, "--home", str(home)]
    done = subprocess.run(  # noqa: S603  our own command
        command, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"`hobbes {' '.join(arguments)}` failed; the page is as it was")
    return done.stdout


def filled(text: str, experiment: str, report: Report) -> str:
    """Return the page with the blocks of an experiment written anew."""

    def block(found: re.Match[str]) -> str:
        if found["experiment"] != experiment:
            return found[0]
        written = "\n".join(BLOCKS[found["block"]](report)).rstrip()
        return f"{found[1]}\n{written}\n\n{found[4]}"

    return BLOCK.sub(block, text)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield from (f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows))


def figure(value: float | None) -> str:
    """Return a figure with at least three digits, a hyphen if it is undefined."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"  # noqa: PLR2004  no 5.32e+03


def mean(one: Mapping[str, Any]) -> str:
    """Return a mean with its 95% interval."""
    if one["low"] is None:
        return figure(one["mean"])
    return f"{figure(one['mean'])} ({figure(one['low'])} to {figure(one['high'])})"


def played(report: Report) -> Iterator[str]:
    """Yield how many runs there are, with which version."""
    versions = ", ".join(
        f"hobbes {one['hobbes']} with version {one['rules_version']} of the rules"
        for one in report["manifest"]["recorded_by"]
    )
    file = f"experiments/{report['experiment']}.toml"
    yield f"From [{file}](../{file}): {len(report['cells']):,} runs, played with {versions}."


def hypotheses(report: Report) -> Iterator[str]:
    """Yield the table of the hypotheses."""
    against = {"baseline": "minus baseline", "halves": "2nd half minus 1st", "zero": "compared with 0"}
    against |= {"trend": "trend", "interaction": "interaction"}
    yield from table(
        ("hypothesis", "verdict", "measure", "arm", "figure (95% interval)", "p (Holm)"),
        [
            (
                one["text"].rstrip("."),
                f"**{one['verdict']}**",
                f"`{one['measure']}`, {against[one['test']]}",
                f"`{one['arm'] or 'all'}`",
                mean(one),
                figure(one["p_holm"]),
            )
            for one in report["hypotheses"]
        ],
    )


def arms(report: Report) -> Iterator[str]:
    """Yield the table of the arms with their measures."""
    measures = list(next(iter(report["arms"].values()))["measures"])
    yield from table(
        ("arm", *(f"`{measure}`" for measure in measures)),
        [
            (f"`{name}`", *(mean(arm["measures"][measure]) for measure in measures))
            for name, arm in report["arms"].items()
        ],
    )


LEVELS = (("turnover", -1), ("raid_rate", -1), ("efficiency", 1))
"""What changes from the first half to the second where property becomes stable, and in which direction."""


def levels(report: Report) -> Iterator[str]:
    """Yield at which levels of each factor property becomes stable, then the table of the levels."""
    halves = {(one["arm"], one["measure"]): one for one in report["halves"]}
    rows = []
    for factor in ("noise", "tremble"):
        stable = []
        for level, arm in _levels(report, factor):
            gini = report["arms"][arm]["measures"]["gold_gini"]
            lacking = [name for name, sign in LEVELS if not _moves(halves[arm, name], sign)]
            lacking += [] if gini["mean"] <= NEAR else ["gold_gini"]
            quiet = report["arms"][arm]["measures"]["raid_rate"]["mean"] == 0
            if quiet:
                lacking = [name for name in lacking if name not in {"turnover", "raid_rate"}]
            stable += [] if lacking else [level]
            verdict = (
                f"no: {', '.join(lacking)}" if lacking else "yes, nobody ever raided" if quiet else "yes"
            )
            figures = (mean(halves[arm, name]) for name, _ in LEVELS)
            rows.append((factor, f"{level:g}", *figures, mean(gini), verdict))
        found = f"at {', '.join(f'{level:g}' for level in stable)}" if stable else "at no level"
        yield f"With `{factor}`, property becomes stable {found}."
        yield ""
    names = (f"`{name}`, 2nd half minus 1st" for name, _ in LEVELS)
    yield from table(("factor", "level", *names, "`gold_gini`", "stable"), rows)


def _levels(report: Report, factor: str) -> list[tuple[float, str]]:
    """Return the levels of a factor with their arms; the baseline has level 0."""
    named = [arm for arm in report["arms"] if arm.startswith(f"{factor}=")]
    return [(0.0, "baseline"), *((float(arm.partition("=")[2]), arm) for arm in named)]


def _moves(one: Mapping[str, Any], sign: int) -> bool:
    """Return whether a whole interval is on one side of 0."""
    return one["low"] is not None and min(sign * one["low"], sign * one["high"]) > 0


def invasions(report: Report) -> Iterator[str]:
    """Yield what came of each invasion, with its payoffs."""
    for one in report["invasions"]:
        into, back = one["of_mutant"], one["of_resident"]
        yield (
            f"`{one['mutant']}` among `{one['resident']}`: a single mutant takes over with probability "
            f"{_probability(into)}, and a single resident among mutants with probability "
            f"{_probability(back)}. Without any advantage, either probability would be "
            f"{figure(one['neutral'])}. If mutations are rare, the whole population consists of mutants "
            f"{one['mutants_in_the_long_run']:.1%} of the time."
        )
        yield ""
        yield from table(
            ("mutants", "score of a resident", "score of a mutant"),
            [(str(p["mutants"]), _score(p["resident"]), _score(p["mutant"])) for p in one["payoffs"]],
        )
        yield ""


def _probability(one: Mapping[str, float]) -> str:
    return f"{figure(one['probability'])} ({figure(one['low'])} to {figure(one['high'])})"


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def tournament(report: Report) -> Iterator[str]:
    """Yield the share of wins of each strategy, and its scores, against each one; the best score first."""
    wins = {one["player"]: one["mean"] for one in report["rankings"]["wins"]}
    places = report["rankings"]["score"]
    yield from table(
        ("strategy", "wins", "mean", *(_strategy(one["player"]) for one in places)),
        [
            (
                _strategy(row["player"]),
                f"{wins[row['player']]:.0%}",
                f"**{row['mean']:.0f}**",
                *(f"{row['against'][column['player']]:.0f}" for column in places),
            )
            for row in places
        ],
    )


def duels(report: Report) -> Iterator[str]:
    """Yield a row for each opponent, and in each column its score after that of one of the strategies."""
    scores = {(one, two): (mine, theirs) for (one, mine), (two, theirs) in _pairs(report)}
    ours, opponents = (list(dict.fromkeys(pair[side] for pair in scores)) for side in (0, 1))
    yield from table(
        ("opponent", *ours),
        [
            (opponent, *("{:.0f} : {:.0f}".format(*scores[one, opponent]) for one in ours))
            for opponent in opponents
        ],
    )


def _pairs(report: Report) -> Iterator[list[tuple[str, float]]]:
    """Yield the strategies of each arm with their mean scores; only one if a strategy met itself."""
    for _, of_arm in groupby(report["payoffs"], key=lambda one: one["arm"]):
        yield [(_strategy(one["player"]), one["mean"]) for one in of_arm]


def _strategy(player: str) -> str:
    """Return what the strategy of a player is called."""
    return player.partition(":")[2].removeprefix("axelrod/")


def doses(report: Report) -> Iterator[str]:
    """Yield the table of the curves: a row for each value of a factor, a column for each other arm."""
    curves = report["doses"]
    for measure in dict.fromkeys(one["measure"] for one in curves):
        of_measure = [one for one in curves if one["measure"] == measure]
        names = [_fixed(one) for one in of_measure]
        values = [point["value"] for point in of_measure[0]["points"]]
        rows = [
            (f"{value:g}", *(mean(one["points"][k]) for one in of_measure)) for k, value in enumerate(values)
        ]
        yield f"`{measure}` by `{of_measure[0]['factor']}`:"
        yield ""
        yield from table((of_measure[0]["factor"], *names), rows)
        yield ""


def _fixed(curve: Mapping[str, Any]) -> str:
    """Return the words for what is the same along a curve."""
    return ", ".join(str(value) for value in curve["fixed"].values()) or "all"


BLOCKS: Mapping[str, Callable[[Report], Iterator[str]]] = {
    "played": played,
    "hypotheses": hypotheses,
    "arms": arms,
    "levels": levels,
    "invasions": invasions,
    "tournament": tournament,
    "duels": duels,
    "doses": doses,
}
"""What may stand between the marks of the page."""


def draw_levels(report: Report, to: Path) -> None:
    """Draw how the halves differ, and the Gini coefficient, by the level of noise and of tremble."""
    halves = {(one["arm"], one["measure"]): one for one in report["halves"]}
    panels = [(f"{name}\n2nd half minus 1st", name) for name, _ in LEVELS] + [("gold_gini", "gold_gini")]
    curves = []
    for title, name in panels:
        lines = {}
        for factor in ("noise", "tremble"):
            lines[factor] = [
                (level, halves[arm, name] if name != "gold_gini" else report["arms"][arm]["measures"][name])
                for level, arm in _levels(report, factor)
            ]
        curves.append((title, "probability", lines))
    _draw(curves, to)


def draw_doses(report: Report, factor: str, measures: Sequence[str], to: Path) -> None:
    """Draw measures by the values of a factor, a line for each other arm."""
    curves = []
    for measure in measures:
        found = [one for one in report["doses"] if (one["factor"], one["measure"]) == (factor, measure)]
        lines = {_fixed(one): [(point["value"], point) for point in one["points"]] for one in found}
        curves.append((measure, factor, lines))
    _draw(curves, to)


Curves: TypeAlias = Sequence[tuple[str, str, Mapping[str, Sequence[tuple[float, Mapping[str, Any]]]]]]
"""Title, name of the horizontal axis, and the points of each line, of each panel."""

STYLES = (("#0072b2", "o", "-"), ("#d55e00", "s", "--"), ("#009e73", "^", "-."), ("#000000", "D", ":"))
"""Colours that everybody can tell apart, with a marker and a dash of their own."""


def _draw(panels: Curves, to: Path) -> None:
    """Draw panels side by side, lines with bands, the same bytes each time."""
    import matplotlib as mpl  # noqa: PLC0415  slow to import
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context({"svg.hashsalt": "findings", "svg.fonttype": "none", "font.size": 9}):
        sheet = Figure(figsize=(3.2 * len(panels), 3.2), layout="constrained")
        for axes, (title, across, lines) in zip(
            sheet.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
        ):
            axes.axhline(0, color="#999999", linewidth=0.8)
            for (name, points), (colour, marker, dash) in zip(lines.items(), STYLES, strict=False):
                x = [value for value, _ in points]
                axes.plot(
                    x, [p["mean"] for _, p in points], dash, marker=marker, ms=4, color=colour, label=name
                )
                bounds = [
                    [p[end] if p[end] is not None else p["mean"] for _, p in points]
                    for end in ("low", "high")
                ]
                axes.fill_between(x, *bounds, color=colour, alpha=0.2, linewidth=0)
            axes.set(title=title, xlabel=across)
        axes.legend()
        sheet.savefig(to, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
