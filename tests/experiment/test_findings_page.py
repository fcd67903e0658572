"""docs/findings.md, the tables beside it, and the script that writes them."""

import json
import re
import tomllib
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from experiments.findings import (
    NOTES,
    OF_VERDICTS,
    PAGE,
    PLANS,
    TABLES,
    differences,
    experiments_of_page,
    page,
    rankings,
    when_frozen,
    with_other_seeds,
)
from hobbes.engine.record import sha256
from hobbes.experiment.experiment_file import parse
from hobbes.store.experiment_tables import KeptPlan
from tests.conftest import Cli
from tests.experiment.test_experiments import expecting
from tests.small_experiment import FILE, written

EXPERIMENTS = experiments_of_page()

MIN_SEED = 50_000
"""Findings were once about the seeds 1 to 20, and the words about them were chosen after they were seen."""

FIGURE = re.compile(r"-?[\d,.]*\d \(-?[\d,.]*\d to -?[\d,.]*\d\)")
"""A figure with its 95% interval."""


def content(experiment: str) -> dict[str, Any]:
    """Return the content of the file of an experiment."""
    return tomllib.loads(Path(f"experiments/{experiment}.toml").read_text(encoding="utf-8"))


def tables(experiment: str) -> str:
    """Return the page with the tables of an experiment."""
    return (TABLES / f"{experiment}.md").read_text(encoding="utf-8")


def test_each_figure_of_the_page_with_an_interval_stands_in_a_table() -> None:
    found = "".join(tables(experiment) for experiment in EXPERIMENTS)
    figures = FIGURE.findall(PAGE.read_text(encoding="utf-8"))
    assert figures
    assert [figure for figure in figures if figure not in found] == []


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_file_of_an_experiment_of_the_page_is_the_one_that_was_planned(experiment: str) -> None:
    kept = json.loads(PLANS.read_text(encoding="utf-8"))[experiment]
    assert sha256(json.dumps(kept["plan"], ensure_ascii=False)) == kept["hash"]
    assert f"`{kept['hash'][:16]}`" in tables(experiment)
    assert kept["plan"]["file"] == content(experiment)


def test_no_seed_of_the_page_was_used_before_or_is_shared() -> None:
    seeds = {experiment: {*parse(content(experiment)).seeds} for experiment in EXPERIMENTS}
    for experiment, of_file in seeds.items():
        assert min(of_file) > MIN_SEED
        assert "fresh" in Path(f"experiments/{experiment}.toml").read_text(encoding="utf-8").lower()
    assert all(one.isdisjoint(other) for one, other in combinations(seeds.values(), 2))


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_each_file_says_what_was_found_and_the_tables_say_it_too(experiment: str) -> None:
    text = Path(f"experiments/{experiment}.toml").read_text(encoding="utf-8")
    _, found, expected = text.rpartition("# This experiment found, by the number of the hypothesis:\n")
    assert found
    told = re.findall(r"(\d+) ((?:not )?supported|no larger than|cannot tell)", expected)
    rows = re.findall(
        r"^\| (\d+) \| .* \| ((?:not )?supported|no larger than|cannot tell)[^|]* \| `",
        tables(experiment),
        re.MULTILINE,
    )
    assert told == rows


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_tables_say_what_has_to_be_known_of_the_hypotheses(experiment: str) -> None:
    below = tables(experiment).partition("\n## Hypotheses\n\n")[2].partition("\n\n|")[0]
    assert below == "\n\n".join(one for one in (OF_VERDICTS, NOTES.get(experiment)) if one)


def test_the_page_names_the_experiments_that_were_not_played_again() -> None:
    *_, told = re.findall(r"^Not played again: (.*)\.$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    not_again = [name for name in EXPERIMENTS if "The rerun has the seeds " not in tables(name)]
    assert sorted(re.findall(r"`([\w-]+)`", told)) == sorted(not_again)


def test_a_rerun_has_other_seeds_at_most_ten() -> None:
    assert with_other_seeds('a = 1\nseeds = "50001-50200"\n') == 'a = 1\nseeds = "100001-100010"\n'
    assert with_other_seeds('seeds = "50001-50008"') == 'seeds = "100001-100008"'


FILE_OF_RAIDERS = (
    FILE[: FILE.index("[arms.open]")].replace(
        'model = "policy:guided?noise=0.3*2,policy:random*1"',
        'model = "policy:raider*{raiders},policy:guided"',
    )
    + """
[factors]
raiders = [1, 2, 0, 3]

[compare]
null = false
"""
)


def test_the_tables_have_hypotheses_arms_and_what_a_rerun_found(cli: Cli, tmp_path: Path) -> None:
    hypothesis = expecting(arm="raiders=2", measure="raid_rate", text="More raiders, more raids")
    cli("experiment", str(written(tmp_path, FILE_OF_RAIDERS + hypothesis)))
    report = json.loads(cli("report", "small", "--json").stdout)
    text = "\n".join(page(report, report, "hobbes 1"))
    assert "seeds 1 to 3, played with hobbes 1. The plan was frozen on " in text
    assert "It found 0 of 0 of the verdicts again" in text
    assert f"## Hypotheses\n\n{OF_VERDICTS}\n\n|  | hypothesis |" in text
    assert (
        "| 1 | More raiders, more raids | cannot tell | `raid_rate` of `raiders=2`, minus `baseline` |"
        in text
    )
    assert "| `raiders=3` |" in text
    alone = "\n".join(page(report, None, "hobbes 1"))
    assert "The rerun" not in alone


def test_an_arm_without_any_difference_has_one_line() -> None:
    found = {"measure": "m", "mean": 1, "low": 0.5, "high": 2, "p_holm": 0.01, "verdict": "higher"}
    found |= {"n": 8, "spread": 0.5}
    none = {**found, "mean": 0, "spread": 0, "low": None, "p_holm": 1, "verdict": "cannot tell"}
    report = {
        "arms": {"plain": {}, "same": {}, "undefined": {}, "other": {}},
        "differences": [
            {"arm": "same", **none},
            {"arm": "undefined", **none},
            {"arm": "undefined", **none, "measure": "n", "mean": None},
            {"arm": "other", **found},
            {"arm": "other", **none, "measure": "n"},
        ],
    }
    assert [*differences(report)][2:] == [
        "| `same` | all | no pair differs | - | - |",
        "| `undefined` | all that are defined | no pair differs | - | - |",
        "| `other` | `m` | 1 (0.5 to 2) | 0.01 | higher |",
        "| `other` | `n` | 0 | 1 | cannot tell: equal in all 8 pairs |",
    ]


def test_a_plan_whose_games_are_played_again_keeps_the_date_of_the_first_time() -> None:
    frozen = KeptPlan(kept="2026-12-02", why=None, plan={"file": {}, "prompts": {}, "models": {}}, hash="abc")
    assert when_frozen({"one": {"frozen": "2026-11-24", "hash": "abc"}}, "one", frozen) == "2026-11-24"
    assert when_frozen({"one": {"frozen": "2026-11-24", "hash": "of another"}}, "one", frozen) == "2026-12-02"
    assert when_frozen({}, "one", frozen) == "2026-12-02"


def test_rankings_have_each_player_with_its_figures_against_the_others() -> None:
    places = [
        {
            "rank": 1,
            "player": "policy:b",
            "mean": 70,
            "low": 60,
            "high": 80,
            "against": {"policy:b": 60, "policy:a": 80},
        },
        {
            "rank": 2,
            "player": "policy:a",
            "mean": 35,
            "low": None,
            "against": {"policy:a": 50, "policy:b": 20},
        },
    ]
    assert [*rankings({"rankings": {"score": places}})][2:] == [
        "| rank | player | mean (95% interval) | b | a |",
        "| --- | --- | --- | --- | --- |",
        "| 1 | b | 70 (60 to 80) | 60 | 80 |",
        "| 2 | a | 35 | 20 | 50 |",
        "",
    ]
