"""`hobbes measure`: figures that other formulas made are told by `verify`, and worked out anew."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from hobbes.engine.measures import AgentTurns, PlayedTurn, total
from hobbes.engine.mining.metrics import PlayedRound
from hobbes.engine.mining.world import MINING
from hobbes.engine.world import AnyWorld
from hobbes.errors import DamagedError, HobbesError
from hobbes.experiment.report import report
from hobbes.play.start import RunOptions, begin
from hobbes.prove.verification import Fault, Remark, verify
from hobbes.store.home import Store
from hobbes.store.policy_games import with_turns
from hobbes.store.reported import measure_anew
from hobbes.worlds import WORLDS
from tests.conftest import Cli
from tests.small_runs import mining


@total
def claims(played: PlayedRound) -> int:
    """Plots that were claimed."""
    return len(played.after.news.claims)


def richest(played: PlayedTurn[Any, Any]) -> Mapping[str, Mapping[str, int]]:
    """Return what each miner has, and nothing else."""
    return {agent: {"coins": gold} for agent, gold in played.after.gold.items()}


LATER: AnyWorld = replace(
    MINING,
    measures=replace(
        MINING.measures,
        parts={**MINING.measures.parts, "claims": claims},
        headline=(*MINING.measures.headline, "claims"),
        agent_turns=AgentTurns({"coins": "integer"}, richest),
        version=MINING.measures.version + 1,
    ),
)
"""mining as a later hobbes may have it: with a new measure, and a plain table of other columns."""

OLDER = "measured by other formulas (version 2, now 3), so its figures were not compared; "


def test_a_run_that_other_formulas_measured_verifies_with_a_remark(
    opened: Store, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = mining(opened)
    monkeypatch.setitem(WORLDS, "mining", LATER)
    said = cli("verify", "last")
    assert (said.exit_code, said.stdout) == (0, f"4 turns verified; digest {run.digest}\n")
    anew = f"`hobbes measure {run.id}` works measures and plain table out anew"
    assert said.stderr == f"{OLDER}{anew}\n"
    assert json.loads(cli("verify", "last", "--json").stdout)["remarks"] == [f"{OLDER}{anew}"]


def test_measures_that_are_worked_out_anew_are_those_of_todays_formulas(
    opened: Store, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = mining(opened)
    monkeypatch.setitem(WORLDS, "mining", LATER)
    told = json.loads(cli("measure", "last", "--json").stdout)
    found = opened.db.table("measures").count
    assert told == [{"run": run.id, "measures_version": 3, "measures": found, "agent_turns": 3 * 4}]
    assert opened.figures.measures(run.id)["claims"] == 9 + 6
    (rows,) = opened.db.execute("select count(*), min(coins) from agent_turns_mining")
    assert rows[0] == 12
    assert list(verify(opened, opened.runs.find("last"))) == []


def test_measures_of_the_same_version_have_to_be_what_the_turns_give(opened: Store) -> None:
    run = mining(opened)
    measures = replace(LATER.measures, version=MINING.measures.version, agent_turns=None)
    (found,) = verify(opened, replace(run, world=replace(LATER, measures=measures)))
    assert found == Fault(None, "the table measures differs from what the turns give")


def test_what_reports_read_is_made_anew_with_the_measures(
    small: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run has its turns; the others kept none, and are played again."""
    with_turns(small, small.runs.find("small.open.1"))
    monkeypatch.setitem(WORLDS, "mining", LATER)
    for row in small.runs.rows():
        measure_anew(small, with_turns(small, small.runs.find(row["id"])))
    kept = small.db.execute("select json_extract(measures, '$.claims[0]') from reported").fetchall()
    assert {claimed for (claimed,) in kept} == {16}
    assert report(small, "small").arms["open"].measures["claims"].mean == 16


def test_a_run_that_kept_no_turns_is_measured_when_it_is_opened(
    small: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(WORLDS, "mining", LATER)
    run = with_turns(small, small.runs.find("small.open.1"))
    assert list(verify(small, small.runs.find(run.id))) == []
    of_run = "select json_extract(measures, '$.claims[0]') from reported where run = ?"
    assert small.db.execute(of_run, [run.id]).fetchall() == [(16,)]


def test_only_a_finished_whole_run_is_measured(opened: Store) -> None:
    unfinished = begin(opened, RunOptions("mining", 2, values={"rounds": 1}))
    with pytest.raises(HobbesError, match="is unfinished: a run is measured when it has finished"):
        measure_anew(opened, unfinished)
    run = mining(opened, values={"rounds": 2})
    opened.db.execute("update turns set ended = '' where run = ? and turn = 1", [run.id])
    before = opened.db.execute("select * from measures").fetchall()
    with pytest.raises(DamagedError, match="turn 1: its row in the table turns was changed; `hobbes verify "):
        measure_anew(opened, run)
    assert opened.db.execute("select * from measures").fetchall() == before


def test_a_view_that_has_changed_since_is_one_remark_and_no_fault(opened: Store) -> None:
    """Two of three miners are asked by a program."""
    run = mining(opened)
    foggy = replace(MINING, observe=lambda state, miner: {**MINING.observe(state, miner), "fog": state.turn})
    assert list(verify(opened, replace(run, world=foggy))) == [
        Remark(
            "the view has changed since: policies were shown another one in 12 of 12 calls; these are as they"
            " were written, and nothing was tampered with"
        )
    ]
