"""Every experiment file in `experiments/` is planned whole, played at a tiny size, and reported."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hobbes.experiment.experiment_file import parse, read_experiment_file
from hobbes.experiment.games import play_experiment
from hobbes.experiment.plan import plan
from hobbes.experiment.report import report
from hobbes.files import read_toml
from hobbes.show.report_text import report_document
from hobbes.store.home import Store
from tests.small_experiment import Quiet

FILES = [*Path("experiments").glob("*.toml"), *Path("experiments", "published").glob("*.toml")]
READY_MADE = [path for path in sorted(FILES) if "seeds" in read_toml(path)]


def tiny(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file with two turns to each run and no model; arms keep their names."""
    if str(content.get("model", "")).startswith("openai:"):
        content = {**content, "model": "policy:random"}
    factors = content.get("factors", {})
    if "rounds" not in factors:
        return {**content, "rounds": 2}
    return {**content, "factors": {**factors, "rounds": {str(rounds): 2 for rounds in factors["rounds"]}}}


@pytest.mark.parametrize("path", READY_MADE, ids=lambda path: path.stem)
def test_a_ready_made_experiment_plays_and_reports(
    path: Path, opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    file, content = read_experiment_file(path)
    plan(opened, path, file)
    made = plan(opened, path, parse(tiny(content)))
    names = list(dict.fromkeys(cell.arm for cell in made.cells))
    some = {file.baseline, names[0], names[-1]}
    cells = [cell for cell in made.cells if cell.seed == file.seeds[0] and cell.arm in some]
    play_experiment(opened, replace(made, cells=tuple(cells)), tiny(content), Quiet())
    found = report(opened, file.name)
    assert len(found.cells) == len(cells)
    assert len(found.hypotheses) == len(file.hypotheses)
    assert "## Answers" in report_document(opened, found).markdown()
