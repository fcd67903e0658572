"""docs/findings.md: its marks, and what the script writes between them."""

import json
from pathlib import Path
from typing import Any

from experiments.findings import BLOCK, BLOCKS, PAGE, duels, filled, levels, tournament
from tests.conftest import Cli
from tests.lab.test_experiments import expecting, written
from tests.lab.test_invasion import FILE_OF_INVASION


def test_each_mark_of_the_page_names_a_block_and_a_ready_made_file() -> None:
    found = [(mark["block"], mark["experiment"]) for mark in BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]
    assert found
    assert {block for block, _ in found} <= BLOCKS.keys()
    for _, experiment in found:
        assert (Path("experiments") / f"{experiment}.toml").is_file()


def test_the_script_writes_between_the_marks_of_an_experiment_and_leaves_the_rest(
    cli: Cli, tmp_path: Path
) -> None:
    hypothesis = expecting(arm="mutants=2", measure="raid_rate", text="More raiders, more raids")
    cli("experiment", str(written(tmp_path, FILE_OF_INVASION + hypothesis)))
    report = json.loads(cli("report", "small", "--json").stdout)
    marks = [
        f"<!-- {block} small -->\n<!-- end -->" for block in ("hypotheses", "arms", "invasions", "doses")
    ]
    page = "\n\n".join(["# A page", *marks, "<!-- arms other -->\nas it was\n<!-- end -->"])
    text = filled(page, "small", report)
    assert (
        "| More raiders, more raids | **cannot tell** | `raid_rate`, minus baseline | `mutants=2` |" in text
    )
    assert "| `mutants=3` |" in text
    assert "`policy:raider` among `policy:guided`: a single mutant takes over with probability " in text
    assert "| mutants | all |" in text
    assert text.startswith("# A page\n\n<!-- hypotheses small -->\n\n| hypothesis |")
    assert text.endswith("<!-- arms other -->\nas it was\n<!-- end -->")
    assert filled(text, "small", report) == text


def figures(mean: float, low: float, high: float) -> dict[str, Any]:
    return {"n": 20, "mean": mean, "low": low, "high": high}


def test_property_is_stable_where_all_changes_are_sure_and_gold_is_shared_equally() -> None:
    calm, less, more = figures(0, 0, 0), figures(-0.3, -0.4, -0.2), figures(0.2, 0.1, 0.3)
    doubtful, equal, unequal = figures(-0.1, -0.3, 0.1), figures(0.01, 0.01, 0.02), figures(0.2, 0.1, 0.3)
    arms = {
        "baseline": (calm, calm, more, equal, calm),
        "noise=0.1": (less, less, more, equal, more),
        "noise=0.2": (less, doubtful, more, equal, more),
        "tremble=0.1": (less, less, more, unequal, more),
    }
    names = ("turnover", "raid_rate", "efficiency")
    report = {
        "arms": {arm: {"measures": {"gold_gini": of[3], "raid_rate": of[4]}} for arm, of in arms.items()},
        "halves": [
            {"arm": arm, "measure": name, **of[k]} for arm, of in arms.items() for k, name in enumerate(names)
        ],
    }
    text = "\n".join(levels(report))
    assert "With `noise`, property becomes stable at 0, 0.1." in text
    assert "With `tremble`, property becomes stable at 0." in text
    assert [line.split("|")[-2].strip() for line in text.splitlines() if "| 0" in line] == [
        "yes, nobody ever raided",
        "yes",
        "no: raid_rate",
        "yes, nobody ever raided",
        "no: gold_gini",
    ]


def payoffs(*means: tuple[str, str, float]) -> dict[str, Any]:
    return {"payoffs": [{"arm": arm, "player": player, "mean": mean} for arm, player, mean in means]}


def test_a_tournament_shows_wins_and_scores_with_the_best_score_first() -> None:
    report = {
        "rankings": {
            "wins": [{"player": "policy:a", "mean": 0.25}, {"player": "policy:b", "mean": 0}],
            "score": [
                {"player": "policy:b", "mean": 70, "against": {"policy:b": 60, "policy:a": 80}},
                {"player": "policy:a", "mean": 35, "against": {"policy:a": 50, "policy:b": 20}},
            ],
        }
    }
    assert list(tournament(report))[2:] == ["| b | 0% | **70** | 60 | 80 |", "| a | 25% | **35** | 20 | 50 |"]


def test_duels_show_the_scores_of_both_sides() -> None:
    report = payoffs(
        ("one=a,other=X", "policy:a", 20),
        ("one=a,other=X", "policy:axelrod/X", 80.4),
        ("one=b,other=X", "policy:b", 50),
        ("one=b,other=X", "policy:axelrod/X", 49.6),
    )
    assert list(duels(report)) == ["| opponent | a | b |", "| --- | --- | --- |", "| X | 20 : 80 | 50 : 50 |"]
