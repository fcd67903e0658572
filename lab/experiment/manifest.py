"""The manifest of a report: with what, and from which runs, its figures were made."""

import json
import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

from hobbes.engine.record import canonical, sha256
from hobbes.lab.experiment.file import ExperimentFile
from hobbes.lab.store.reported import Figures
from hobbes.lab.store.run import HOBBES

PACKAGES = ("matplotlib", "numpy", "pyarrow", "pydantic", "scipy")
"""The libraries on which the figures or the records depend."""

PARTS = ("tokens_cached", "tokens_cache_written", "tokens_reasoning")
"""The columns of tokens that some servers tell and others do not; the sums are of those that are told."""

DECIMALS = 10
"""The decimals of dollars; a token costs at least that, and binary fractions add up to more digits."""


def manifest(file: ExperimentFile, games: Sequence[Figures]) -> dict[str, Any]:
    """Return the manifest of these games, as plain JSON. Sums of unknown numbers are None."""
    runs = [{**one.row, "failed": one.failed} for one in games]
    return {
        "hobbes": HOBBES,
        "python": platform.python_version(),
        "packages": {package: version(package) for package in PACKAGES},
        "recorded_by": list(_count(runs, "hobbes", "record_version", "rules_version")),
        "prompts": list(_count(runs, "prompts", "lang", "prompts_hash")),
        "models": sorted({model for run in runs for model in run["told"]}),
        **{
            column: [{**one, column: json.loads(one[column])} for one in _count(runs, column)]
            for column in ("model_settings", "left_out")
        },
        "seeds": sorted({one.cell.seed for one in games}),
        "file": sha256(canonical(file.model_dump(mode="json", by_alias=True))),
        "digests": sha256(canonical(sorted(one.cell.digest for one in games))),
        **{column: _sum(runs, column) for column in ("calls", "failed", "tokens_in", "tokens_out", "usd")},
        **{column: _sum_of_told(runs, column) for column in PARTS},
    }


def _count(runs: list[dict[str, Any]], *columns: str) -> Iterator[dict[str, Any]]:
    """Yield the values that these columns have together, each with its number of runs."""
    found = Counter(tuple(run[column] for column in columns) for run in runs)
    for values, count in sorted(found.items(), key=repr):
        yield {**dict(zip(columns, values, strict=True)), "runs": count}


def _sum(runs: list[dict[str, Any]], column: str) -> float | None:
    """Return a sum over runs, None if it is unknown of one."""
    values = [run[column] for run in runs]
    return None if None in values else round(sum(values), DECIMALS)


def _sum_of_told(runs: list[dict[str, Any]], column: str) -> float | None:
    """Return the sum over the runs of which a number is told, None if it is told of none."""
    told = [run for run in runs if run[column] is not None]
    return _sum(told, column) if told else None
