"""The figures of a report, computed once more from exported Parquet files by other means than the report's.

It uses numpy for arithmetic, all sign flips for p, and Student's noncentral distribution for the power.
"""

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scipy import optimize
from scipy.stats import nct, norm, t

ROUNDS = 40_000
"""The resamples of an interval; with so many, its ends are good to about a hundredth of its width."""


def recomputed(exports: Path, baseline: str, measures: Sequence[str]) -> dict[str, Any]:
    """Return the arms, differences and detectable differences of the runs in a folder of exports."""
    values: dict[str, dict[str, dict[int, float]]] = {}
    tainted: dict[str, int] = {}
    for folder in sorted(exports.iterdir()):
        about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        arm, seed = about["name"].split(".", 1)[1].rsplit(".", 1)
        tainted[arm] = tainted.get(arm, 0) + about["tainted"]
        for row in pq.read_table(folder / "measures.parquet").to_pylist():
            if row["scope"] == "run" and row["value"] is not None and row["name"] in measures:
                values.setdefault(arm, {}).setdefault(row["name"], {})[int(seed)] = row["value"]
    differences = []
    detectable: dict[str, float] = {}
    for arm in values:
        if arm == baseline:
            continue
        rows = []
        for measure in measures:
            one, other = values[arm][measure], values[baseline][measure]
            pairs = np.array([one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())])
            spread = math.sqrt(((pairs - pairs.mean()) ** 2).sum() / (len(pairs) - 1))
            effect = pairs.mean() / spread if spread else None
            rows.append({"arm": arm, "measure": measure, **mean(pairs), "p": p(pairs), "effect": effect})
            if arm != "null":
                size = smallest_effect(len(pairs)) * spread
                detectable[measure] = max(size, detectable.get(measure, 0.0))
        differences += with_holm(rows)
    arms = {
        arm: {
            "tainted": tainted[arm],
            "measures": {m: mean(np.array(list(by_seed.values()))) for m, by_seed in of_arm.items()},
        }
        for arm, of_arm in values.items()
    }
    return {"arms": arms, "differences": differences, "detectable": detectable}


def hypotheses(exports: Path, asked: Sequence[dict[str, str]], baseline: str) -> list[dict[str, Any]]:
    """Return the numbers and the verdict of each hypothesis, from the runs in a folder of exports."""
    values: dict[tuple[str, str, str], dict[int, float]] = {}
    for folder in sorted(exports.iterdir()):
        name = json.loads((folder / "run.json").read_text(encoding="utf-8"))["name"]
        arm, seed = name.split(".", 1)[1].rsplit(".", 1)
        for row in pq.read_table(folder / "measures.parquet").to_pylist():
            if row["value"] is not None:
                values.setdefault((arm, row["scope"], row["name"]), {})[int(seed)] = row["value"]
    rows = []
    for one in asked:
        arm, measure = one["arm"], one["measure"]
        scopes = ((arm, "run"), (baseline, "run"))
        if one.get("test") == "halves":
            scopes = ((arm, "second-half"), (arm, "first-half"))
        first, second = (values[*scope, measure] for scope in scopes)
        if one.get("test") == "zero":
            first, second = values[arm, "run", measure], dict.fromkeys(first, 0.0)
        pairs = np.array([first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())])
        rows.append({**mean(pairs), "p": p(pairs)})
    for one, row in zip(asked, with_holm(rows), strict=True):
        as_expected = (row["mean"] > 0) == (one["direction"] == "higher")
        found = "supported" if as_expected else "not supported"
        row["verdict"] = found if row["p_holm"] < 0.05 else "undecided"
    return rows


def mean(values: Any) -> dict[str, Any]:
    """Return n, mean, and the ends of the BCa interval at the level that the t distribution asks for."""
    n = len(values)
    middle = values.mean()
    resampled = np.sort(values[np.random.default_rng(1).integers(0, n, (ROUNDS, n))].mean(axis=1))
    below = ((resampled < middle).sum() + (resampled <= middle).sum()) / 2 / ROUNDS
    bias = norm.ppf(below)
    left_out = (values.sum() - values) / (n - 1)
    off = left_out.mean() - left_out
    skew = (off**3).sum() / (6 * (off**2).sum() ** 1.5) if off.any() else 0.0
    reach = math.sqrt(n / (n - 1)) * t.ppf(0.975, n - 1)
    ends = [norm.cdf(bias + (bias + z) / (1 - skew * (bias + z))) for z in (-reach, reach)]
    low, high = np.quantile(resampled, ends)
    return {"n": n, "mean": middle, "low": low, "high": high}


def p(pairs: Any) -> float:
    """Return the share of all sign flips whose mean is at least as far from 0."""
    observed = abs(pairs.sum())
    flipped = [abs((pairs * signs).sum()) for signs in itertools.product((1, -1), repeat=len(pairs))]
    return sum(1 for one in flipped if one >= observed * (1 - 1e-12)) / len(flipped)


def with_holm(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with `p_holm`: p times the number of the p that are at least as large, never falling."""
    largest = 0.0
    for place, row in enumerate(sorted(rows, key=lambda row: row["p"])):
        largest = max(largest, min(1.0, row["p"] * (len(rows) - place)))
        row["p_holm"] = largest
    return rows


def smallest_effect(n: int) -> float:
    """Return the effect that a two-sided t test of n pairs finds with a probability of 80%."""
    limit = t.ppf(0.975, n - 1)

    def missing_power(effect: float) -> float:
        off = effect * math.sqrt(n)
        return float(nct.sf(limit, n - 1, off) + nct.cdf(-limit, n - 1, off)) - 0.8

    return float(optimize.brentq(missing_power, 0.01, 10))
