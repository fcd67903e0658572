"""Each figure of a report, computed once more from the gathered Parquet files, with pandas and scipy.

The curves over time, of survival and of ratings are in test_findings.py. tests/lab/test_calibration.py holds
the parts of the report's own code that are used here against scipy.
"""

import json
import tomllib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

from hobbes.lab.cli import app
from hobbes.lab.experiment.gathering import COLUMNS
from hobbes.lab.experiment.statistics import holm, tail
from hobbes.lab.store.home import open_store
from tests.lab.test_experiments import play_all, written

MINING = """
name = "mining"
world = "mining"
rounds = 4
agents = 3
seeds = 8
model = "policy:raider?noise=0.2*{raiders},policy:guided?noise=0.2"
set = { rows = 3, cols = 4 }

[factors]
raiders = [1, 0, 2, 3]

[compare]
null = false
measures = ["efficiency", "raid_rate", "turnover", "half_life", "gold_gini", "plots_hhi"]

[[hypothesis]]
text = "Raiders raid"
measure = "raid_rate"
arm = "raiders=3"
direction = "higher"
test = "zero"

[[hypothesis]]
text = "Where nobody raids, plots change hands more often"
measure = "turnover"
arm = "raiders=0"
direction = "higher"

[[hypothesis]]
text = "Raids become more frequent"
measure = "raid_rate"
arm = "raiders=1"
direction = "higher"
test = "halves"

[[invasion]]
resident = "policy:guided?noise=0.2"
mutant = "policy:raider?noise=0.2"

[[invasion]]
resident = "policy:raider?noise=0.2"
mutant = "policy:guided?noise=0.2"
"""

NATIONS = """
name = "nations"
world = "nations"
rounds = 5
agents = 4
seeds = [3, 4, 5, 6, 7]
model = "policy:militarist?tremble={tremble}*1,policy:grim?tremble={tremble}*2,policy:opportunist*1"

[parameters]
tremble = 0.1

[factors]
design = "one-at-a-time"
tremble = [0.3]
"constants.c_trade_factor" = [1.0]

[set.constants]
c_trade_factor = 1.5

[compare]
measures = ["welfare", "attacks", "aggressor_calibration", "keeps_word_calibration"]

[[hypothesis]]
text = "Ratings tell who attacks"
measure = "aggressor_calibration"
arm = "baseline"
direction = "higher"
test = "zero"
"""

TRUST = """
name = "trust"
world = "trust"
rounds = 10
agents = 2
seeds = 3

[factors]
miss = [0, 30]

[factors.model]
copycats = "policy:copycat"
spoiled = "policy:copycat?noise=0.9*1,policy:copykitten*1"

[compare]
measures = ["cooperation", "gain"]
"""

PAIRS = """
name = "pairs"
world = "trust"
rounds = 5
agents = 2
seeds = 3
model = "policy:{one}*1,policy:{other}*1"
set = { threshold = 55 }

[factors]
design = "pairs"
one = ["copycat", "beggar", "always-attack"]
other = ["copycat", "beggar", "always-attack"]

[compare]
measures = ["cooperation"]
"""

ALMOST_0 = 1e-12


class Gathered:
    """What an experiment gathered of the runs that count, as frames."""

    def __init__(self, folder: Path, *, with_tainted: bool) -> None:
        tables = {name: pd.read_parquet(folder / name).astype({"arm": str}) for name in COLUMNS}
        self.all_runs = tables["runs"]
        counted = self.all_runs[with_tainted | ~self.all_runs["tainted"].astype(bool)][["arm", "seed"]]
        self.tables = {name: frame.merge(counted) for name, frame in tables.items()}
        self.values = self.tables["measures"].set_index(["arm", "scope", "name", "seed"])["value"].dropna()

    def __getitem__(self, table: str) -> Any:
        return self.tables[table]

    def of(self, arm: str, measure: str, scope: str = "run") -> Any:
        """Return a measure of each game of an arm that has one, by seed."""
        at = self.values.index.droplevel("seed")
        return self.values[at == (arm, scope, measure)].droplevel(["arm", "scope", "name"])

    def compared(self, test: str, arm: str, measure: str, baseline: str) -> Any:
        """Return what a test is about, a value for each game."""
        match test:
            case "baseline":
                return (self.of(arm, measure) - self.of(baseline, measure)).dropna()
            case "halves":
                halves = (self.of(arm, measure, scope) for scope in ("second-half", "first-half"))
                return next(halves).sub(next(halves)).dropna()
        return self.of(arm, measure)


Played = tuple[dict[str, Any], dict[str, Any], Gathered]
"""The file of an experiment, its report, and what the report was made from."""


def mean(values: Any) -> dict[str, Any]:
    """Return n, mean, and the ends of the BCa interval at the level that the t distribution asks for."""
    n, low, high = len(values), None, None
    if n >= 3:
        low = high = values.mean()
        if np.ptp(values) > ALMOST_0:
            level = 1 - 2 * tail(n)
            low, high = stats.bootstrap((values,), np.mean, confidence_level=level, rng=0).confidence_interval
    return {"n": n, "mean": values.mean() if n else None, "low": low, "high": high}


def with_p(values: Any) -> dict[str, Any]:
    """Return the mean of differences, and the p of all flips of their signs."""
    flips = {"permutation_type": "samples", "rng": 0}
    p = stats.permutation_test((values,), np.mean, **flips).pvalue if len(values) > 1 else None
    return {**mean(values), "p": p}


def same(found: Mapping[str, Any], again: Mapping[str, Any]) -> None:
    """Check the figures of a row; at the ends of intervals scipy interpolates between resamples."""
    for name, value in again.items():
        rel = 0.05 if name in {"low", "high"} else 1e-6
        assert found[name] == (None if value is None else pytest.approx(value, rel=rel, abs=1e-9)), found


PLAYED = {
    "mining": (MINING, True),
    "nations": (NATIONS, True),
    "trust": (TRUST, True),
    "trust without tainted runs": (TRUST, False),
    "pairs": (PAIRS, True),
}
"""Experiments, and whether their tainted runs count."""


@pytest.fixture(scope="module", params=PLAYED.values(), ids=list(PLAYED))
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The file of an experiment that was played, its report, and what the report was made from."""
    text, with_tainted = request.param
    asked, folder = tomllib.loads(text), tmp_path_factory.mktemp("experiment")
    with open_store(folder / "home") as store:
        play_all(store, written(folder, text))
    options = [] if with_tainted else ["--without-tainted"]
    words = ["report", asked["name"], "--json", "--home", str(folder / "home"), *options]
    found = json.loads(CliRunner().invoke(app, words).stdout)
    gathered = folder / "home" / "gathered" / asked["name"]
    return asked, found, Gathered(gathered, with_tainted=with_tainted)


def test_arms_differences_and_hypotheses(played: Played) -> None:
    asked, found, files = played
    measures, baseline = asked["compare"]["measures"], found["differences"][0]["baseline"]
    for arm, of_arm in found["arms"].items():
        runs = files.all_runs[files.all_runs["arm"] == arm]
        assert (of_arm["runs"], of_arm["tainted"]) == (len(runs), runs["tainted"].sum())
        for measure in measures:
            same(of_arm["measures"][measure], mean(files.of(arm, measure)))
    others = [arm for arm in found["arms"] if arm != baseline]
    for key, test, arms in (("differences", "baseline", others), ("halves", "halves", [*found["arms"]])):
        assert [row["arm"] for row in found[key]] == [arm for arm in arms for _ in measures]
        for place, arm in enumerate(arms):
            pairs = [files.compared(test, arm, measure, baseline) for measure in measures]
            again = [with_p(one) for one in pairs]
            corrected = holm([one["p"] for one in again])
            rows = found[key][place * len(measures) :]
            for row, of_pairs, one, p_holm in zip(rows, pairs, again, corrected, strict=False):
                width = of_pairs.std() if len(of_pairs) > 1 else 0
                effect = of_pairs.mean() / width if width > ALMOST_0 else None
                same(row, {**one, "p_holm": p_holm, "effect": effect})
    for row in found["hypotheses"]:
        same(row, with_p(files.compared(row["test"], row["arm"], row["measure"], baseline)))
    assert len(found["hypotheses"]) == len(asked.get("hypothesis", ()))


def test_doses_are_the_means_of_the_arms(played: Played) -> None:
    _, found, _ = played
    for curve in found["doses"]:
        for point in curve["points"]:
            same(point, found["arms"][point["arm"]]["measures"][curve["measure"]])


def players(scores: Any) -> Any:
    """Return scores with the specs of players without what sets the null arm apart."""
    return scores.assign(player=scores["player"].str.replace(r"[?&]rng=\w+$", "", regex=True))


def test_payoffs_are_mean_scores_of_each_player(played: Played) -> None:
    _, found, files = played
    scores = players(files["scores"])
    for row in found["payoffs"]:
        named = (scores["player"] == row["player"]) | scores["player"].str.startswith(f"{row['player']}?")
        games = scores[(scores["arm"] == row["arm"]) & named].groupby("seed")["score"]
        same(row, {"agents": games.count().mean(), **mean(games.mean())})
    assert {row["arm"] for row in found["payoffs"]} == {*scores["arm"]}


def test_rankings_are_of_means_over_all_opponents(played: Played) -> None:
    asked, found, files = played
    assert bool(found["rankings"]) == (asked["name"] == "pairs")
    seats = files["scores"][files["scores"]["arm"] != "null"]
    games = seats.merge(seats, on=["arm", "seed"], suffixes=("", "_other"))
    games = games[games["agent"] != games["agent_other"]]
    for figure, places in found["rankings"].items():
        column = {"wins": "won", "score": "score"}[figure]
        against = games.pivot_table(column, ["player", "player_other"], "seed")
        means = against.mean(axis=1).groupby("player").mean()
        assert {place["player"] for place in places} == {*means.index}
        for place in places:
            of_player = against.loc[place["player"]]
            rank = 1 + (means > means[place["player"]] + ALMOST_0).sum()
            same(place, {"rank": rank, **mean(of_player.mean())})
            same(place["against"], of_player.mean(axis=1).to_dict())


def fixation(newcomer: Any, others: Any) -> dict[str, Any]:
    """Return how likely one newcomer is to take over, with its interval, from payoffs by number and seed."""

    def probability(seeds: Any, axis: int = -1) -> Any:
        ratios = others[:, seeds].mean(axis=axis) / newcomer[:, seeds].mean(axis=axis)
        return 1 / (1 + np.cumprod(ratios, axis=0).sum(axis=0))

    seeds = np.arange(newcomer.shape[1])
    low, high = stats.bootstrap((seeds,), probability, method="percentile", rng=0).confidence_interval
    return {"probability": probability(seeds), "low": low, "high": high}


def test_an_invasion_follows_from_the_payoffs_by_the_number_of_mutants(played: Played) -> None:
    asked, found, files = played
    scores = files["scores"]
    for row, one in zip(found["invasions"], asked.get("invasion", ()), strict=True):
        mutants = (
            (scores["player"] == one["mutant"]).groupby([scores["arm"], scores["seed"]]).transform("sum")
        )
        payoffs = scores.assign(mutants=mutants).pivot_table("score", ["player", "mutants"], "seed")
        resident, mutant = (payoffs.loc[one[kind]] for kind in ("resident", "mutant"))
        for point in row["payoffs"]:
            number = point["mutants"]
            for kind, of_kind in (("resident", resident), ("mutant", mutant)):
                again = of_kind.loc[number].mean() if number in of_kind.index else None
                assert point[kind] == pytest.approx(again)
        mixed = range(1, row["agents"])
        of_mutants, of_residents = (kind.loc[mixed].to_numpy() for kind in (mutant, resident))
        into = fixation(of_mutants, of_residents)
        back = fixation(of_residents[::-1], of_mutants[::-1])
        same(row["of_mutant"], into)
        same(row["of_resident"], back)
        both_ways = into["probability"] + back["probability"]
        assert row["mutants_in_the_long_run"] == pytest.approx(into["probability"] / both_ways)


def test_the_manifest_has_the_sums_and_the_digests_of_the_runs(played: Played) -> None:
    _, found, files = played
    runs = files.all_runs
    sums = {name: runs[name].sum() for name in ("calls", "failed", "tokens_in", "tokens_out", "usd")}
    same(found["manifest"], sums)
    assert found["manifest"]["seeds"] == sorted({*runs["seed"].tolist()})
    digests = json.dumps(sorted(runs["digest"]), separators=(",", ":"))
    assert found["manifest"]["digests"] == sha256(digests.encode()).hexdigest()
    assert {(cell["arm"], cell["seed"], cell["digest"]) for cell in found["cells"]} == {
        *runs[["arm", "seed", "digest"]].itertuples(index=False, name=None)
    }
