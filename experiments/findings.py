"""Play the experiments of docs/findings.md, and write what they found as tables: experiments/results/.

    python -m experiments.findings              # play what is missing, then write
    python -m experiments.findings --home DIR   # the homes of the experiments are elsewhere

Each experiment has a home of its own, and so has its rerun with other seeds. A plan that was frozen before
stays as it is: that of a replay is another one if prompts have changed since.
"""

import argparse
import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from hobbes.errors import HobbesError
from hobbes.show.charts import Line, Panel, Point, draw_curves
from hobbes.store.experiment_tables import kept_plan
from hobbes.store.home import open_store

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "findings.md"
PICTURE = ROOT / "docs" / "pictures" / "findings-misses.svg"
TABLES = ROOT / "experiments" / "results"
PLANS = TABLES / "plans.json"

LINKED = re.compile(r"\(\.\./experiments/([\w-]+)\.toml\)")
"""How the page names an experiment: by a link to its file."""

SEEDS = re.compile(r'^seeds = "(\d+)-(\d+)"$', re.MULTILINE)
"""The seeds of an experiment of the page: the first and the last one."""

FURTHER = 50_000
"""How far the seeds of a rerun are from those of the experiment."""

RERUN = 10
"""How many seeds a rerun has at most."""

MEAN = ("n", "mean", "low", "high")
"""What is known of a mean: over how many seeds, its value, and its 95% interval."""

Report: TypeAlias = Mapping[str, Any]
"""What `hobbes report EXPERIMENT --json` prints."""

Row: TypeAlias = Mapping[str, Any]
"""A row of a table, by column."""


def main() -> None:
    """Play what is missing, and write the tables, the plans and the picture."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.findings", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--home", type=Path, default=Path("findings-home"), help="a folder for the homes")
    homes = parser.parse_args().home
    homes.mkdir(exist_ok=True)
    reports, reruns = {}, {}
    plans = json.loads(PLANS.read_text(encoding="utf-8"))
    for name in experiments_of_page():
        file, other = ROOT / "experiments" / f"{name}.toml", homes / f"{name}-again.toml"
        other.write_text(with_other_seeds(file.read_text(encoding="utf-8")), encoding="utf-8")
        reports[name] = report_of(name, file, homes / name)
        reruns[name] = report_of(name, other, homes / f"{name}-again")
        plans.setdefault(name, plan_of(name, homes / name))
    PLANS.write_text(json.dumps(dict(sorted(plans.items())), ensure_ascii=False) + "\n", encoding="utf-8")
    write("hypotheses", [row for name in reports for row in hypotheses(reports[name], reruns[name])])
    for title, rows in (("arms", arms), ("differences", differences), ("scores", scores)):
        write(title, [row for report in reports.values() for row in rows(report)])
    write("rankings", [row for report in reports.values() for row in rankings(report)])
    draw_doses(reports["trust-noise"], ("cooperation", "gain"), PICTURE)


def experiments_of_page() -> list[str]:
    """Return the names of the experiments that the page links to, in its order."""
    return list(dict.fromkeys(LINKED.findall(PAGE.read_text(encoding="utf-8"))))


def with_other_seeds(text: str) -> str:
    """Return an experiment file with other seeds: `RERUN` of them, or as many as it has if it has fewer."""

    def moved(found: re.Match[str]) -> str:
        first, last = int(found[1]), int(found[2])
        number = min(RERUN, last - first + 1)
        return f'seeds = "{first + FURTHER}-{first + FURTHER + number - 1}"'

    return SEEDS.sub(moved, text)


def report_of(name: str, file: Path, home: Path) -> Report:
    """Play the games of an experiment that its home lacks, and return the report."""
    _hobbes(home, "experiment", str(file), "--yes")
    report: Report = json.loads(_hobbes(home, "report", name, "--json"))
    return report


def _hobbes(home: Path, *arguments: str) -> str:
    """Return what a command prints. Its progress goes to the terminal."""
    command = [sys.executable, "-m", "hobbes", *arguments, "--home", str(home)]
    done = subprocess.run(  # noqa: S603  our own command
        command, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"`hobbes {' '.join(arguments)}` failed; the tables are as they were")
    return done.stdout


def plan_of(name: str, home: Path) -> Row:
    """Return the plan of an experiment, with its hash and when it was frozen."""
    with open_store(home) as store:
        plan = kept_plan(store, name)
    if plan is None:
        raise HobbesError(f"experiment {name!r} has no plan in {home}; play it first")
    return {"frozen": plan.kept, "hash": plan.hash, "plan": plan.plan}


def write(title: str, rows: Sequence[Row]) -> None:
    """Write a table as CSV. Numbers have six digits; what is undefined is empty."""
    with (TABLES / f"{title}.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0], lineterminator="\n")
        table.writeheader()
        for row in rows:
            table.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})


def hypotheses(report: Report, rerun: Report) -> Iterator[Row]:
    """Yield the hypotheses, with what the rerun found."""
    for number, (first, again) in enumerate(zip(report["hypotheses"], rerun["hypotheses"], strict=True), 1):
        against = first["against"] or "baseline" if first["test"] == "baseline" else first["test"]
        yield {
            "experiment": report["experiment"],
            "number": number,
            "hypothesis": first["text"],
            "measure": first["measure"],
            "arm": first["arm"] or "all",
            "against": against,
            "verdict": first["verdict"],
            **{key: first[key] for key in (*MEAN, "p_holm", "margin")},
            **{f"rerun_{key}": again[key] for key in ("verdict", *MEAN)},
        }


def arms(report: Report) -> Iterator[Row]:
    """Yield the measures of each arm."""
    for arm, figures in report["arms"].items():
        for measure, mean in figures["measures"].items():
            yield {"experiment": report["experiment"], "arm": arm, "measure": measure, **_mean(mean)}


def differences(report: Report) -> Iterator[Row]:
    """Yield the differences of each arm from the baseline."""
    for difference in report["differences"]:
        what = {key: difference[key] for key in ("arm", "baseline", "measure", "verdict")}
        sure = {key: difference[key] for key in ("p_holm", "margin")}
        yield {"experiment": report["experiment"], **what, **_mean(difference), **sure}


def scores(report: Report) -> Iterator[Row]:
    """Yield the mean score of the agents of each player."""
    for score in report["payoffs"]:
        what = {key: score[key] for key in ("arm", "player", "agents")}
        yield {"experiment": report["experiment"], **what, **_mean(score)}


def rankings(report: Report) -> Iterator[Row]:
    """Yield the players of a tournament by wins and by score."""
    for by, places in report["rankings"].items():
        for place in places:
            what = {key: place[key] for key in ("rank", "player")}
            yield {"experiment": report["experiment"], "by": by, **what, **_mean(place)}


def _mean(figure: Row) -> Row:
    return {key: figure[key] for key in MEAN}


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
            mean = figures["measures"][measure]
            strategy = rest.partition("=")[2]
            lines.setdefault(strategy, []).append((float(value), mean["mean"], mean["low"], mean["high"]))
        drawn = [Line(name, sorted(points), look) for look, (name, points) in enumerate(lines.items())]
        panels.append(Panel(measure, factor, "", drawn))
    to.write_text(draw_curves(panels), encoding="utf-8")


if __name__ == "__main__":
    main()
