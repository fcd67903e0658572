"""Invasion: fixation probabilities that can be checked by hand, and what a report says about a mutant."""

import json
from pathlib import Path

import numpy as np
import pytest

from hobbes.lab.errors import UsageError
from hobbes.lab.experiment.invasion import probability_of_fixation
from hobbes.lab.store.home import Store
from tests.conftest import Cli
from tests.lab.test_experiments import FILE, written

FILE_OF_INVASION = (
    FILE[: FILE.index("[arms.open]")].replace(
        'model = "policy:guided?noise=0.3*2,policy:random*1"',
        'model = "policy:raider*{mutants},policy:guided"',
    )
    + """
[factors]
mutants = [1, 2, 0, 3]

[compare]
null = false

[[invasion]]
resident = "policy:guided"
mutant = "policy:raider"
"""
)


def test_a_newcomer_who_earns_what_all_earn_takes_over_as_often_as_any_other() -> None:
    assert probability_of_fixation(np.full(9, 7.0), np.full(9, 7.0)) == pytest.approx(1 / 10)
    assert probability_of_fixation(np.zeros(4), np.zeros(4)) == pytest.approx(1 / 5)


def test_a_newcomer_of_constant_fitness_takes_over_as_the_closed_form_says() -> None:
    """Moran 1962: (1 - 1/r) / (1 - 1/r^N), here with r = 2 and N = 4: (1/2) / (15/16) = 8/15."""
    assert probability_of_fixation(np.full(3, 2.0), np.ones(3)) == pytest.approx(8 / 15)


def test_payoffs_that_depend_on_the_number_of_newcomers_multiply_up() -> None:
    """N = 3: g/f is 2/1 with one newcomer and 1/4 with two, so it is 1 / (1 + 2 + 2 x 1/4) = 2/7."""
    assert probability_of_fixation(np.array([1.0, 4.0]), np.array([2.0, 1.0])) == pytest.approx(2 / 7)


def test_a_newcomer_who_earns_nothing_never_takes_over_and_one_among_such_surely_does() -> None:
    assert probability_of_fixation(np.array([0.0, 5.0]), np.array([3.0, 3.0])) == 0
    assert probability_of_fixation(np.array([0.0, 5.0]), np.array([3.0, 0.0])) == 0
    assert probability_of_fixation(np.array([5.0, 5.0]), np.array([0.0, 0.0])) == 1


def test_a_report_has_the_payoffs_by_the_number_of_mutants_and_where_they_lead(
    cli: Cli, opened: Store, tmp_path: Path
) -> None:
    cli("experiment", str(written(tmp_path, FILE_OF_INVASION)))
    (found,) = json.loads(cli("report", "small", "--json").stdout)["invasions"]
    assert [(one["mutants"], one["runs"]) for one in found["payoffs"]] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    residents, mutants = ([one[kind] for one in found["payoffs"]] for kind in ("resident", "mutant"))
    assert mutants[0] is residents[3] is None
    rows = opened.db.query("select scores from runs where name like 'small.mutants=1.%' order by seed")
    seated = ("miner-01", "miner-03", "miner-02")  # models move on by one seat with each seed
    gold = [json.loads(row["scores"])[miner] for miner, row in zip(seated, rows, strict=True)]
    assert mutants[1] == pytest.approx(sum(gold) / 3)
    result = cli("report", "small", "--format", "md")
    assert result.exit_code == 0, result.exception
    text = result.stdout
    assert "## Invasion: policy:raider among policy:guided" in text
    assert "policy:raider among policy:guided: the mutants earn more than the residents where they" in text
    assert f"| 1 | 3 | {residents[1]:.3g} | {mutants[1]:.3g} |" in text


def test_two_seeds_have_no_interval_and_no_claim_about_drift(cli: Cli, tmp_path: Path) -> None:
    cli("experiment", str(written(tmp_path, FILE_OF_INVASION.replace("seeds = 3", "seeds = 2"))))
    (found,) = json.loads(cli("report", "small", "--json").stdout)["invasions"]
    assert found["of_mutant"]["low"] is found["of_mutant"]["high"] is None
    text = cli("report", "small").stdout
    assert text.count("(by drift alone 0.333); too few seeds for a 95% interval") == 2
    assert "than by drift alone" not in text


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("[1, 2, 0, 3]", "[1, 0, 3]", r"\[\[invasion\]\] 1: there is no arm with 2 policy:raider and otherw"),
        (
            'mutant = "policy:raider"',
            'mutant = "policy:random"',
            r"\[\[invasion\]\] 1: there is no arm with 1",
        ),
        ('mutant = "policy:raider"', "", r"\[\[invasion\]\] 1 mutant: is missing"),
        ("mutants = [1, 2, 0, 3]", "mutants = [1, 2]\nrows = [4, 5]", r"1: its arms differ in more than the"),
    ],
)
def test_an_invasion_without_its_arms_is_refused(
    before: str, after: str, message: str, cli: Cli, tmp_path: Path
) -> None:
    path = written(tmp_path, FILE_OF_INVASION.replace(before, after))
    with pytest.raises(UsageError, match=message):
        raise cli("experiment", str(path)).exception or AssertionError
