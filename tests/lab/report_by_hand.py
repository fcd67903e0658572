"""The figures of a report, computed once more from Parquet files alone by other means than the report's.

The differences come from exported runs: numpy for arithmetic, all sign flips for p, and Student's noncentral
distribution for the power. The curves come from what the experiment gathered, spell by spell and turn by
turn. Measures are computed anew from spells, scores and owners.
"""

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds
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


def table(gathered: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of a gathered table of all arms."""
    rows: list[dict[str, Any]] = ds.dataset(gathered / name, partitioning="hive").to_table().to_pylist()
    return rows


def over_time(gathered: Path, arm: str, measure: str, first: int, last: int) -> dict[str, Any]:
    """Return the mean over games of a measure's mean in some turns, with its t interval."""
    games: dict[int, list[float]] = {}
    for row in table(gathered, "turns"):
        if row["arm"] == arm and first <= row["turn"] <= last and row[measure] is not None:
            games.setdefault(row["seed"], []).append(row[measure])
    means = [sum(values) / len(values) for values in games.values()]
    if not means:
        return {"n": 0, "mean": None, "low": None, "high": None}
    n, middle = len(means), sum(means) / len(means)
    spread = math.sqrt(sum((one - middle) ** 2 for one in means) / (n - 1))
    reach = t.ppf(0.975, n - 1) * spread / math.sqrt(n)
    return {"n": n, "mean": middle, "low": middle - reach, "high": middle + reach}


def spells(gathered: Path, arm: str) -> dict[int, list[tuple[int, bool]]]:
    """Return the spells of each game of an arm, one by one: how long each lasted, and whether it ended."""
    games: dict[int, list[tuple[int, bool]]] = {}
    for row in table(gathered, "spells"):
        if row["arm"] == arm:
            games.setdefault(row["seed"], []).extend([(row["turns"], row["ended"])] * row["count"])
    return games


def surviving(found: Sequence[tuple[int, bool]], turns: int) -> float:
    """Return the Kaplan-Meier share of the spells that last longer than so many turns."""
    share = 1.0
    for age in sorted({length for length, ended in found if ended and length <= turns}):
        at_risk = sum(length >= age for length, _ in found)
        share *= 1 - sum(ended and length == age for length, ended in found) / at_risk
    return share


def half_life(found: Sequence[tuple[int, bool]]) -> int | None:
    """Return the smallest age that at most half of the spells outlast."""
    ages = range(1, max((length for length, _ in found), default=0) + 1)
    return next((age for age in ages if surviving(found, age) <= 1 / 2 + 1e-12), None)


def band(games: Sequence[Sequence[tuple[int, bool]]], turns: int) -> tuple[float, float]:
    """Return the ends of the band of a survival curve at some turns, from resampled games."""
    n, rng = len(games), np.random.default_rng(7)
    shares = sorted(
        surviving([spell for game in rng.integers(0, n, n) for spell in games[game]], turns)
        for _ in range(500)
    )
    outside = norm.cdf(-math.sqrt(n / (n - 1)) * t.ppf(0.975, n - 1))
    low, high = np.quantile(shares, [outside, 1 - outside])
    return float(low), float(high)


def turnover(found: Sequence[tuple[int, bool]]) -> float:
    """Return the plots that changed hands by the plots owned: a spell of n rounds was owned n times."""
    return sum(ended for _, ended in found) / sum(length for length, _ in found)


def gini(values: Sequence[float]) -> float:
    """Return the mean difference of all ordered pairs by twice the mean."""
    n = len(values)
    return sum(abs(a - b) for a in values for b in values) / (2 * n * sum(values))


def hhi(owners: Sequence[Sequence[str | None]]) -> float:
    """Return the sum of the squared shares of the plots that are owned."""
    owned = [owner for row in owners for owner in row if owner is not None]
    return sum((owned.count(owner) / len(owned)) ** 2 for owner in set(owned))


def payoff(gathered: Path, arm: str, player: str) -> dict[str, Any]:
    """Return the mean over games of the mean score of a player's agents."""
    games: dict[int, list[int]] = {}
    for row in table(gathered, "scores"):
        if row["arm"] == arm and row["player"].split("?")[0] == player:
            games.setdefault(row["seed"], []).append(row["score"])
    return mean(np.array([sum(scores) / len(scores) for scores in games.values()]))
