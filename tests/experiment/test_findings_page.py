"""docs/findings.md, and the tables of its figures."""

import csv
import json
import re
import tomllib
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from experiments.findings import PAGE, PLANS, TABLES, experiments_of_page
from hobbes.engine.record import sha256
from hobbes.experiment.experiment_file import parse

EXPERIMENTS = experiments_of_page()

MIN_SEED = 50_000
"""Findings were once about the seeds 1 to 20, and the words about them were chosen after they were seen."""

FIGURE = re.compile(r"-?[\d,.]*\d \(-?[\d,.]*\d to -?[\d,.]*\d\)")
"""A figure with its 95% interval."""

MEAN = ("mean", "low", "high")


def content(experiment: str) -> dict[str, Any]:
    return tomllib.loads(Path(f"experiments/{experiment}.toml").read_text(encoding="utf-8"))


def figures(row: dict[str, str]) -> set[str]:
    """Return the figures of a row of a table, and of its rerun, as the page writes them."""
    means = [[row.get(prefix + name) for name in MEAN] for prefix in ("", "rerun_")]
    return {"{} ({} to {})".format(*map(written, mean)) for mean in means if all(mean)}


def written(number: str | None) -> str:
    value = float(number or "nan")
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def test_each_figure_of_the_page_with_an_interval_stands_in_a_table() -> None:
    known = set[str]()
    for table in TABLES.glob("*.csv"):
        with table.open(encoding="utf-8", newline="") as file:
            known = known.union(*map(figures, csv.DictReader(file)))
    found = FIGURE.findall(PAGE.read_text(encoding="utf-8"))
    assert found
    assert [figure for figure in found if figure not in known] == []


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_file_of_an_experiment_of_the_page_is_the_one_that_was_planned(experiment: str) -> None:
    kept = json.loads(PLANS.read_text(encoding="utf-8"))[experiment]
    assert sha256(json.dumps(kept["plan"], ensure_ascii=False)) == kept["hash"]
    assert kept["plan"]["file"] == content(experiment)


def test_no_seed_of_the_page_was_used_before_or_is_shared() -> None:
    seeds = {experiment: {*parse(content(experiment)).seeds} for experiment in EXPERIMENTS}
    for experiment, of_file in seeds.items():
        assert min(of_file) > MIN_SEED
        assert "fresh" in Path(f"experiments/{experiment}.toml").read_text(encoding="utf-8").lower()
    assert all(one.isdisjoint(other) for one, other in combinations(seeds.values(), 2))
