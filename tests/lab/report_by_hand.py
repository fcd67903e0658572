"""The report of an experiment, computed once more from the run database, by other means than the report's.

    python -m tests.lab.report_by_hand .hobbes/runs.db NAME.toml

`report_by_hand` returns what `hobbes report NAME --json` prints, from the tables `cells`, `runs` and
`reported` and from what the file of the experiment asks for. Nothing of hobbes is imported. Nothing is drawn
at random either: all sign flips of the differences and all resamples of the games are counted, a Moran
process is solved as a Markov chain, and the power of a test comes from Student's noncentral distribution. A
few games have few resamples, so this is for small experiments.

The report itself draws its resamples. The ends of its intervals are therefore told as a `Range` in which they
must lie.
"""

import hashlib
import itertools
import json
import math
import re
import sqlite3
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize
from scipy.stats import nct, norm, t

RESAMPLES, BAND_RESAMPLES = 9_999, 999
"""The random resamples of an interval of the report, and of a band of its survival curves."""

DEVIATIONS = 4
"""By how many standard deviations a share of the report's resamples may be off."""

ALMOST_0 = 1e-12


class Range(NamedTuple):
    """From where to where the end of an interval may lie."""

    least: float
    most: float


Row = dict[str, Any]


def report_by_hand(runs: Path, asked: Mapping[str, Any], *, with_tainted: bool = True) -> Row:
    """Return the report of an experiment: its file's content is `asked`."""
    files = Files(runs, asked, with_tainted=with_tainted)
    differences = [
        row for arm in files.arms if arm != files.baseline for row in compared(files, arm, against_baseline)
    ]
    return {
        "experiment": asked["name"],
        "arms": {arm: by_itself(files, arm) for arm in files.arms},
        "differences": [{"baseline": files.baseline, **row} for row in differences],
        "halves": [row for arm in files.arms for row in compared(files, arm, half_against_half)],
        "detectable": {measure: detectable(files, measure) for measure in files.measures},
        "cells": [
            {"arm": row["arm"], "seed": row["seed"], "run": row["name"]}
            | {key: row[key] for key in ("digest", "tainted")}
            for row in files.runs
        ],
        "hypotheses": hypotheses(files),
        "invasions": [invasion(files, one) for one in asked.get("invasion", ())],
        "rankings": rankings(files),
        "doses": list(doses(files)),
        "over_time": list(over_time(files)),
        "survival": [survival(files, arm) for arm in files.arms if spells(files, arm)],
        "ratings": list(ratings(files)),
        "payoffs": list(payoffs(files)),
        "manifest": manifest(files),
    }


KEPT = (
    "select cells.arm, cells.seed as seed, runs.id as run, ifnull(name, id) as name, digest, tainted, turns,"
    " hobbes, record_version, rules_version, prompts, prompts_hash, lang, models as players, scores,"
    " outcomes, config ->> '$.rounds' as rounds, reported.* from cells join runs on runs.id = cells.run"
    " join reported on reported.run = runs.id where experiment = ? and status = 'finished'"
)
"""SQL for the runs of an experiment that have finished."""

JSON_COLUMNS = ("players", "scores", "outcomes", "told", "measures", "over_time", "spells", "ratings")

SCOPES = ("run", "first-half", "second-half")


def failed(row: Row) -> int:
    """Return how many of the calls that count failed."""
    return sum(n for outcome, n in row["outcomes"].items() if outcome not in {"answered", "repaired"})


MADE: Mapping[str, Callable[[Row], list[Row]]] = {
    "runs": lambda row: [row | {"failed": failed(row), "tainted": bool(row["tainted"])}],
    "measures": lambda row: [
        {"scope": scope, "name": name, "value": value}
        for name, values in row["measures"].items()
        for scope, value in zip(SCOPES, values, strict=True)
    ],
    "over_time": lambda row: [row],
    "scores": lambda row: [
        {"agent": agent, "player": row["players"][agent], "score": score, "won": agent in row["winners"]}
        for agent, score in sorted(row["scores"].items())
    ],
    "spells": lambda row: [dict(zip(("turns", "ended", "count"), one, strict=True)) for one in row["spells"]],
    "ratings": lambda row: [
        dict(zip(("kind", "rating", "count", "truth"), one, strict=True)) for one in row["ratings"]
    ],
}
"""The rows that each run has in a table."""


class Files:
    """What the run database has of an experiment, and what its file asks for."""

    def __init__(self, runs_db: Path, asked: Mapping[str, Any], *, with_tainted: bool) -> None:
        self.asked = asked
        with closing(sqlite3.connect(runs_db)) as connection:
            connection.row_factory = sqlite3.Row
            found = connection.execute(KEPT, [asked["name"]]).fetchall()
        self._kept = [{**row, **{name: json.loads(row[name]) for name in JSON_COLUMNS}} for row in found]
        compare = asked.get("compare", {})
        self.levels = levels(asked["factors"]) if "factors" in asked else {arm: {} for arm in asked["arms"]}
        self.arms = [*self.levels, *(["null"] if compare.get("null", True) else [])]
        self.baseline: str = compare.get("baseline", self.arms[0])
        self.measures: list[str] = compare["measures"]
        seeds = asked["seeds"]
        self.seeds: list[int] = list(range(1, seeds + 1)) if isinstance(seeds, int) else seeds
        runs = {(row["seed"], row["arm"]): row for row in self._table("runs")}
        self.runs = [runs[key] for key in itertools.product(self.seeds, self.arms) if key in runs]
        self.counted = {(r["arm"], r["seed"]) for r in self.runs if with_tainted or not r["tainted"]}
        self.values: dict[tuple[str, str, str], dict[int, float]] = {}
        for row in self.table("measures"):
            if row["value"] is not None:
                key = row["arm"], row["scope"], row["name"]
                self.values.setdefault(key, {})[row["seed"]] = row["value"]

    def _table(self, name: str) -> list[Row]:
        made = MADE[name]
        return [
            {"arm": row["arm"], "seed": row["seed"], **one}
            for row in self._kept
            if row["arm"] in self.arms
            for one in made(row)
        ]

    @cache  # noqa: B019  it lives as long as the report is made
    def table(self, name: str) -> list[Row]:
        """Return the rows of a table that count, arm by arm."""
        rows = [row for row in self._table(name) if (row["arm"], row["seed"]) in self.counted]
        return sorted(rows, key=lambda row: (self.arms.index(row["arm"]), row["seed"]))

    def value(self, arm: str, measure: str, scope: str = "run") -> dict[int, float]:
        """Return a measure of each game of an arm that has one, by seed."""
        return self.values.get((arm, scope, measure), {})


def levels(factors: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the levels of each arm by factor."""
    given = {name: list(values) for name, values in factors.items() if name != "design"}
    made: list[dict[str, Any]]
    match factors.get("design", "crossed"):
        case "crossed":
            made = [dict(zip(given, one, strict=True)) for one in itertools.product(*given.values())]
        case "one-at-a-time":
            made = [{}, *({name: level} for name, of_name in given.items() for level in of_name)]
        case "pairs":
            first, second = given.values()
            made = [
                dict(zip(given, (one, other), strict=True))
                for n, one in enumerate(first)
                for other in second[n:]
            ]
    return {",".join(f"{k}={in_a_name(v)}" for k, v in one.items()) or "baseline": one for one in made}


def in_a_name(level: object) -> str:
    """Return a level as a part of an arm's name."""
    return re.sub(r"[^\w.]+", "-", level).strip("-") if isinstance(level, str) else json.dumps(level)


# Means and their intervals


@cache
def resamples(n: int) -> tuple[Any, Any]:
    """Return how often each of n games is in each resample, and how likely each of these resamples is."""
    found = [np.diff((-1, *bars, 2 * n - 1)) - 1 for bars in itertools.combinations(range(2 * n - 1), n - 1)]
    ways = [math.factorial(n) / math.prod(map(math.factorial, map(int, counts))) for counts in found]
    return np.array(found), np.array(ways) / n**n


def quantile(values: Any, weights: Any, level: float) -> float:
    """Return the smallest value at which the weights add up to a level."""
    order = np.argsort(values)
    place = np.searchsorted(np.cumsum(weights[order]), level)
    return float(values[order][min(place, len(values) - 1)])


def between(values: Any, weights: Any, lowest: float, highest: float, drawn: int) -> Range:
    """Return where the quantile of random resamples may lie whose level is between two levels.

    So many are drawn. Beyond the quantile, their number varies as that of rare events does.
    """
    beyond = [min(level, 1 - level) * drawn + 2 for level in (lowest, highest)]
    off = [(2 + DEVIATIONS * math.sqrt(number)) / drawn for number in beyond]
    least, most = max(0.0, lowest - off[0]), min(1.0, highest + off[1])
    return Range(quantile(values, weights, least), quantile(values, weights, most))


def reach(n: int) -> float:
    """Return how many standard errors of the mean of n values a normal interval has to reach."""
    return math.sqrt(n / (n - 1)) * float(t.ppf(0.975, n - 1))


def mean(found: Sequence[float]) -> Row:
    """Return n, mean, and the ends of the BCa interval at the level that the t distribution asks for."""
    values, n = np.array(found, float), len(found)
    middle = float(values.mean()) if n else None
    if n < 3 or np.ptp(values) < ALMOST_0:
        end = None if n < 3 else middle
        return {"n": n, "mean": middle, "low": end, "high": end}
    counts, weights = resamples(n)
    means = counts @ values / n
    tie = 1e-9 * np.ptp(values)
    below = (weights[means < middle - tie].sum() + weights[means <= middle + tie].sum()) / 2
    left_out = (values.sum() - values) / (n - 1)
    off = left_out.mean() - left_out
    skew = (off**3).sum() / (6 * (off**2).sum() ** 1.5)
    ends = []
    for z in (-reach(n), reach(n)):
        shares = [below + way * DEVIATIONS * math.sqrt(below * (1 - below) / RESAMPLES) for way in (-1, 1)]
        biases = [norm.ppf(share) for share in shares]
        ends.append(sorted(norm.cdf(b + (b + z) / (1 - skew * (b + z))) for b in biases))
    low, high = (between(means, weights, lowest, highest, RESAMPLES) for lowest, highest in ends)
    return {"n": n, "mean": middle, "low": low, "high": high}


def by_itself(files: Files, arm: str) -> Row:
    """Return the figures of an arm."""
    runs = [row for row in files.runs if row["arm"] == arm]
    return {
        "runs": len(runs),
        "tainted": sum(row["tainted"] for row in runs),
        "measures": {
            one: mean(values := [*files.value(arm, one).values()]) | lowest(values) for one in files.measures
        },
    }


def lowest(values: Sequence[float]) -> Row:
    """Return the minimum and the 5% quantile."""
    if not values:
        return {"minimum": None, "quantile_5": None}
    return {"minimum": min(values), "quantile_5": float(np.quantile(values, 0.05))}


# Differences, tests and power


def pairs(one: Mapping[int, float], other: Mapping[int, float]) -> list[float]:
    """Return the differences of the games that have a value on both sides."""
    return [one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())]


Way = Callable[[Files, str, str], list[float]]


def against_baseline(files: Files, arm: str, measure: str) -> list[float]:
    """Return an arm minus the baseline."""
    return pairs(files.value(arm, measure), files.value(files.baseline, measure))


def half_against_half(files: Files, arm: str, measure: str) -> list[float]:
    """Return the second half of a run minus the first."""
    return pairs(files.value(arm, measure, "second-half"), files.value(arm, measure, "first-half"))


def against_zero(files: Files, arm: str, measure: str) -> list[float]:
    """Return the measure itself."""
    return list(files.value(arm, measure).values())


def compared(files: Files, arm: str, way: Way) -> list[Row]:
    """Return the tested differences of an arm, a row for each measure."""
    rows = []
    for measure in files.measures:
        found = way(files, arm, measure)
        width = spread(found)
        figures = mean(found)
        effect = figures["mean"] / width if width else None
        rows.append({"arm": arm, "measure": measure, **figures, "p": p(found), "effect": effect})
    return with_holm(rows)


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation, 0 where it is undefined or no more than an error of the arithmetic."""
    if len(values) < 2:
        return 0.0
    middle = sum(values) / len(values)
    found = math.sqrt(sum((one - middle) ** 2 for one in values) / (len(values) - 1))
    return found if found > ALMOST_0 else 0.0


def p(found: Sequence[float]) -> float | None:
    """Return the share of all sign flips whose mean is at least as far from 0."""
    if len(found) < 2:
        return None
    observed = abs(sum(found)) - ALMOST_0
    flips = itertools.product((1, -1), repeat=len(found))
    flipped = [abs(sum(sign * one for sign, one in zip(signs, found, strict=True))) for signs in flips]
    return sum(one >= observed for one in flipped) / len(flipped)


def with_holm(rows: list[Row]) -> list[Row]:
    """Return rows with `p_holm`: p times the number of the p that are at least as large, never falling."""
    largest = 0.0
    tested = sorted((row for row in rows if row["p"] is not None), key=lambda row: row["p"])
    for place, row in enumerate(tested):
        largest = max(largest, min(1.0, row["p"] * (len(tested) - place)))
        row["p_holm"] = largest
    return [{"p_holm": None, **row} for row in rows]


def enough(n: int, tests: int) -> bool:
    """Return whether n pairs of one sign have a p below 0.05 after correction for a number of tests."""
    return n - 1 >= math.log2(tests / 0.05)


@cache
def smallest_effect(n: int) -> float:
    """Return the effect that a two-sided t test of n pairs finds with a probability of 80%."""
    limit = t.ppf(0.975, n - 1)

    def missing_power(effect: float) -> float:
        off = effect * math.sqrt(n)
        return float(nct.sf(limit, n - 1, off) + nct.cdf(-limit, n - 1, off)) - 0.8

    return float(optimize.brentq(missing_power, 0.01, 10))


def detectable(files: Files, measure: str) -> float | None:
    """Return the smallest difference that is found with a probability of 80%: that of the widest arm."""
    others = [arm for arm in files.arms if arm not in {files.baseline, "null"}]
    for arms in (others, ["null"]):
        found = [against_baseline(files, arm, measure) for arm in arms]
        sizes = [
            smallest_effect(len(one)) * spread(one)
            for one in found
            if spread(one) and enough(len(one), len(files.measures))
        ]
        if sizes:
            return max(sizes)
    return None


def hypotheses(files: Files) -> list[Row]:
    """Return the numbers and the verdict of each hypothesis."""
    ways = {"baseline": against_baseline, "halves": half_against_half, "zero": against_zero}
    asked = [{"test": "baseline", **one} for one in files.asked.get("hypothesis", ())]
    found = [ways[one["test"]](files, one["arm"], one["measure"]) for one in asked]
    rows = with_holm([{**one, **mean(of), "p": p(of)} for one, of in zip(asked, found, strict=True)])
    for row, of in zip(rows, found, strict=True):
        as_expected = of and (sum(of) > 0) == (row["direction"] == "higher")
        nothing = enough(len(of), len(rows)) and max(map(abs, of)) < ALMOST_0
        row["verdict"] = "not supported" if nothing else "undecided"
        if row["p_holm"] is not None and row["p_holm"] < 0.05:
            row["verdict"] = "supported" if as_expected else "not supported"
    return rows


# Curves


def doses(files: Files) -> Iterator[Row]:
    """Yield the means of the arms by the values of each factor that has numbers."""
    factors = files.asked.get("factors", {})
    for factor in [name for name in factors if name != "design"]:
        curves: dict[str, tuple[Row, dict[str, Any]]] = {}
        for arm, of_arm in files.levels.items():
            fixed = {name: level for name, level in of_arm.items() if name != factor}
            if fixed and factors.get("design") == "one-at-a-time":
                continue
            given = factors[factor]
            value = set_in(files.asked, factor)
            if factor in of_arm:
                value = given[of_arm[factor]] if isinstance(given, dict) else of_arm[factor]
            if type(value) in {int, float}:
                curves.setdefault(json.dumps(fixed), (fixed, {}))[1][arm] = value
        for measure, (fixed, values) in itertools.product(files.measures, curves.values()):
            if len(set(values.values())) > 1:
                points = [
                    {"value": value, "arm": arm, **mean([*files.value(arm, measure).values()])}
                    for arm, value in sorted(values.items(), key=lambda one: one[1])
                ]
                yield {"factor": factor, "measure": measure, "fixed": fixed, "points": points}


def set_in(asked: Mapping[str, Any], factor: str) -> Any:
    """Return what the file sets a factor to, outside the factors."""
    for table in (asked.get("parameters", {}), asked, asked.get("set", {})):
        value: Any = table
        for part in [factor] if factor in table else factor.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            return value
    return None


def stretches(turns: int, most: int) -> list[tuple[int, int]]:
    """Return the first and the last of every so many turns, so that there are at most so many stretches."""
    step = next(step for step in itertools.count(1) if step * most >= turns)
    return [(first, min(first + step, turns) - 1) for first in range(0, turns, step)]


def over_time(files: Files) -> Iterator[Row]:
    """Yield the means over games of each measure of turns, with their t intervals."""
    rows = files.table("over_time")
    for arm, measure in itertools.product(files.arms, rows[0]["over_time"] if rows else ()):
        of_arm = [row for row in rows if row["arm"] == arm]
        points = []
        rounds = max((row["rounds"] for row in of_arm), default=0)
        longest = max((row["turns"] for row in of_arm), default=0) - 1
        for place, (first, last) in enumerate(stretches(rounds, 40)):
            of_games = [
                values[place]
                for row in of_arm
                if place < len(values := row["over_time"][measure]) and values[place] is not None
            ]
            if first <= longest:
                points.append({"first": first, "last": min(last, longest), **with_t_interval(of_games)})
        if any(point["n"] for point in points):
            yield {"arm": arm, "measure": measure, "points": points}


def with_t_interval(values: Sequence[float]) -> Row:
    """Return n, mean, and the ends of the t interval, within 0 and 1 as far as the values are."""
    n = len(values)
    middle = sum(values) / n if n else None
    if middle is None or n < 3:
        return {"n": n, "mean": middle, "low": None, "high": None}
    off = float(t.ppf(0.975, n - 1)) * spread(values) / math.sqrt(n)
    low, high = max(middle - off, min(0, *values)), min(middle + off, max(1, *values))
    return {"n": n, "mean": middle, "low": low, "high": high}


def spells(files: Files, arm: str) -> dict[int, list[tuple[int, bool]]]:
    """Return the spells of each game of an arm, one by one: how long each lasted, and whether it ended."""
    games: dict[int, list[tuple[int, bool]]] = {}
    for row in files.table("spells"):
        if row["arm"] == arm:
            games.setdefault(row["seed"], []).extend([(row["turns"], row["ended"])] * row["count"])
    return games


def survival(files: Files, arm: str) -> Row:
    """Return the Kaplan-Meier curve of an arm with its band, which comes from resampled games."""
    of_games = spells(files, arm)
    games = [of_games.get(seed, []) for name, seed in sorted(files.counted) if name == arm]
    together = [spell for game in games for spell in game]
    longest = max(length for length, _ in together)
    ages = [0, *(last + 1 for _, last in stretches(longest, 200))]
    points: list[Row] = [{"turns": age, "share": surviving(together, age)} for age in ages]
    ends = bands(games, ages)
    return {
        "arm": arm,
        "spells": len(together),
        "ended": sum(ended for _, ended in together),
        "games": len(games),
        "median": half_life(together),
        "points": [
            {**point, "low": low, "high": high} for point, (low, high) in zip(points, ends, strict=True)
        ],
    }


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
    return next((age for age in ages if surviving(found, age) <= 1 / 2 + ALMOST_0), None)


def bands(games: Sequence[Sequence[tuple[int, bool]]], ages: Sequence[int]) -> list[tuple[Any, Any]]:
    """Return the ends of the band of a survival curve at some ages."""
    n = len(games)
    if n < 3:
        return [(None, None)] * len(ages)
    counts, weights = resamples(n)
    tail = float(norm.cdf(-reach(n)))
    shares, found = np.ones(len(counts)), []
    for before, age in itertools.pairwise([-1, *ages]):
        for at in range(before + 1, age + 1):
            at_risk = counts @ [sum(length >= at for length, _ in game) for game in games]
            ended = counts @ [sum(gone and length == at for length, gone in game) for game in games]
            shares = shares * (1 - ended / np.maximum(at_risk, 1))
        low, high = (between(shares, weights, level, level, BAND_RESAMPLES) for level in (tail, 1 - tail))
        found.append((low, high))
    return found


def ratings(files: Files) -> Iterator[Row]:
    """Yield what was true of those who were given a rating: the mean over games."""
    rows = files.table("ratings")
    for arm, kind in itertools.product(files.arms, sorted({row["kind"] for row in rows})):
        of_kind = [row for row in rows if (row["arm"], row["kind"]) == (arm, kind)]
        points = []
        for rating in sorted({row["rating"] for row in of_kind}):
            given = [row for row in of_kind if row["rating"] == rating]
            count = sum(row["count"] for row in given)
            points.append({"rating": rating, "count": count, **mean([row["truth"] for row in given])})
        if points:
            yield {"arm": arm, "kind": kind, "points": points}


def scores(files: Files) -> list[Row]:
    """Return the score of each agent of each game, with the name of its player."""
    rows = [row | {"player": without_luck(row["player"])} for row in files.table("scores")]
    players = {row["player"] for row in rows}
    kinds = [player.split("?")[0] for player in players]
    names = {one: one if kinds.count(one.split("?")[0]) > 1 else one.split("?")[0] for one in players}
    return [row | {"player": names[row["player"]]} for row in rows]


def payoffs(files: Files) -> Iterator[Row]:
    """Yield the mean over games of the mean score of each player's agents."""
    for arm in files.arms:
        games: dict[str, dict[int, list[int]]] = {}
        for row in scores(files):
            if row["arm"] == arm:
                of_player = games.setdefault(row["player"], {})
                of_player.setdefault(row["seed"], []).append(row["score"])
        for player, of_player in games.items():
            of_games = [sum(of_game) / len(of_game) for of_game in of_player.values()]
            agents = sum(map(len, of_player.values())) / len(of_player)
            yield {"arm": arm, "player": player, "agents": agents, **mean(of_games)}


def rankings(files: Files) -> Row:
    """Return the players of games of two by wins and by score, if everybody plays against everybody."""
    if files.asked.get("factors", {}).get("design") != "pairs":
        return {}
    games: dict[tuple[str, int], list[tuple[str, float, float]]] = {}
    for row in scores(files):
        if row["arm"] != "null":
            seat = row["player"], row["won"], row["score"]
            games.setdefault((row["arm"], row["seed"]), []).append(seat)
    found: dict[str, dict[tuple[str, str, int], float]] = {"wins": {}, "score": {}}
    for (_, seed), seats in games.items():
        for (player, *own), (opponent, *others) in (seats, seats[::-1]):
            for figures, mine, theirs in zip(found.values(), own, others, strict=True):
                figures[player, opponent, seed] = mine if player != opponent else (mine + theirs) / 2
    return {name: ranking(figures) for name, figures in found.items()}


def ranking(figures: Mapping[tuple[str, str, int], float]) -> list[Row]:
    """Return the players by the mean of a figure that is known by player, opponent and seed."""
    players, _, seeds = (sorted(set(part)) for part in zip(*figures, strict=True))
    rows = []
    for one in players:
        of_seeds = [sum(figures[one, other, seed] for other in players) / len(players) for seed in seeds]
        against = {o: sum(figures[one, o, seed] for seed in seeds) / len(seeds) for o in players}
        rows.append({"player": one, **mean(of_seeds), "against": against})
    for row in rows:
        row["rank"] = 1 + sum(other["mean"] > row["mean"] + ALMOST_0 for other in rows)
    return sorted(rows, key=lambda row: row["rank"])


def without_luck(player: str) -> str:
    """Return a player without the parameter that sets the null arm apart."""
    name, _, parameters = player.partition("?")
    left = [one for one in parameters.split("&") if one and not one.startswith("rng=")]
    return f"{name}?{'&'.join(left)}" if left else name


# Invasion


def invasion(files: Files, asked: Mapping[str, str]) -> Row:
    """Return the payoffs by the number of mutants, and where a Moran process with them settles."""
    kinds = asked["resident"], asked["mutant"]
    games: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for row in files.table("scores"):
        if row["arm"] != "null":
            games.setdefault((row["arm"], row["seed"]), []).append((row["player"], row["score"]))
    found: dict[int, dict[int, tuple[float | None, ...]]] = {}
    agents = 0
    for (_, seed), of_game in games.items():
        of_kinds = [[score for player, score in of_game if player == kind] for kind in kinds]
        if sum(map(len, of_kinds)) == len(of_game):
            agents = len(of_game)
            scores = tuple(sum(of) / len(of) if of else None for of in of_kinds)
            found.setdefault(len(of_kinds[1]), {})[seed] = scores
    table = []
    for mutants, runs in sorted(found.items()):
        means = [np.mean(of) if None not in of else None for of in zip(*runs.values(), strict=True)]
        table.append({"mutants": mutants, "runs": len(runs), "resident": means[0], "mutant": means[1]})
    row = {**asked, "agents": agents, "payoffs": table, "neutral": 1 / agents}
    mixed = range(1, agents)
    if any(len(found.get(mutants, {})) < len(files.seeds) for mutants in mixed):
        return row | dict.fromkeys(("of_mutant", "of_resident", "mutants_in_the_long_run"))
    # [kind][number of mutants - 1][seed]
    all_scores = [[[found[m][seed][kind] for seed in files.seeds] for m in mixed] for kind in (0, 1)]
    resident, mutant = np.array(all_scores, float)
    into, back = fixation(mutant, resident), fixation(resident[::-1], mutant[::-1])
    both = into["probability"] + back["probability"]
    long_run = into["probability"] / both if both else None
    return row | {"of_mutant": into, "of_resident": back, "mutants_in_the_long_run": long_run}


def fixation(newcomer: Any, others: Any) -> Row:
    """Return how likely one newcomer is to take over, with its interval of percentiles."""
    n = newcomer.shape[1]
    known = absorbed(newcomer.mean(axis=1), others.mean(axis=1))
    if n < 3:
        return {"probability": known, "low": None, "high": None}
    counts, weights = resamples(n)
    again = np.array([absorbed(newcomer @ one / n, others @ one / n) for one in counts])
    ends = [between(again, weights, level, level, RESAMPLES) for level in (0.025, 0.975)]
    return {"probability": known, "low": ends[0], "high": ends[1]}


def absorbed(newcomer: Sequence[float], others: Sequence[float]) -> float:
    """Return the probability that the chain of the number of newcomers, which starts at 1, ends at N.

    In a step, a newcomer is drawn to be copied in proportion to its payoff, and any agent is replaced.
    """
    agents = len(newcomer) + 1
    chain, end = np.eye(agents - 1), np.zeros(agents - 1)
    for place, (one, other) in enumerate(zip(newcomer, others, strict=True)):
        count = place + 1
        all_payoffs = count * one + (agents - count) * other
        copied = count * one / all_payoffs if all_payoffs else count / agents
        up, down = copied * (agents - count) / agents, (1 - copied) * count / agents
        chain[place, place] -= 1 - up - down
        if place:
            chain[place, place - 1] -= down
        if count < agents - 1:
            chain[place, place + 1] -= up
        else:
            end[place] = up
    return float(np.linalg.solve(chain, end)[0])


# The manifest


def manifest(files: Files) -> Row:
    """Return what the runs say of themselves, and the sums of what they cost."""
    runs = files.runs
    digests = sorted(row["digest"] for row in runs)
    told = json.dumps(digests, separators=(",", ":"))
    sums = {}
    for column in ("calls", "failed", "tokens_in", "tokens_out", "usd"):
        values = [row[column] for row in runs]
        sums[column] = sum(values) if None not in values else None
    for column in ("tokens_cached", "tokens_cache_written", "tokens_reasoning"):
        counted_ones = [row[column] for row in runs if row[column] is not None]
        sums[column] = sum(counted_ones) if counted_ones else None
    of_models = {
        column: [{**one, column: json.loads(one[column])} for one in counted(runs, column)]
        for column in ("model_settings", "left_out")
    }
    return {
        **of_models,
        "recorded_by": counted(runs, "hobbes", "record_version", "rules_version"),
        "prompts": counted(runs, "prompts", "lang", "prompts_hash"),
        "models": sorted({model for row in runs for model in row["told"]}),
        "model_settings": [
            {**one, "model_settings": json.loads(one["model_settings"])}
            for one in counted(runs, "model_settings")
        ],
        "seeds": sorted({row["seed"] for row in runs}),
        "digests": hashlib.sha256(told.encode()).hexdigest(),
        **sums,
    }


def counted(runs: Sequence[Row], *columns: str) -> list[Row]:
    """Return how many runs have the same values of some columns."""
    kinds: dict[tuple[Any, ...], int] = {}
    for row in runs:
        kind = tuple(row[column] for column in columns)
        kinds[kind] = kinds.get(kind, 0) + 1
    return [
        {**dict(zip(columns, kind, strict=True)), "runs": kinds[kind]} for kind in sorted(kinds, key=repr)
    ]


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
    owned = [owner for row in owners for owner in row if owner is not None]
    return sum((owned.count(owner) / len(owned)) ** 2 for owner in set(owned)) if owned else None


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
    print(json.dumps(report_by_hand(folder, tomllib.loads(file.read_text(encoding="utf-8"))), indent=2))  # noqa: T201
