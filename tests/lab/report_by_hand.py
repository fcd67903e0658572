"""The report of an experiment, computed once more from the run database with pandas and scipy.

    python -m tests.lab.report_by_hand .hobbes/runs.db NAME.toml

Nothing of hobbes is imported. All sign flips and all resamples of games are counted, and power is simulated
in another way. So this is for small experiments, of up to 8 seeds, whose file names its measures. What the
report draws at random must lie in a `Range`.
"""

import hashlib
import itertools
import json
import math
import re
import sqlite3
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import optimize, stats

ALMOST_0 = 1e-11
SCOPES = ("run", "first-half", "second-half")
DECISIONS = {"answered", "repaired"}
COMPARED = ("baseline", "halves", "zero", "trend", "interaction")

Row = dict[str, Any]


class Range(NamedTuple):
    """From where to where a figure may lie that the report draws at random."""

    least: float
    most: float


class Home:
    """What the run database has of an experiment, and what its file asks for."""

    def __init__(self, runs_db: Path, asked: Row, *, with_tainted: bool) -> None:
        sql = (
            "select cells.arm as cell, cells.seed as cell_seed, ifnull(name, id) as name, reported.*, runs.*"
            " from cells join runs on runs.id = cells.run join reported on reported.run = runs.id"
            " where experiment = ? and status = 'finished'"
        )
        with closing(sqlite3.connect(runs_db)) as connection:
            games = pd.read_sql_query(sql, connection, params=[asked["name"]])
            plans = pd.read_sql_query(
                "select * from plans where experiment = ? order by kept", connection, params=[asked["name"]]
            )
        games = games.loc[:, ~games.columns.duplicated()]
        for column in (
            "models",
            "scores",
            "outcomes",
            "winners",
            "measures",
            "over_time",
            "spells",
            "ratings",
        ):
            games[column] = games[column].map(json.loads)
        games["rounds"] = games["config"].map(lambda config: json.loads(config)["rounds"])
        games["worded"] = games["cell"].str.partition("@")[0]
        games["arm"] = games["worded"].str.partition("~")[0]
        games["tainted"] = games["tainted"].astype(bool)
        games["failed"] = games["outcomes"].map(
            lambda of: sum(n for one, n in of.items() if one not in DECISIONS)
        )
        compare = asked.get("compare", {})
        self.asked, self.plan = asked, plans[plans["why"].isna()].iloc[-1]
        self.levels = levels(asked["factors"]) if "factors" in asked else {arm: {} for arm in asked["arms"]}
        self.arms = [*self.levels, *(["null"] if compare.get("null", True) else [])]
        self.baseline: str = compare.get("baseline", self.arms[0])
        self.measures: list[str] = compare["measures"]
        seeds = asked["seeds"]
        self.seeds = list(range(1, seeds + 1)) if isinstance(seeds, int) else seeds
        numbers = range(2, asked.get("answers", 1) + 1)
        self.cells = [
            copy
            for arm in self.arms
            for worded in self.worded(arm)
            for copy in (worded, *(f"{worded}@{n}" for n in numbers))
        ]
        order = {place: n for n, place in enumerate(itertools.product(self.seeds, self.cells))}
        games = games[[place in order for place in zip(games["cell_seed"], games["cell"], strict=True)]]
        self.all = games.iloc[
            np.argsort([order[p] for p in zip(games["cell_seed"], games["cell"], strict=True)])
        ]
        self.games = self.all if with_tainted else self.all[~self.all["tainted"]]
        turn = [
            self.worded(arm)[self.seeds.index(seed) % len(self.worded(arm))]
            for arm, seed in zip(self.games["arm"], self.games["cell_seed"], strict=True)
        ]
        self.first = self.games[self.games["cell"] == turn]
        self.values = self._values()
        self.failing = {
            *self.all[self.all["failed"] > 0][["arm", "cell_seed"]].itertuples(index=False, name=None)
        }

    def _values(self) -> dict[tuple[str, str, str], pd.Series]:
        """Return the measures by seed of each scope, name and arm: the means over the answers."""
        rows = []
        for game in self.games.itertuples():
            for name, of_scopes in game.measures.items():
                for scope, value in zip(SCOPES, of_scopes, strict=True):
                    timed = name in DURATIONS and (game.spells or not DURATIONS[name])
                    ends = timed and scope == "run" and value is None
                    rows.append((scope, name, game.worded, game.cell_seed, game.turns if ends else value))
        table = pd.DataFrame(rows, columns=["scope", "name", "arm", "seed", "value"]).astype({"value": float})
        means = table.groupby(["scope", "name", "arm", "seed"])["value"].mean().dropna()
        places = ["scope", "name", "arm"]
        return {place: of.droplevel(places) for place, of in means.groupby(level=places)}

    def worded(self, arm: str) -> list[str]:
        """Return the names of an arm with each of its wordings."""
        name = self.baseline if arm == "null" else arm
        own = self.asked["arms"][name] if "arms" in self.asked else {}
        for key, one in (("paraphrases", "prompts"), ("models", "model")):
            if given := own.get(key) or (None if own.get(one) else self.asked.get(key)):
                return [f"{arm}~{in_a_name(Path(w).name if key == 'paraphrases' else w)}" for w in given]
        return [arm]

    def by_wording(self, arm: str, measure: str, scope: str = "run") -> pd.DataFrame:
        """Return a measure of an arm, a row for each seed with which all wordings have it."""
        unknown = pd.Series(dtype=float)
        found = {
            name.partition("~")[2]: self.values.get((scope, measure, name), unknown)
            for name in self.worded(arm)
        }
        table = pd.DataFrame(found).dropna()
        return table.reindex([seed for seed in self.seeds if seed in table.index])

    def by_seed(self, arm: str, measure: str, scope: str = "run") -> pd.Series:
        """Return a measure of an arm by seed, in the order of the file: the mean over wordings."""
        return self.by_wording(arm, measure, scope).mean(axis=1)

    def of_arm(self, arm: str) -> pd.DataFrame:
        """Return the games of an arm on which curves rest."""
        return self.first[self.first["arm"] == arm]


def levels(factors: Row) -> dict[str, Row]:
    """Return the levels of each arm by factor."""
    given = {name: list(values) for name, values in factors.items() if name != "design"}
    made: Sequence[Row]
    match factors.get("design", "crossed"):
        case "crossed":
            made = [dict(zip(given, one, strict=True)) for one in itertools.product(*given.values())]
        case "one-at-a-time":
            made = [{}, *({name: level} for name, of_name in given.items() for level in of_name)]
        case _:
            pairs = itertools.combinations_with_replacement(next(iter(given.values())), 2)
            made = [dict(zip(given, pair, strict=True)) for pair in pairs]
    return {",".join(f"{k}={in_a_name(v)}" for k, v in one.items()) or "baseline": one for one in made}


def in_a_name(level: object) -> str:
    """Return a level as a part of an arm's name."""
    return re.sub(r"[^\w.]+", "-", level).strip("-") if isinstance(level, str) else json.dumps(level)


def report_by_hand(runs: Path, asked: Row, *, with_tainted: bool = True) -> Row:
    """Return the report of an experiment: its file's content is `asked`."""
    home = Home(runs, asked, with_tainted=with_tainted)
    others = [arm for arm in home.levels if arm != home.baseline]
    differences = [
        {"baseline": home.baseline, **row}
        for arms in (others, home.arms[len(home.levels) :])
        for row in compared(home, arms, {home.baseline: -1.0})
    ]
    detectable: dict[str, Row] = {}
    for row in differences:
        detectable.setdefault(row["arm"], {})[row["measure"]] = row["detectable"]
    return {
        "experiment": asked["name"],
        "plan": plan(home),
        "from": None,
        "arms": {arm: by_itself(home, arm) for arm in home.arms},
        "differences": differences,
        "halves": compared(home, home.arms, None),
        "detectable": detectable,
        "failures": failures(home),
        "cells": [
            {
                "arm": one.cell,
                "seed": one.cell_seed,
                "run": one.name,
                "digest": one.digest,
                "tainted": one.tainted,
            }
            for one in home.all.rename(columns={"name": "named"})
            .assign(name=home.all["name"])
            .itertuples(index=False)
        ],
        "hypotheses": hypotheses(home),
        "rankings": rankings(home),
        "doses": list(doses(home)),
        "over_time": list(over_time(home)),
        "survival": [survival(home, arm) for arm in home.arms if any(home.of_arm(arm)["spells"])],
        "durations": list(durations(home)),
        "ratings": list(ratings(home)),
        "payoffs": list(payoffs(home)),
    }


def plan(home: Home) -> Row:
    """Return the frozen plan, which the file still is."""
    kept = json.loads(home.plan["plan"])
    return {
        "hash": hashlib.sha256(home.plan["plan"].encode()).hexdigest(),
        "frozen": home.plan["kept"],
        "seeds": home.seeds,
        "smallest": home.asked.get("smallest", {}),
        "prompts": kept["prompts"],
        "models": kept["models"],
        "changes": [],
        "amendments": [],
    }


# Means, intervals, tests


def ends_of(values: Any) -> tuple[float, float]:
    """Return Student's interval with Johnson's correction, threefold, on the side of the longer tail."""
    return ends(len(values), np.mean(values), np.std(values, ddof=1), stats.skew(values), 0.05)


def ends(n: int, middle: Any, s: Any, skewness: Any, level: float) -> tuple[Any, Any]:
    """Return the ends of that interval from the size, mean, deviation and skewness of samples."""
    reach = stats.t.isf(level / 2, n - 1) / math.sqrt(n)
    shift = 3 * skewness * s * (reach**2 / 3 + 1 / (6 * n))
    return middle - reach * s + np.minimum(0, shift), middle + reach * s + np.maximum(0, shift)


def mean(found: Sequence[float]) -> Row:
    """Return n, mean, and the ends of the interval, None for fewer than three values or equal ones."""
    values = np.asarray(found, float)
    row: Row = {
        "n": len(values),
        "mean": float(values.mean()) if len(values) else None,
        "low": None,
        "high": None,
    }
    if len(values) > 2 and np.ptp(values) > ALMOST_0:
        row["low"], row["high"] = map(float, ends_of(values))
    return row


@cache
def p_above(sample: tuple[float, ...]) -> float:
    """Return the p that a mean is above 0: of all sign flips, or at which its interval ends at 0."""
    values = np.array(sample)
    signs = np.array(list(itertools.product((1, -1), repeat=len(values))))
    flips = float(((signs @ values) >= values.sum() - ALMOST_0).mean())
    if np.ptp(values) < ALMOST_0:
        return flips if abs(values.mean()) > ALMOST_0 else 1.0
    middle, s, skewness = values.mean(), np.std(values, ddof=1), stats.skew(values)
    distance = middle / s + min(0, 3 * skewness) / (6 * len(values))
    if distance <= 0:
        return max(flips, float(stats.t.sf(math.sqrt(len(values)) * distance, len(values) - 1)))
    level = optimize.brentq(
        lambda level: ends(len(values), middle, s, skewness, level)[0],
        1e-15,
        1 - 1e-9,
        xtol=1e-16,
        rtol=1e-12,
    )
    return max(flips, float(level) / 2)


def tests(found: Sequence[float], margin: float | None) -> tuple[float | None, float | None]:
    """Return the p of a difference from 0, and of lying within a margin."""
    values = np.asarray(found, float)
    if len(values) < 2:
        return None, None
    p = min(1.0, 2 * min(p_above(tuple(values)), p_above(tuple(-values))))
    if margin is None or np.ptp(values) < ALMOST_0:
        return p, None if margin is None else 1.0
    return p, max(p_above(tuple(margin + values)), p_above(tuple(margin - values)))


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Return each p times the number of those at least as large, never falling."""
    known = pd.Series(ps, dtype=float).dropna().sort_values()
    corrected = (known * np.arange(len(known), 0, -1)).clip(upper=1).cummax()
    return [corrected.get(place) for place in range(len(ps))]


Sample = tuple[str, pd.Series, Mapping[str, float], str]
"""What is compared: a measure, its values by seed, the weights of arms, and whether by halves or by runs."""


def judged(home: Home, samples: Sequence[Sample]) -> list[Row]:
    """Return comparisons with their tests."""
    rows = corrected(home, samples)
    clean = [
        (measure, values[[not any((a, seed) in home.failing for a in arms) for seed in values.index]], *rest)
        for measure, values, arms, scope in samples
        for rest in [(arms, scope)]
    ]
    for row, left, (_, values, *_), (_, some, *_) in zip(
        rows, corrected(home, clean), samples, clean, strict=True
    ):
        keys = ("n", "mean", "low", "high", "p", "p_holm")
        row["without_failures"] = {key: left[key] for key in keys} if len(some) < len(values) else None
    return rows


def worded_tables(home: Home, sample: Sample, seen: pd.Series) -> list[tuple[list[str], pd.DataFrame]]:
    """Return the comparison with each wording alone, by seed, for the arms that share wordings."""
    measure, _, weights, scope = sample
    found: list[tuple[list[str], pd.DataFrame]] = []
    for arm, weight in weights.items():
        table = (
            home.by_wording(arm, measure, "second-half") - home.by_wording(arm, measure, "first-half")
            if scope == "halves"
            else home.by_wording(arm, measure)
        )
        if table.shape[1] == 1:
            continue
        off = weight * table.loc[seen.index].sub(table.loc[seen.index].mean(axis=1), axis=0)
        for place, (arms, others) in enumerate(found):
            if {*others.columns} == {*off.columns}:
                found[place] = ([*arms, arm], others + off)
                break
        else:
            found.append(([arm], off.add(seen, axis=0)))
    return found


def over_wordings(row: Row, tables: Sequence[pd.DataFrame], seen: pd.Series) -> None:
    """Widen an interval and raise p by the t tests over wordings, and by Clark's min F'."""
    of = [stats.sem(table.mean()) ** 2 for table in tables]
    parts = [(v if v > 1e-24 else 0.0, table.shape[1] - 1) for v, table in zip(of, tables, strict=True)]
    row["errors"] = []
    for some in (parts, [*parts, (stats.sem(seen) ** 2, len(seen) - 1)]):
        variance = sum(v for v, _ in some)
        squares = sum(v**2 / freedom for v, freedom in some)
        row["errors"].append((math.sqrt(variance), variance**2 / squares if squares else some[0][1]))
    for error, freedom in row["errors"]:
        if error == 0:
            row["p"] = max(row["p"], float(row["mean"] == 0))
            continue
        student = stats.t(freedom, scale=error)
        row["p"] = max(row["p"], 2 * float(student.sf(abs(row["mean"]))))
        if row["p_margin"] is not None:
            row["p_margin"] = max(row["p_margin"], float(student.sf(row["margin"] - abs(row["mean"]))))
        if len(seen) > 2:
            off = float(student.isf(0.025))
            row["low"] = min(row["mean"] - off, math.inf if row["low"] is None else row["low"])
            row["high"] = max(row["mean"] + off, -math.inf if row["high"] is None else row["high"])


def each_wording(home: Home, arms: Sequence[str], table: pd.DataFrame) -> Row:
    """Return the comparison with each wording alone, and the spreads of a two-way analysis of variance."""
    asked = home.asked.get("arms", {}).get(home.baseline if arms[0] == "null" else arms[0], {})
    is_worded = "paraphrases" in asked or ("paraphrases" in home.asked and "prompts" not in asked)
    found: Row = {"arms": list(arms), "kind": "paraphrases" if is_worded else "models"}
    found |= {"between": None, "of_games": None}
    if len(table) > 2:
        values = table.to_numpy()
        rest = values - values.mean(0) - values.mean(1)[:, None] + values.mean()
        noise = (rest**2).sum() / ((values.shape[0] - 1) * (values.shape[1] - 1))
        found["between"] = math.sqrt(max(0.0, table.mean().var() - noise / len(table)))
        found["of_games"] = math.sqrt(table.var().mean())
    return found | {"each": [{"wording": name, **mean(table[name].to_numpy())} for name in table]}


def corrected(home: Home, samples: Sequence[Sample]) -> list[Row]:
    """Return comparisons with their tests, corrected for their number."""
    rows: list[Row] = []
    for sample in samples:
        measure, values, *_ = sample
        margin = home.asked.get("smallest", {}).get(measure)
        row: Row = {"measure": measure, **mean(values.to_numpy()), "margin": margin}
        row["p"], row["p_margin"] = tests(values.to_numpy(), margin)
        tables = worded_tables(home, sample, values)
        if tables and row["p"] is not None:
            over_wordings(row, [table for _, table in tables], values)
        row["wordings"] = [each_wording(home, arms, table) for arms, table in tables]
        row["spread"] = None
        if len(values) > 1:
            row["spread"] = float(values.std()) if np.ptp(values.to_numpy()) > ALMOST_0 else 0.0
        rows.append(row | {"effect": row["mean"] / row["spread"] if row["spread"] else None})
    level = 0.05 / max(1, sum(row["p"] is not None for row in rows))
    for row, p, p_margin in zip(
        rows, holm([r["p"] for r in rows]), holm([r["p_margin"] for r in rows]), strict=True
    ):
        row |= {"p_holm": p, "p_margin_holm": p_margin, "detectable": detectable(row, level), "level": level}
        row.pop("errors", None)
    return rows


def detectable(row: Row, level: float) -> Range | None:
    """Return the smallest difference found in 80% of experiments: where the lower ends are above 0."""
    if not row["spread"] or 2.0 ** (1 - row["n"]) > level:
        return None
    found = smallest_effect(row["n"], level) * row["spread"]
    for error, freedom in row.get("errors", ()):
        limit = stats.t.isf(level / 2, freedom)
        effect = optimize.brentq(lambda nc, f=freedom, x=limit: stats.nct.sf(x, f, nc) - 0.8, 0, 1e5)
        found = max(found, effect * error)
    return Range(0.93 * found, 1.07 * found)


@cache
def smallest_effect(n: int, level: float) -> float:
    """Return the effect at which 80% of simulated lower ends are above 0.

    The lower end of a test of sign flips is one of the means of all subsets (Hartigan 1969).
    """
    samples = np.random.default_rng(99).normal(size=(1000, n))
    subsets = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    means = np.sort(samples @ subsets.T / subsets.sum(axis=1), axis=1)
    flips = means[:, max(0, math.ceil(level / 2 * 2**n) - 2)]
    middles, deviations = samples.mean(axis=1), samples.std(axis=1, ddof=1)
    students, _ = ends(n, middles, deviations, stats.skew(samples, axis=1), level)
    return float(np.quantile(-np.minimum(flips, students), 0.8))


def no_larger(row: Row) -> bool:
    """Return whether a difference is no larger than its margin, by so many pairs as can find one."""
    if row["p_margin_holm"] is None or 2.0 ** (1 - row["n"]) > row["level"]:
        return False
    return bool(row["p_margin_holm"] < 0.05)


def compared(home: Home, arms: Sequence[str], minus: Mapping[str, float] | None) -> list[Row]:
    """Return the comparisons of arms with the baseline, or of the halves of their runs."""
    places = list(itertools.product(arms, home.measures))
    samples = [
        (measure, halves(home, arm, measure), {arm: 1.0}, "halves")
        if minus is None
        else (measure, weighted(home, measure, {arm: 1.0, **minus}), {arm: 1.0, **minus}, "runs")
        for arm, measure in places
    ]
    rows = judged(home, samples)
    for row, (arm, _) in zip(rows, places, strict=True):
        found = row["p_holm"] is not None and row["p_holm"] < 0.05
        small = "no larger than" if no_larger(row) else "cannot tell"
        row |= {"arm": arm, "exploratory": False, "verdict": small}
        if found:
            row["verdict"] = "higher" if row["mean"] > 0 else "lower"
        if minus is None and row["spread"] == 0:
            without_p(row)
        del row["level"]
    return rows


def without_p(row: Row) -> None:
    """Leave out the p of halves whose values are all equal: they may be one game, played again and again."""
    row |= {"p": None, "p_holm": None, "verdict": "cannot tell"}
    if row["without_failures"]:
        row["without_failures"] |= {"p": None, "p_holm": None}


def weighted(home: Home, measure: str, weights: Mapping[str, float]) -> pd.Series:
    """Return the weighted sum of arms by seed, where all have a value."""
    parts = [home.by_seed(arm, measure) * weight for arm, weight in weights.items()]
    found = pd.concat(parts, axis=1).dropna().sum(axis=1).round(12)
    return found.reindex([seed for seed in home.seeds if seed in found.index])


def halves(home: Home, arm: str, measure: str) -> pd.Series:
    """Return the second half of a run minus the first."""
    found = home.by_seed(arm, measure, "second-half") - home.by_seed(arm, measure, "first-half")
    found = found.dropna().round(12)
    return found.reindex([seed for seed in home.seeds if seed in found.index])


def hypotheses(home: Home) -> list[Row]:
    """Return the numbers and the verdict of each hypothesis."""
    asked = [
        {"arm": None, "test": "baseline", "against": None, "share": None, "factors": None, **one}
        for one in home.asked.get("hypothesis", ())
    ]
    samples: list[Sample] = []
    for one in asked:
        if one["test"] == "halves":
            of = halves(home, one["arm"], one["measure"])
            samples.append((one["measure"], of, {one["arm"]: 1.0}, "halves"))
            continue
        weights = {one["arm"]: 1.0}
        if one["test"] == "baseline":
            weights[one["against"] or home.baseline] = -(one["share"] or 1.0)
        elif one["factors"]:
            weights = contrast(home, one["factors"])
        samples.append((one["measure"], weighted(home, one["measure"], weights), weights, "runs"))
    rows = judged(home, samples)
    for row, one in zip(rows, asked, strict=True):
        row.update(one, verdict="no larger than" if no_larger(row) else "cannot tell")
        if row["p_holm"] is not None and row["p_holm"] < 0.05:
            expected = (row["mean"] > 0) == (one["direction"] == "higher")
            row["verdict"] = "supported" if expected else "not supported"
        del row["level"]
    return rows


def contrast(home: Home, factors: Sequence[str]) -> dict[str, float]:
    """Return the weights of a trend or an interaction: a regression on the product of the centred factors."""
    product, size = pd.Series(1.0, index=list(home.levels)), 1.0
    for factor in factors:
        found = pd.Series({arm: value_of(home, arm, factor) for arm in home.levels})
        x = found.astype(float)
        product, size = product * (x - x.mean()), size * (x.max() - x.min())
    return dict(product * size / (product**2).sum())


def by_itself(home: Home, arm: str) -> Row:
    """Return the figures of an arm."""
    runs = home.all[home.all["arm"] == arm]
    measures = {}
    for one in home.measures:
        values = home.by_seed(arm, one)
        lowest = {"minimum": values.min(), "quantile_5": values.quantile(0.05)} if len(values) else {}
        measures[one] = {**mean(values.to_numpy()), "minimum": None, "quantile_5": None, **lowest}
    return {"runs": len(runs), "tainted": int(runs["tainted"].sum()), "measures": measures}


# Failures and spread


def failures(home: Home) -> list[Row]:
    """Return how the calls of each arm ended, with a test against the baseline."""
    games = home.games.assign(calls=home.games["outcomes"].map(lambda of: sum(of.values())))
    games["share"] = (games["failed"] / games["calls"]).fillna(0)
    by_seed = games.groupby(["arm", "cell_seed"])["share"].mean()
    others = [arm for arm in home.arms if arm != home.baseline]
    rows = {}
    for arm in home.arms:
        of = games[games["arm"] == arm]
        outcomes = pd.DataFrame(list(of["outcomes"])).sum().astype(int).to_dict() if len(of) else {}
        calls, failed = sum(outcomes.values()), int(of["failed"].sum())
        rows[arm] = {"arm": arm, "games": len(of), "with_failures": int((of["failed"] > 0).sum())}
        rows[arm] |= {"outcomes": {name: n for name, n in outcomes.items() if n}, "failed": failed}
        rows[arm] |= {"share": failed / calls if calls else None, "difference": None}
    found = []
    for arm in others:
        off = (by_seed.get(arm, pd.Series(dtype=float)) - by_seed.get(home.baseline)).dropna().to_numpy()
        found.append({**mean(off), "p": tests(off, None)[0]})
    for arm, row, p in zip(others, found, holm([row["p"] for row in found]), strict=True):
        rows[arm]["difference"] = row | {"p_holm": p}
    return list(rows.values())


# Curves


def value_of(home: Home, arm: str, factor: str) -> Any:
    """Return the value of a factor in an arm."""
    given, levels_ = home.asked["factors"][factor], home.levels[arm]
    if factor in levels_:
        return given[levels_[factor]] if isinstance(given, dict) else levels_[factor]
    for table in (home.asked.get("parameters", {}), home.asked, home.asked.get("set", {})):
        value: Any = table
        for part in [factor] if factor in table else factor.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            return value
    return None


def doses(home: Home) -> Iterator[Row]:
    """Yield the means of the arms by the values of each factor that has numbers."""
    factors = home.asked.get("factors", {})
    for factor in [name for name in factors if name != "design"]:
        curves: dict[str, tuple[Row, dict[str, Any]]] = {}
        for arm, of_arm in home.levels.items():
            fixed = {name: level for name, level in of_arm.items() if name != factor}
            value = value_of(home, arm, factor)
            if type(value) in {int, float} and not (fixed and factors.get("design") == "one-at-a-time"):
                curves.setdefault(json.dumps(fixed), (fixed, {}))[1][arm] = value
        for measure, (fixed, values) in itertools.product(home.measures, curves.values()):
            if len(set(values.values())) > 1:
                points = [
                    {"value": value, "arm": arm, **mean(home.by_seed(arm, measure).to_numpy())}
                    for arm, value in sorted(values.items(), key=lambda one: one[1])
                ]
                yield {"factor": factor, "measure": measure, "fixed": fixed, "points": points}


def stretches(turns: int, most: int) -> list[tuple[int, int]]:
    """Return the first and the last of every so many turns, so that there are at most so many stretches."""
    step = max(1, math.ceil(turns / most))
    return [(first, min(first + step, turns) - 1) for first in range(0, turns, step)]


def over_time(home: Home) -> Iterator[Row]:
    """Yield the means over games of each measure of turns, with their t intervals."""
    for arm in home.arms:
        games = home.of_arm(arm)
        for measure in games["over_time"].iloc[0] if len(games) else ():
            table, points = (
                pd.DataFrame([pd.Series(of[measure], dtype=float) for of in games["over_time"]]),
                [],
            )
            for place, (first, last) in enumerate(stretches(games["rounds"].max(), 40)):
                if first < games["turns"].max():
                    values = table[place].dropna().to_numpy()
                    row = {**mean([]), "n": len(values), "mean": values.mean() if len(values) else None}
                    if len(values) > 2:
                        off = stats.sem(values) * stats.t.isf(0.025, len(values) - 1)
                        row["low"] = max(values.mean() - off, min(0, *values))
                        row["high"] = min(values.mean() + off, max(1, *values))
                    points.append({"first": first, "last": min(last, int(games["turns"].max()) - 1), **row})
            if any(point["n"] for point in points):
                yield {"arm": arm, "measure": measure, "points": points}


def spells(home: Home, arm: str) -> dict[int, list[tuple[int, bool]]]:
    """Return the spells of each game of an arm, one by one: how long each lasted, and whether it ended."""
    return {
        game.cell_seed: [(turns, ended) for turns, ended, count in game.spells for _ in range(count)]
        for game in home.of_arm(arm).itertuples()
    }


def surviving(found: Sequence[tuple[float, bool]], ages: Sequence[float]) -> Any:
    """Return the Kaplan-Meier share of what lasts longer than so many turns."""
    turns, ended = np.array(found).T
    return stats.ecdf(stats.CensoredData.right_censored(turns, ended == 0)).sf.evaluate(np.asarray(ages))


def half_life(found: Sequence[tuple[int, bool]]) -> int | None:
    """Return the smallest age that at most half of the spells outlast."""
    if not found:
        return None
    ages = range(1, max(length for length, _ in found) + 1)
    return next((a for a, s in zip(ages, surviving(found, ages), strict=True) if s <= 1 / 2 + ALMOST_0), None)


def survival(home: Home, arm: str) -> Row:
    """Return the Kaplan-Meier curve of an arm with its band, over all resamples of its games."""
    games = list(spells(home, arm).values())
    together = [spell for game in games for spell in game]
    longest = max(length for length, _ in together)
    ages = [0, *(last + 1 for _, last in stretches(longest, 200))]
    points = [{"turns": a, "share": s} for a, s in zip(ages, surviving(together, ages), strict=True)]
    return {
        "arm": arm,
        "spells": len(together),
        "ended": sum(ended for _, ended in together),
        "games": len(games),
        "median": half_life(together),
        "points": [
            {**point, "low": low, "high": high}
            for point, (low, high) in zip(points, bands(games, ages), strict=True)
        ],
    }


def bands(games: Sequence[Sequence[tuple[int, bool]]], ages: Sequence[int]) -> list[tuple[Any, Any]]:
    """Return the ends of the band of a survival curve at some ages: the report draws 999 resamples."""
    n = len(games)
    if n < 3:
        return [(None, None)] * len(ages)
    at_risk, ended = np.zeros((2, n, max(ages) + 1))
    for game, (turns, gone) in ((game, spell) for game, of in enumerate(games) for spell in of):
        at_risk[game, : turns + 1] += 1
        ended[game, turns] += gone
    drawn = np.random.default_rng(7).multinomial(n, [1 / n] * n, 20_000)
    shares_ = (1 - drawn @ ended / np.maximum(drawn @ at_risk, 1)).cumprod(axis=1)[:, ages]
    tail = float(stats.norm.sf(math.sqrt(n / (n - 1)) * stats.t.isf(0.025, n - 1)))
    off = (3 + 4 * math.sqrt(tail * 999 + 2)) / 999
    places = np.clip([[level - off, level + off] for level in (tail, 1 - tail)], 0, 1)
    ends = np.quantile(shares_, places, axis=0)
    return [(Range(*ends[0, :, k]), Range(*ends[1, :, k])) for k in range(len(ages))]


DURATIONS = {"half_life": True, "first_raid": True, "first_attack": False, "end_of_cooperation": False}
"""The measures of what may not happen, and whether it needs land that somebody has owned."""


def durations(home: Home) -> Iterator[Row]:
    """Yield how long games last until something has happened, which may not happen."""
    for measure in DURATIONS:
        if measure in home.measures:
            yield from _durations_of(home, measure)


def _durations_of(home: Home, measure: str) -> Iterator[Row]:
    timed: dict[str, list[tuple[float, bool]]] = {}
    for game in home.first.itertuples():
        value = game.measures[measure][0]
        if value is not None or game.spells or not DURATIONS[measure]:
            timed.setdefault(game.arm, []).append((game.turns if value is None else value, value is not None))
    horizon = max((turns for of in timed.values() for turns, _ in of), default=0)
    for arm in [arm for arm in home.arms if arm in timed]:
        table = pd.DataFrame(timed[arm], columns=["turns", "seen"])
        ages = [0, *sorted(table["turns"].unique())]
        shares_, variance, p, points = surviving(timed[arm], ages), 0.0, None, []
        for age, share in zip(ages, shares_, strict=True):
            at_risk, events = (table["turns"] >= age).sum(), ((table["turns"] == age) & table["seen"]).sum()
            variance += events / (at_risk * (at_risk - events)) if at_risk > events else math.nan
            low = high = 1.0 if age == 0 else None
            if age and len(table) < 3:
                low = high = None
            elif age and 0 < share < 1:
                off = stats.norm.isf(0.025) * math.sqrt(variance) / math.log(share)
                low, high = sorted(share ** math.exp(sign * off) for sign in (1, -1))
            points.append({"turns": int(age), "share": share, "low": low, "high": high})
        if len(table) < 3:
            points[0] |= {"low": None, "high": None}
        area = sum(s * (end - at) for s, at, end in zip(shares_, ages, [*ages[1:], horizon], strict=True))
        if arm != home.baseline and any(
            seen for one in (arm, home.baseline) for _, seen in timed.get(one, ())
        ):
            of = [
                stats.CensoredData.right_censored(
                    *zip(*((t, not seen) for t, seen in timed[one]), strict=True)
                )
                for one in (arm, home.baseline)
            ]
            with np.errstate(invalid="ignore"):
                p = float(stats.logrank(*of).pvalue)
            p = None if math.isnan(p) else p
        yield {
            "arm": arm,
            "measure": measure,
            "games": len(table),
            "happened": int(table["seen"].sum()),
            "horizon": int(horizon),
            "mean": area,
            "points": points,
            "p": p,
        }


def ratings(home: Home) -> Iterator[Row]:
    """Yield what was true of those who were given a rating: the mean over games."""
    for arm in home.arms:
        rows = [one for of in home.of_arm(arm)["ratings"] for one in of]
        table = pd.DataFrame(rows, columns=["kind", "rating", "count", "truth"])
        for kind, of_kind in table.groupby("kind"):
            points = [
                {"rating": rating, "count": int(of["count"].sum()), **mean(of["truth"].to_numpy())}
                for rating, of in of_kind.groupby("rating")
            ]
            yield {"arm": arm, "kind": kind, "points": points}


def seats(home: Home) -> pd.DataFrame:
    """Return a row for each agent of each game: its player by name, its score, and whether it won."""
    rows = [
        (game.arm, game.cell_seed, game.models[agent], score, agent in game.winners)
        for arm in home.arms
        for game in home.of_arm(arm).itertuples()
        for agent, score in sorted(game.scores.items())
    ]
    table = pd.DataFrame(rows, columns=["arm", "seed", "spec", "score", "won"])
    plain = table["spec"].map(without_luck)
    bare = plain.str.partition("?")[0]
    kinds = plain.groupby(bare).transform("nunique")
    return table.assign(player=plain.where(kinds > 1, bare))


def without_luck(player: str) -> str:
    """Return a player without the parameter that sets the null arm apart."""
    name, _, parameters = player.partition("?")
    left = [one for one in parameters.split("&") if one and not one.startswith("rng=")]
    return f"{name}?{'&'.join(left)}" if left else name


def payoffs(home: Home) -> Iterator[Row]:
    """Yield the mean over games of the mean score of each player's agents."""
    for (arm, player), of in seats(home).groupby(["arm", "player"], sort=False):
        games = of.groupby("seed", sort=False)["score"]
        agents = games.size().mean()
        yield {"arm": arm, "player": player, "agents": agents, **mean(games.mean().to_numpy())}


def rankings(home: Home) -> Row:
    """Return the players of games of two by wins and by score, if everybody plays against everybody."""
    if home.asked.get("factors", {}).get("design") != "pairs":
        return {}
    table = seats(home)
    table = table[table["arm"] != "null"].reset_index(drop=True)
    # The two agents of a game stand one after the other.
    table["opponent"] = table["player"].to_numpy().reshape(-1, 2)[:, ::-1].ravel()
    found = {}
    for name, column in (("wins", "won"), ("score", "score")):
        duels = table.groupby(["player", "opponent", "seed"])[column].mean()
        rows = []
        for player in sorted(table["player"].unique()):
            against = duels[player].groupby("opponent").mean().to_dict()
            rows.append({"player": player, **mean(duels[player].groupby("seed").mean()), "against": against})
        for row in rows:
            row["rank"] = 1 + sum(other["mean"] > row["mean"] + ALMOST_0 for other in rows)
        found[name] = sorted(rows, key=lambda row: row["rank"])
    return found


# Measures of mining, from what happened


def turnover(found: Sequence[tuple[int, bool]]) -> float:
    """Return the plots that changed hands by the plots owned: a spell of n rounds was owned n times."""
    return sum(ended for _, ended in found) / sum(length for length, _ in found)


def gini(values: Sequence[float]) -> float | None:
    """Return the mean difference of all ordered pairs by twice the mean."""
    n, total = len(values), sum(values)
    return sum(abs(a - b) for a in values for b in values) / (2 * n * total) if total else None


Owners = Sequence[Sequence[str | None]]


def hhi(owners: Owners) -> float | None:
    """Return the sum of the squared shares of the plots that are owned."""
    shares_ = pd.Series([owner for row in owners for owner in row if owner]).value_counts(normalize=True)
    return float((shares_**2).sum()) if len(shares_) else None


def spells_of(owners: Sequence[Owners]) -> list[tuple[int, bool]]:
    """Return how long each plot stayed with each of its owners, and whether it then lost it to another one.

    A plot has no owner before the first round.
    """
    found = []
    for row, column in itertools.product(range(len(owners[0])), range(len(owners[0][0]))):
        held = [of_round[row][column] for of_round in owners]
        runs = [(owner, len(list(of_owner))) for owner, of_owner in itertools.groupby(held)]
        for place, (owner, rounds) in enumerate(runs):
            last = place == len(runs) - 1
            if owner is not None:
                found.append((rounds - last, not last))
    return found


if __name__ == "__main__":
    folder, file = map(Path, sys.argv[1:])
    found = report_by_hand(folder, tomllib.loads(file.read_text(encoding="utf-8")))
    print(json.dumps(found, indent=2, default=float))  # noqa: T201
