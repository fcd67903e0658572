"""The manifest of a report."""

from pathlib import Path
from typing import Any

from hobbes.lab.experiment.file import read_experiment_file
from hobbes.lab.experiment.manifest import PARTS, manifest
from hobbes.lab.store.experiments import PlayedCell
from hobbes.lab.store.reported import Figures

FILE = Path(__file__).parents[2] / "experiments" / "pilot" / "talk.toml"


def test_dollars_are_added_as_people_add_them() -> None:
    words = dict.fromkeys(("hobbes", "prompts", "lang", "prompts_hash", "digest"), "x")
    counts = dict.fromkeys(("record_version", "rules_version", "calls", "tokens_in", "tokens_out"), 1)
    cell = PlayedCell("arm", 1, "run", "", "", tainted=False)
    nothing: dict[str, Any] = {**words, **counts, **dict.fromkeys(PARTS), "told": [], "outcomes": {}}
    rows = [
        {**nothing, "model_settings": "{}", "left_out": "{}", "usd": usd} for usd in (0.1, 0.2, 0.000_000_1)
    ]
    rows[1] |= {"tokens_cached": 3}
    rows[2] |= {"tokens_cached": 4}
    asked, _ = read_experiment_file(FILE)
    found = manifest(asked, [Figures(cell, row) for row in rows])
    assert (repr(found["usd"]), found["calls"]) == ("0.3000001", 3)
    assert [found[part] for part in PARTS] == [7, None, None]
