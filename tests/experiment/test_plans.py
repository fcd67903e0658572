"""The plan of an experiment: how it is kept, and what of it is refused."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hobbes.experiment.experiment_file import parse
from hobbes.experiment.frozen import frozen_plan
from hobbes.experiment.report import report
from hobbes.store.experiment_tables import keep_experiment, keep_plan
from hobbes.store.home import Store
from tests.conftest import Cli
from tests.made_up_experiment import made_up
from tests.small_experiment import written

FILE = """
name = "small"
world = "mining"
rounds = 2
agents = 2
seeds = 3
model = "policy:guided?tremble=0.3"

[arms.open]

[arms.immune]
set = { immunity = 3 }

[compare]
measures = ["efficiency"]

[[hypothesis]]
text = "Immunity changes little"
measure = "efficiency"
arm = "immune"
direction = "higher"
"""


def told(cli: Cli, *arguments: str) -> Any:
    result = cli(*arguments, "--json")
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def test_a_question_that_was_changed_is_told(opened: Store) -> None:
    content = {**tomllib.loads(FILE), "question": "Does immunity change anything?"}
    keep_experiment(opened, "small", "mining", content)
    keep_plan(opened, "small", {"file": content, "prompts": {}, "models": {}})
    now = parse({**content, "question": "Does immunity lower raids?"})
    kept = frozen_plan(opened, now)
    assert kept is not None
    assert kept.file.question == "Does immunity change anything?"
    assert kept.changes == ("the question changed",)


def test_the_plan_is_kept_at_the_first_game_and_the_report_says_what_was_changed(
    cli: Cli, tmp_path: Path
) -> None:
    path = str(written(tmp_path, FILE))
    cli("experiment", path)
    plan = told(cli, "report", "small")["plan"]
    assert (plan["seeds"], plan["changes"]) == ([1, 2, 3], [])
    assert plan["models"]["null"] == ["policy:guided?tremble=0.3&rng=null"]
    assert set(plan["prompts"]) == {"open", "immune", "null"}
    written(tmp_path, FILE.replace('direction = "higher"', 'direction = "lower"'))
    assert "not as planned: hypothesis 1 was changed or removed" in cli("experiment", path).stdout
    found = told(cli, "report", "small")
    assert found["plan"]["hash"] == plan["hash"]
    assert [(one["direction"], one["verdict"]) for one in found["hypotheses"]] == [
        ("higher", "cannot tell"),
        ("lower", "exploratory"),
    ]
    for form in ("md", "html"):
        page = cli("report", "small", "--format", form).stdout
        for words in (plan["hash"], plan["frozen"], "hypothesis 1 was changed or removed"):
            assert words in page


def test_the_announced_difference_is_that_of_each_arm_and_not_of_the_widest_one(opened: Store) -> None:
    narrow: list[float | None] = [0.1, -0.1, 0.2, -0.2, 0.1, -0.1, 0.0, 0.1]
    made_up(opened, {"base": [0.0] * 8, "narrow": narrow, "wide": [15 * (v or 0) for v in narrow]})
    sizes = report(opened, "made").detectable()
    assert sizes["wide"]["output"] == pytest.approx(15 * (sizes["narrow"]["output"] or 0))
