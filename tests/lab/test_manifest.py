"""The manifest of a report."""

from pathlib import Path

import pyarrow as pa

from hobbes.lab.experiment.file import read_experiment_file
from hobbes.lab.experiment.manifest import manifest

FILE = Path(__file__).parents[2] / "experiments" / "pilot" / "talk.toml"


def test_dollars_are_added_as_people_add_them() -> None:
    words = dict.fromkeys(("hobbes", "prompts", "lang", "prompts_hash", "digest"), "x")
    counts = dict.fromkeys(
        ("record_version", "rules_version", "seed", "calls", "failed", "tokens_in", "tokens_out"), 1
    )
    runs = [
        {**words, **counts, "models": "[]", "model_settings": "{}", "left_out": "{}", "usd": usd}
        for usd in (0.1, 0.2, 0.000_000_1)
    ]
    asked, _ = read_experiment_file(FILE)
    found = manifest(asked, {"arm": {"runs": pa.Table.from_pylist(runs)}})
    assert (repr(found["usd"]), found["calls"]) == ("0.3000001", 3)
