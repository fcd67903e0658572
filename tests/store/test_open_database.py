"""The run database is read by any SQLite client, with no function and no plugin of ours."""

import json
import re
import shutil
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hobbes.engine.world import AnyWorld
from hobbes.nodes.turn_state import TurnState
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import Store
from hobbes.store.reported import measure_anew
from hobbes.store.run_tables import table_of
from hobbes.worlds import WORLDS
from tests.conftest import Cli, missing
from tests.small_runs import go, played

DATA = Path(__file__).parents[2] / "docs" / "data.md"

PROBES = ("probes", "probe_answers")
TABLES = ("runs", "turns", "calls", "texts", "measures", "reported", "experiments", "cells", "plans", *PROBES)
VIEWS = ("intents", "reports", "drops", "mends", "events", "draws", "messages", "memories")
NAMES = (*TABLES, *VIEWS)


@pytest.fixture
def client(opened: Store, home: Path) -> Iterator[sqlite3.Connection]:
    """A plain connection to a home in which nations was played with noise."""
    played(opened, RunOptions("nations", 3, models="policy:random?noise=0.3", values={"rounds": 4}))
    with closing(sqlite3.connect(home / "runs.db")) as connection:
        yield connection


def test_every_table_and_view_is_listed_and_answers_in_plain_sqlite3(client: sqlite3.Connection) -> None:
    listed = client.execute("select name from sqlite_master where type in ('table', 'view')")
    plain = {f"agent_turns_{world.name}" for world in [WORLDS["nations"]] if world.measures.agent_turns}
    assert {name for (name,) in listed} == {*NAMES, *plain}
    empty = {name for name in NAMES if not client.execute(f"select * from {name}").fetchall()}  # noqa: S608  ours
    assert empty == {"draws", "reported", "experiments", "cells", "plans", *PROBES}
    assert client.execute("pragma foreign_key_check").fetchall() == []
    assert {kind for (kind,) in client.execute("select distinct typeof(record) from turns")} == {"text"}
    assert {kind for (kind,) in client.execute("select distinct typeof(text) from texts")} == {"text"}


def test_every_table_and_view_answers_in_the_shell(client: sqlite3.Connection, home: Path) -> None:
    shell = shutil.which("sqlite3") or missing("there is no shell sqlite3")
    counts = [f"select count(*) from (select * from {name})" for name in NAMES]  # noqa: S608  ours
    words = [str(shell), str(home / "runs.db"), ";".join(counts)]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert [int(line) for line in told.split()] == [client.execute(sql).fetchone()[0] for sql in counts]


@pytest.mark.parametrize(
    "world", [world for world in WORLDS.values() if world.measures.agent_turns], ids=lambda w: w.name
)
def test_a_plain_table_has_a_row_for_each_agent_and_turn(opened: Store, home: Path, world: AnyWorld) -> None:
    run = played(opened, RunOptions(world.name, 4, models="policy:random", values={"rounds": 6}))
    assert world.measures.agent_turns is not None
    with closing(sqlite3.connect(home / "runs.db")) as client:
        rows = pd.read_sql(f"select * from agent_turns_{world.name}", client)  # noqa: S608  ours
    assert list(rows) == ["run", "turn", "agent", *world.measures.agent_turns.columns]
    asked = opened.db.execute("select turn, agent from calls order by turn, agent").fetchall()
    assert sorted(zip(rows["turn"], rows["agent"], strict=True)) == asked
    assert rows.notna().all().all()
    exported = table_of(opened, run, "agent_turns")
    assert sorted(map(repr, exported.rows)) == sorted(map(repr, rows.to_dict("records")))


def test_a_plain_table_says_what_a_miner_did_and_has(opened: Store) -> None:
    run = played(opened, RunOptions("mining", 3, models="policy:random", values={"rounds": 9, "rows": 3}))
    for row in table_of(opened, run, "agent_turns").rows:
        (turn,) = opened.turns.of(run, row["turn"], row["turn"])
        agent = row["agent"]
        record: Any = turn.record.to_json()
        state, done = record["state"], [action["kind"] for action in record["intents"][agent]["actions"]]
        assert row["claims"] == done.count("claim")
        assert row["raids"] == done.count("raid")
        assert row["defences"] == done.count("defend")
        mining = sum(one["stamina"] for one in record["intents"][agent]["actions"] if one["kind"] == "mine")
        assert (row["mining"], row["idle"]) == (mining, 10 - mining - len(done) + done.count("mine"))
        assert row["gold"] == state["gold"][agent]
        assert row["plots"] == sum(line.count(agent) for line in state["owners"])


def test_a_plain_table_says_what_a_nation_earned_gave_got_and_has(opened: Store) -> None:
    run = played(opened, RunOptions("nations", 3, models="policy:random", values={"rounds": 9}))
    for row in table_of(opened, run, "agent_turns").rows:
        (turn,) = opened.turns.of(run, row["turn"], row["turn"])
        agent, state = row["agent"], turn.record.to_json()["state"]
        account = state["accounts"][agent]
        assert row["income"] == dict(account["money"])["gross"]
        assert (row["army"], row["welfare"]) == (state["army"][agent], state["welfare"][agent])
        assert row["territories"] == len(state["territories"][agent])
        for column, part in (
            ("granted", "granted_to"),
            ("received", "received_from"),
            ("attacks", "attacked"),
        ):
            assert row[column] == sum(account[part].values())


def test_a_plain_table_says_what_a_unit_meant_and_did_and_what_it_gained(opened: Store) -> None:
    run = played(
        opened,
        RunOptions("trust", 3, models="policy:copykitten", values={"rounds": 9, "miss": 50, "fumble": 9}),
    )
    kinds, sats = set(), dict[str, int]()
    for row in table_of(opened, run, "agent_turns").rows:
        (turn,) = opened.turns.of(run, row["turn"], row["turn"])
        state: Any = turn.record.to_json()["state"]
        (deed,) = (one for one in state["history"][-1]["deeds"] if one["unit"] == row["agent"])
        (unit,) = (one for one in state["units"] if one["id"] == row["agent"])
        assert (row["action"], row["did"], row["target"]) == (
            deed["meant"],
            deed["did"],
            deed["target"] or "",
        )
        assert (row["sats"], row["change"]) == (unit["sats"], unit["sats"] - sats.get(unit["id"], 50))
        kinds.add((row["action"], row["did"]))
        sats[unit["id"]] = unit["sats"]
    assert {("high_five", "attack"), ("high_five", "do_nothing")} <= kinds


def test_a_plain_table_with_other_columns_is_made_anew(opened: Store) -> None:
    first = played(opened, RunOptions("mining", 2, values={"rounds": 1}))
    opened.db.execute("alter table agent_turns_mining drop column idle")
    opened.db.execute("alter table agent_turns_mining add column older integer")
    second = played(opened, RunOptions("mining", 2, values={"rounds": 1}))
    assert not opened.figures.agent_turns(first)
    assert opened.figures.agent_turns(second)
    measure_anew(opened, first)
    assert opened.figures.agent_turns(first) == opened.figures.agent_turns(second)


def test_a_run_that_is_played_has_no_rows_in_the_plain_table_and_is_exported_as_far_as_it_is(
    opened: Store,
) -> None:
    def stop(state: TurnState) -> None:
        if state["turn"] == 2:
            raise InterruptedError

    run = begin(opened, RunOptions("mining", 2, values={"rounds": 3}))
    with pytest.raises(InterruptedError):
        go(opened, run, on_turn=stop)
    run = opened.runs.find(run.id)
    assert not opened.figures.agent_turns(run)
    assert [row["turn"] for row in table_of(opened, run, "agent_turns").rows] == [0, 0, 1, 1]


def test_the_view_of_a_scripted_policy_is_not_stored_and_is_shown_all_the_same(opened: Store) -> None:
    run = played(opened, RunOptions("mining", 2, values={"rounds": 3}))
    stored = {text for (text,) in opened.db.execute("select text from texts")}
    (call, _) = opened.calls.of_turn(run.id, 2)
    assert '"turn":2' in call.prompt.turn
    assert call.prompt.turn not in stored


QUERIES = re.findall(r"^```sql\n(.*?)^```", DATA.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
"""The queries that docs/data.md shows: raids, messages before attacks, and a measure by arm."""

NOISY = "policy:random?noise=0.3&tremble=0.3"


def test_the_query_of_raids_counts_those_of_the_newest_run_of_mining(opened: Store, home: Path) -> None:
    played(opened, RunOptions("mining", 4, 2, models=NOISY, values={"rounds": 6}))
    run = played(opened, RunOptions("mining", 4, 1, models=NOISY, values={"rounds": 6}))
    raids = Counter(
        (event.agent, event.facts["owner"], event.facts["result"])
        for turn in opened.turns.of(run)
        for event in turn.record.events
        if event.type == "raid"
    )
    assert raids
    with closing(sqlite3.connect(home / "runs.db")) as client:
        assert {(*row[:-1],): row[-1] for row in client.execute(QUERIES[0])} == raids


def test_the_query_of_attacks_shows_the_messages_between_the_two_before_them(
    opened: Store, home: Path
) -> None:
    run = played(opened, RunOptions("nations", 4, 1, models=NOISY, values={"rounds": 6}))
    messages = [
        (row["turn"], row["sender"], row["receiver"], row["text"])
        for row in table_of(opened, run, "messages").rows
    ]
    attacks = {
        (turn.turn, event.agent, event.facts["target"])
        for turn in opened.turns.of(run)
        for event in turn.record.events
        if event.type == "attack"
    }
    before = {
        (turn, agent, target, *message)
        for turn, agent, target in attacks
        for message in messages
        if turn - 2 <= message[0] <= turn
        and message[1] in {agent, target}
        and message[2] in {agent, target, "all"}
    }
    assert before
    with closing(sqlite3.connect(home / "runs.db")) as client:
        rows = client.execute(QUERIES[1]).fetchall()
    assert {row[:3] for row in rows} == attacks
    assert {row for row in rows if row[3] is not None} == before


def test_the_query_of_arms_gives_the_means_that_the_report_has(small: Store, cli: Cli) -> None:
    arms = json.loads(cli("report", "small", "--json").stdout)["arms"]
    with closing(sqlite3.connect(small.home / "runs.db")) as client:
        rows = client.execute(QUERIES[2]).fetchall()
    assert [row[:3] for row in rows] == [("small", arm, arms[arm]["runs"]) for arm in sorted(arms)]
    means = {arm: found["measures"]["raid_rate"]["mean"] for arm, found in arms.items()}
    assert {arm: mean for _, arm, _, mean in rows} == pytest.approx(means)
