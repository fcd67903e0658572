"""Each figure of a report, as a script that imports nothing of hobbes computes it from Parquet files."""

import ast
import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from hobbes.lab.store.home import open_store
from tests.conftest import Cli
from tests.lab import report_by_hand as by_hand
from tests.lab.report_by_hand import Range, report_by_hand
from tests.lab.test_experiments import play_all, written

MINING = """
name = "mining"
world = "mining"
rounds = 6
agents = 3
seeds = 8
model = "policy:raider?noise=0.2*{raiders},policy:guided?noise=0.2"
set = { rows = 3, cols = 4 }
smallest = { raid_rate = 0.4, turnover = 0.05 }

[factors]
raiders = [1, 0, 2, 3]

[compare]
null = false
measures = ["efficiency", "raid_rate", "turnover", "half_life", "first_raid", "gold_gini", "plots_hhi"]

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

[[hypothesis]]
text = "The more raiders, the more raids"
measure = "raid_rate"
direction = "higher"
test = "trend"
factors = ["raiders"]

[[hypothesis]]
text = "Three raiders raid more than two"
measure = "raid_rate"
arm = "raiders=3"
against = "raiders=2"
direction = "higher"

[[hypothesis]]
text = "Two raiders raid at least nine tenths as often as three"
measure = "raid_rate"
arm = "raiders=2"
against = "raiders=3"
share = 0.9
direction = "higher"
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
measures = ["welfare", "attacks", "first_attack", "aggressor_calibration", "keeps_word_calibration"]

[[hypothesis]]
text = "Ratings tell who attacks"
measure = "aggressor_calibration"
arm = "baseline"
direction = "higher"
test = "zero"

[[hypothesis]]
text = "Trembling costs welfare, and more than answering anew"
measure = "welfare"
arm = "tremble=0.3"
against = "null"
direction = "lower"
"""

TRUST = """
name = "trust"
world = "trust"
rounds = 42
agents = 2
seeds = 3
answers = 2

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

WORDED = """
name = "worded"
world = "mining"
rounds = 5
agents = 3
seeds = 6
answers = 2
models = ["policy:guided?noise=0.3", "policy:raider?noise=0.2", "policy:tit-for-tat-raid?noise=0.4"]
smallest = { raid_rate = 0.5 }
set = { rows = 3, cols = 4 }

[arms.open]

[arms.immune]
set = { immunity = 5 }

[arms.others]
models = ["policy:raider?noise=0.5", "policy:guided?noise=0.1"]

[arms.alone]
model = "policy:raider?noise=0.4"

[compare]
measures = ["efficiency", "raid_rate"]

[[hypothesis]]
text = "Protection lowers raids"
measure = "raid_rate"
arm = "immune"
direction = "lower"

[[hypothesis]]
text = "Raids become more frequent"
measure = "raid_rate"
arm = "open"
direction = "higher"
test = "halves"
"""


@dataclass(frozen=True)
class Played:
    """An experiment that was played: its home, its name, and the content of its file."""

    home: Path
    name: str
    asked: dict[str, Any]


@pytest.fixture(
    scope="module", params=(MINING, NATIONS, TRUST, PAIRS, WORDED), ids=lambda text: text.split('"')[1]
)
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """An experiment that was played; no test changes it."""
    asked = tomllib.loads(request.param)
    folder = tmp_path_factory.mktemp("experiment")
    with open_store(folder / "home") as store:
        play_all(store, written(folder, request.param))
    return Played(folder / "home", asked["name"], asked)


@pytest.fixture
def home(played: Played) -> Path:
    """The home of the command line."""
    return played.home


def told(cli: Cli, *arguments: str) -> Any:
    """Return the JSON document that a command prints."""
    result = cli(*arguments, "--json")
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def unlike(found: Any, again: Any, place: str = "") -> Iterator[str]:
    """Yield in which places a report is unlike what was computed again, or was not computed again."""
    if isinstance(found, dict) and isinstance(again, dict):
        for key in [*found, *(again.keys() - found.keys())]:
            where = f"{place} {key}".strip()
            if key in found and key in again:
                yield from unlike(found[key], again[key], where)
            else:
                yield f"{where} is only in {'the report' if key in found else 'what was computed again'}"
    elif isinstance(found, list) and isinstance(again, list) and len(found) == len(again):
        for number, (one, other) in enumerate(zip(found, again, strict=True)):
            yield from unlike(one, other, f"{place} {number}")
    elif not same(found, again):
        yield f"{place} is {found} in the report, and {again} when computed again"


def same(found: Any, again: Any) -> bool:
    """Return whether two figures or texts are the same, or a figure lies in a range."""
    if isinstance(again, Range):
        return found is not None and again.least - 1e-9 <= found <= again.most + 1e-9
    if type(found) in {int, float} and isinstance(again, int | float | np.number):
        return bool(found == pytest.approx(float(again), rel=1e-6, abs=1e-9))
    return bool(found == again) and isinstance(again, type(found))


def test_a_script_of_its_own_finds_every_figure_of_a_report(cli: Cli, played: Played) -> None:
    for options in ({"with_tainted": True}, {"with_tainted": False}):
        found = told(cli, "report", played.name, *([] if options["with_tainted"] else ["--without-tainted"]))
        again = report_by_hand(played.home / "runs.db", played.asked, **options)
        assert list(unlike(found, again)) == []


@pytest.mark.parametrize("played", [PAIRS], ids=["pairs"], indirect=True)
def test_a_figure_that_the_script_does_not_compute_or_computes_otherwise_is_found(
    cli: Cli, played: Played
) -> None:
    found = told(cli, "report", played.name)
    again = report_by_hand(played.home / "runs.db", played.asked)
    found["arms"][again["cells"][0]["arm"]]["median"] = 1.5
    found["cells"][0]["digest"] = ""
    found["payoffs"].pop()
    found["rankings"]["wins"][0]["rank"] = 2
    assert [line.split(" is ")[0] for line in unlike(found, again)] == [
        f"arms {again['cells'][0]['arm']} median",
        "cells 0 digest",
        "rankings wins 0 rank",
        "payoffs",
    ]


def test_the_experiments_have_all_kinds_of_figures(cli: Cli, played: Played) -> None:
    found = told(cli, "report", played.name)
    empty = {key for key, value in found.items() if not value}
    assert empty == {
        "mining": {"ratings", "rankings"},
        "nations": {"survival", "rankings"},
        "trust": {"hypotheses", "survival", "durations", "ratings", "rankings"},
        "worded": {"ratings", "rankings", "doses", "durations"},
        "pairs": {"hypotheses", "survival", "durations", "ratings", "doses"},
    }[played.name] | {"from"}


def test_the_script_imports_nothing_of_hobbes() -> None:
    tree = ast.parse(Path(by_hand.__file__).read_text(encoding="utf-8"))
    imported = {
        (one.module or "") if isinstance(one, ast.ImportFrom) else alias.name
        for one in ast.walk(tree)
        if isinstance(one, ast.Import | ast.ImportFrom)
        for alias in one.names
    }
    packages = {name.partition(".")[0] for name in imported}
    assert packages.isdisjoint({"engine", "nodes", "graphs", "lab", "hobbes", "tests"})


@pytest.mark.parametrize("played", [MINING], ids=["mining"], indirect=True)
def test_the_script_finds_the_measures_of_mining_in_the_states_of_exported_runs(
    cli: Cli, played: Played, tmp_path: Path
) -> None:
    kept = by_hand.Home(played.home / "runs.db", played.asked, with_tainted=True)
    arm = "raiders=2"
    games = kept.of_arm(arm).set_index("cell_seed")
    for seed, spells in by_hand.spells(kept, arm).items():
        run, folder = f"mining.{arm}.{seed}", tmp_path / str(seed)
        assert cli("export", run, "--format", "parquet", "--to", str(folder)).exit_code == 0
        turns = pq.read_table(folder / "turns.parquet").to_pylist()
        states = [json.loads(row["state"]) for row in sorted(turns, key=lambda row: row["turn"])]
        owned = by_hand.spells_of([state["owners"] for state in states])
        assert sorted(owned) == sorted(spells)
        unequal = [(by_hand.gini([*s["gold"].values()]), by_hand.hhi(s["owners"])) for s in states]
        for place, name in enumerate(("gold_gini", "plots_hhi")):
            expected = pytest.approx([of_turn[place] for of_turn in unequal], abs=0.0001)
            assert games["over_time"][seed][name] == expected
        measures = {name: of_scopes[0] for name, of_scopes in games["measures"][seed].items()}
        assert measures["turnover"] == pytest.approx(by_hand.turnover(owned))
        assert measures["half_life"] == by_hand.half_life(owned)
        assert (measures["gold_gini"], measures["plots_hhi"]) == pytest.approx(unequal[-1])
        assert games["scores"][seed] == states[-1]["gold"]
