"""Play the experiments of docs/findings.md, and write the tables of docs/findings/ from their reports.

    python -m experiments.findings                      # play what is missing, then write
    python -m experiments.findings --only trust-noise   # one experiment
    python -m experiments.findings --rerun              # play each once more, with other seeds
    python -m experiments.findings --no-play            # only write, from what has been played

Each experiment has a home of its own in `findings-home/`, and its rerun another one, so that each can be
thrown away by itself. The page is written by hand; each figure of it with an interval stands in a table.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from hobbes.errors import HobbesError
from hobbes.show.charts import Line, Panel, Point, draw_curves
from hobbes.store.experiment_tables import KeptPlan, kept_plan
from hobbes.store.home import open_store

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "findings.md"
TABLES = ROOT / "docs" / "findings"
PLANS = TABLES / "plans.json"
PICTURES = ROOT / "docs" / "pictures"

LINKED = re.compile(r"\(findings/([\w-]+)\.md\)")
"""How the page names an experiment: by a link to its tables."""

SEEDS = re.compile(r'^seeds = "(\d+)-(\d+)"$', re.MULTILINE)
"""The seeds of an experiment of the page: the first and the last one."""

FURTHER = 50_000
"""How far the seeds of a rerun are from those of the experiment."""

RERUN = 10
"""How many seeds a rerun has at most."""

OF_VERDICTS = "A verdict is about the figure in its row, not about the reason that the hypothesis gives."

NOTES = {
    "trust-noise": (
        "Hypothesis 7 is about one line through all three strategies: copykittens are clearly below their "
        "level without misses, 0.944, only from 20% on (not tested). Without misses all games end after 18 "
        "rounds. An earlier play with 20 other seeds had a cooperation of 0.112 (0.085 to 0.147) among "
        "copycats at 20% of misses."
    ),
    "trust-begging": (
        "Hypothesis 2: `granted_share` is a share of what was asked, not of the budget, which was never "
        "used up. On average, 92 of 158 sats were granted by the patient observer, and 78 of 238 by the "
        "other one: a unit that lacks less asks for less."
    ),
    "nations-war-and-trade": (
        "Hypothesis 2 is about the welfare of all four together: the traders end with 935 each and not "
        "1,740, the militarist with 671 (577 to 733) and not 616 (563 to 674)."
    ),
    "mining-rounds": (
        "Hypothesis 6: the 100 rounds are the first of the same games, so rounds 101 to 500 differ from them "
        "by about 5/4 of the figure, 0.00076 (7.8e-05 to 0.00144)."
    ),
    "mining-comparators": (
        "Hypothesis 3: `raid_profit` pools the raids of all. Beside defenders only the two random miners "
        "raid, and theirs is about the same (0.520 and 0.526)."
    ),
    "mining-noise": (
        "A `half_life` of 100 means that none was reached in 100 rounds: such a game counts with 100, so "
        "differences from it are at least as large as shown."
    ),
}
"""What has to be known beside the hypotheses of an experiment, whose texts are those of its frozen plan."""

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
    parser.add_argument(
        "--rerun",
        action="store_true",
        help="play each with other seeds, too",
    )
    parser.add_argument("--no-play", action="store_true", help="write only what has been played")
    parser.add_argument("--jobs", help="how many processes play, as in hobbes experiment")
    parser.add_argument("--home", type=Path, default=Path("findings-home"), help="a folder for the homes")
    asked = parser.parse_args()
    for experiment in asked.only or experiments_of_page():
        file, home = ROOT / "experiments" / f"{experiment}.toml", asked.home / experiment
        again = asked.home / f"{experiment}-again"
        if asked.rerun:
            asked.home.mkdir(exist_ok=True)
            text = with_other_seeds(file.read_text(encoding="utf-8"))
            file, played = asked.home / f"{experiment}-again.toml", again
            file.write_text(text, encoding="utf-8")
        else:
            played = home
        if not asked.no_play:
            jobs = ["--jobs", asked.jobs] if asked.jobs else []
            _hobbes(played, "experiment", str(file), "--yes", *jobs)
        if home.is_dir():
            write(experiment, home, again)


def experiments_of_page() -> list[str]:
    """Return the names of the experiments that the page names, in its order."""
    return list(dict.fromkeys(LINKED.findall(PAGE.read_text(encoding="utf-8"))))


def with_other_seeds(text: str) -> str:
    """Return an experiment file with other seeds: `RERUN` of them, or as many as it has if it has fewer."""

    def moved(found: re.Match[str]) -> str:
        first, last = int(found[1]), int(found[2])
        number = min(RERUN, last - first + 1)
        return f'seeds = "{first + FURTHER}-{first + FURTHER + number - 1}"'

    return SEEDS.sub(moved, text)


def _hobbes(home: Path, *arguments: str) -> str:
    """Return what a command prints. Its progress goes to the terminal."""
    command = [sys.executable, "-m", "hobbes", *arguments, "--home", str(home)]
    done = subprocess.run(  # noqa: S603  our own command
        command, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"`hobbes {' '.join(arguments)}` failed; the tables are as they were")
    return done.stdout


def write(experiment: str, home: Path, again: Path) -> None:
    """Write the tables of an experiment and its plan, with its rerun if that has been played."""
    report = json.loads(_hobbes(home, "report", experiment, "--json"))
    rerun = json.loads(_hobbes(again, "report", experiment, "--json")) if again.is_dir() else None
    with open_store(home) as store:
        if (frozen := kept_plan(store, experiment)) is None:
            raise HobbesError(f"experiment {experiment!r} has no plan in {home}; play it first")
        versions = sorted({(row["hobbes"], row["rules_version"]) for row in store.runs.rows()})
    played_with = ", ".join(
        f"hobbes {hobbes} with version {rules} of the rules" for hobbes, rules in versions
    )
    TABLES.mkdir(exist_ok=True)
    plans = json.loads(PLANS.read_text(encoding="utf-8")) if PLANS.is_file() else {}
    report["plan"]["frozen"] = when_frozen(plans, experiment, frozen)
    plans[experiment] = {"frozen": report["plan"]["frozen"], "hash": frozen.hash, "plan": frozen.plan}
    PLANS.write_text(json.dumps(dict(sorted(plans.items())), ensure_ascii=False) + "\n", encoding="utf-8")
    (TABLES / f"{experiment}.md").write_text(
        "\n".join(page(report, rerun, played_with)) + "\n", encoding="utf-8"
    )
    if experiment == "trust-noise":
        draw_doses(report, ("cooperation", "gain"), PICTURES / "findings-misses.svg")


def when_frozen(plans: Mapping[str, Any], experiment: str, frozen: KeptPlan) -> str:
    """Return when a plan was frozen; if its games were played again in another home, the first time."""
    before = plans.get(experiment)
    return str(before["frozen"]) if before and before["hash"] == frozen.hash else frozen.kept


def page(report: Report, rerun: Report | None, played_with: str) -> Iterator[str]:
    """Yield the lines of the page with the tables of an experiment, which was played with these versions."""
    name, plan = report["experiment"], report["plan"]
    yield f"# Tables of {name}"
    yield ""
    yield (
        f"The file is [experiments/{name}.toml](../../experiments/{name}.toml), the page is "
        f"[Findings](../findings.md). {len(report['cells']):,} games of scripted policies, seeds "
        f"{plan['seeds'][0]} to {plan['seeds'][-1]}, played with {played_with}. The plan was frozen on "
        f"{plan['frozen'][:16].replace('T', ' at ')} UTC; its hash is `{plan['hash'][:16]}` (that of a "
        "replay is another one if prompts have changed since). `python -m experiments.findings` writes this "
        "page."
    )
    if rerun:
        seeds = rerun["plan"]["seeds"]
        yield ""
        yield (
            f"The rerun has the seeds {seeds[0]} to {seeds[-1]}. It found {_found_again(report, rerun)} of "
            "the verdicts again that the experiment reached; where the experiment cannot tell, the rerun "
            "need not."
        )
    parts = {
        "Hypotheses": hypotheses(report, rerun),
        "Arms": arms(report),
        "Differences": differences(report),
    }
    parts |= {"Rankings": rankings(report), "Scores": scores(report)}
    for title, lines in parts.items():
        if written := list(lines):
            yield from ("", f"## {title}", "", *written)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, none without rows."""
    if rows:
        yield from (f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows))


def figure(value: float | None) -> str:
    """Return a figure with three digits, a large one without fractions, a hyphen if it is undefined."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"  # noqa: PLR2004  no 5.32e+03


def mean(one: Mapping[str, Any]) -> str:
    """Return a mean with its 95% interval."""
    if one["low"] is None:
        return figure(one["mean"])
    return f"{figure(one['mean'])} ({figure(one['low'])} to {figure(one['high'])})"


def verdict(one: Mapping[str, Any]) -> str:
    """Return a verdict in the words of the report, with the margin where it is about one."""
    if one["verdict"] == "no larger than":
        return f"no larger than {figure(one['margin'])}"
    if one["mean"] == one["spread"] == 0 and one["low"] is None:
        return f"{one['verdict']}: equal in all {one['n']} pairs"
    return str(one["verdict"])


def hypotheses(report: Report, rerun: Report | None) -> Iterator[str]:
    """Yield the table of the hypotheses, with what the rerun found, below what has to be known of it."""
    compared = {"halves": "2nd half minus 1st", "zero": "compared with 0"}
    again = rerun["hypotheses"] if rerun else [None] * len(report["hypotheses"])
    rows = []
    for number, (one, other) in enumerate(zip(report["hypotheses"], again, strict=True), start=1):
        what = compared.get(one["test"], f"minus `{one['against'] or 'baseline'}`")
        if one["test"] == "trend":
            what = f"trend over {one['factors'][0]}"
        rows.append(
            (
                str(number),
                one["text"],
                verdict(one),
                f"`{one['measure']}` of `{one['arm'] or 'all'}`, {what}",
                mean(one),
                str(one["n"]),
                figure(one["p_holm"]),
                f"{verdict(other)}: {mean(other)}" if other else "-",
            )
        )
    for note in (OF_VERDICTS, NOTES.get(report["experiment"])):
        if note:
            yield from (note, "")
    columns = ("", "hypothesis", "verdict", "figure of", "figure (95% interval)", "n", "p (Holm)", "rerun")
    yield from table(columns, rows)


def _found_again(report: Report, rerun: Report) -> str:
    """Return how many of the verdicts a rerun has again; where the first cannot tell, there is none."""
    pairs = list(zip(report["hypotheses"], rerun["hypotheses"], strict=True))
    reached = [(one, other) for one, other in pairs if one["verdict"] != "cannot tell"]
    return f"{sum(one['verdict'] == other['verdict'] for one, other in reached)} of {len(reached)}"


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


def differences(report: Report) -> Iterator[str]:
    """Yield the table of the arms minus the baseline; an arm without any difference has one line."""
    baseline = next(arm for arm in report["arms"] if arm not in {d["arm"] for d in report["differences"]})
    rows = []
    for arm in dict.fromkeys(one["arm"] for one in report["differences"]):
        of_arm = [one for one in report["differences"] if one["arm"] == arm]
        if all(one["mean"] in {0, None} and one["low"] is None for one in of_arm):
            which = "all that are defined" if any(one["mean"] is None for one in of_arm) else "all"
            rows.append((f"`{arm}`", which, "no pair differs", "-", "-"))
            continue
        rows += [
            (f"`{arm}`", f"`{one['measure']}`", mean(one), figure(one["p_holm"]), verdict(one))
            for one in of_arm
        ]
    yield from table(("arm", "measure", f"minus `{baseline}` (95% interval)", "p (Holm)", "verdict"), rows)


def rankings(report: Report) -> Iterator[str]:
    """Yield the players by wins and by score, each with its figures against every other one."""
    for by, places in report["rankings"].items():
        yield f"By {by}; a column has the mean against that player."
        yield ""
        yield from table(
            ("rank", "player", "mean (95% interval)", *(_strategy(one["player"]) for one in places)),
            [
                (
                    str(row["rank"]),
                    _strategy(row["player"]),
                    mean(row),
                    *(figure(row["against"][column["player"]]) for column in places),
                )
                for row in places
            ],
        )
        yield ""


def _strategy(player: str) -> str:
    """Return what the strategy of a player is called."""
    return player.partition(":")[2]


def scores(report: Report) -> Iterator[str]:
    """Yield the mean score of the agents of each player, where players of an arm differ."""
    found = report["payoffs"]
    arms_of = [one["arm"] for one in found]
    if report["rankings"]:
        return
    yield from table(
        ("arm", "player", "agents", "score (95% interval)"),
        [
            (f"`{one['arm']}`", f"`{one['player']}`", figure(one["agents"]), mean(one))
            for one in found
            if arms_of.count(one["arm"]) > 1
        ],
    )


def draw_doses(report: Report, measures: Sequence[str], to: Path) -> None:
    """Draw measures by the first factor in the names of arms, such as `miss=5,one=copycat`.

    There is a line for each rest of a name.
    """
    panels, factor = [], ""
    for measure in measures:
        lines: dict[str, list[Point]] = {}
        for arm, figures in report["arms"].items():
            first, _, rest = arm.partition(",")
            factor, _, value = first.partition("=")
            if value:
                one = figures["measures"][measure]
                lines.setdefault(rest, []).append((float(value), one["mean"], one["low"], one["high"]))
        panels.append(
            Panel(
                measure,
                factor,
                "",
                [Line(_values(rest), sorted(line), look) for look, (rest, line) in enumerate(lines.items())],
            )
        )
    to.write_text(draw_curves(panels), encoding="utf-8")


def _values(levels: str) -> str:
    """Return the values in a part of an arm's name."""
    return ", ".join(level.partition("=")[2] for level in levels.split(",") if level) or "all"


if __name__ == "__main__":
    main()
