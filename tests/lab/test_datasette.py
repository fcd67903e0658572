"""`hobbes datasette`: all queries and descriptions fit the run database, as Datasette itself shows it."""

import asyncio
import json
import re
import shlex
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from datasette.app import Datasette

from hobbes.engine.worlds import WORLDS
from hobbes.lab.errors import LabError, MissingError
from hobbes.lab.play.playing import RunOptions
from hobbes.lab.show import for_datasette
from hobbes.lab.show.for_datasette import DATABASE, FILE, metadata, prepare
from hobbes.lab.show.tracing import deeds, names_in
from hobbes.lab.store.canned import queries
from hobbes.lab.store.home import Store, open_store
from hobbes.lab.store.run import Run
from hobbes.lab.store.schema import kinds_of
from hobbes.lab.store.tables import table_of
from tests.conftest import Cli
from tests.lab.play import played

QUERIES = queries()

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A home with a run of each world, in which agents err, write to each other, attack and rate."""
    with open_store(tmp_path_factory.mktemp("datasette") / "home") as opened:
        for world in WORLDS:
            models = "policy:random?noise=0.3&tremble=0.3"
            values: dict[str, Any] = {"rounds": 6, "taint_share": 1.0} | (
                {"communication": True} if world == "mining" else {}
            )
            played(opened, RunOptions(world, 4, 1, models, values=values, name=world))
        opened.db.execute("insert into experiments values ('one', 'mining', '{}', '2026')")
        opened.db.execute("insert into cells select 'one', name, 1, id from runs")
        opened.db.conn.commit()
        yield opened


@pytest.fixture
def site(store: Store) -> Datasette:
    path = store.home / "runs.db"
    return Datasette([str(path)], metadata=metadata(), settings={"num_sql_threads": 0})


def shown(site: Datasette, path: str, **query: Any) -> Any:
    async def get() -> Any:
        return await site.client.get(f"/{DATABASE}/{path}", params=query)

    return asyncio.run(get())


def rows(site: Datasette, query: str, **parameters: Any) -> Rows:
    answer = shown(site, f"{query}.json", _shape="array", **parameters)
    assert answer.status_code == 200, answer.text
    found: Rows = answer.json()
    return found


@pytest.mark.parametrize("name", QUERIES)
def test_each_query_finds_something_in_a_run_of_its_world(name: str, site: Datasette) -> None:
    world = name.partition("_")[0]
    found = {run: rows(site, name, run=run) for run in WORLDS}
    assert any(found.values())
    if world in WORLDS:
        assert {run for run, told in found.items() if told} == {world}
        assert rows(site, name) == found[world], "without a run it is the newest of this world"
    else:
        assert rows(site, name) == found["trust"], "without a run it is the newest"
    page = shown(site, name)
    assert page.status_code == 200
    assert QUERIES[name].title in page.text
    described = re.findall(r"(\w+): ", QUERIES[name].description)
    assert described == re.findall(r'<label for="qp\d+">(\w+)</label>', page.text)


@pytest.fixture(params=list(WORLDS))
def run(store: Store, request: pytest.FixtureRequest) -> Run:
    return store.runs.find(request.param)


def test_rejections_and_failed_calls_are_counted_as_hobbes_counts_them(
    store: Store, site: Datasette, run: Run
) -> None:
    told = rows(site, "rejections_and_corrections", run=run.id)
    for kind, table in (("rejection", "drops"), ("correction", "mends")):
        by_code = Counter[str]()
        for row in told:
            by_code[row["code"]] += row["times"] * (row["kind"] == kind)
        assert +by_code == store.figures.counts(run.id, table, "code")
    by_cause = Counter[str]()
    for row in rows(site, "failed_calls", run=run.id):
        by_cause[row["outcome"]] += row["calls"]
    assert by_cause == store.calls.failures(run.id)["by_cause"]
    calls = sum(row["calls"] for row in rows(site, "tokens_by_agent", run=run.id))
    assert calls == store.figures.result(run)["calls"]


def test_who_did_what_to_whom_is_what_trace_shows(store: Store, site: Datasette, run: Run) -> None:
    names = names_in(store, run)
    done: Counter[tuple[str, ...]] = Counter()
    for turn in store.turns.of(run):
        for deed, times in deeds(turn.record.events, names, run.world.causes)[0].items():
            done[deed.agent, deed.type, deed.role, deed.other] += times
    told = rows(site, "who_did_what_to_whom", run=run.id)
    assert {(row["agent"], row["type"], row["role"], row["other"]): row["times"] for row in told} == done
    aggression = [row for row in told if row["type"] in {"attack", "raid"}]
    assert aggression
    for row in rows(site, "ratings_beside_deeds", run=run.id):
        did = [one for one in aggression if one["agent"] == row["ratee"]]
        assert row["did_to_anybody"] == sum(one["times"] for one in did)
        assert row["did_to_rater"] == sum(one["times"] for one in did if one["other"] == row["rater"])
    assert {row["type"] for row in rows(site, "messages_before", run=run.id)} <= {"attack", "raid"}


def test_messages_before_an_attack_are_those_between_the_two(store: Store, site: Datasette) -> None:
    run = store.runs.find("nations")
    messages = [
        (m["turn"], m["sender"], m["receiver"], m["text"]) for m in table_of(store, run, "messages").rows
    ]
    attacks = [
        (turn.turn, event.agent, event.facts["target"])
        for turn in store.turns.of(run)
        for event in turn.record.events
        if event.type == "attack"
    ]
    expected = {
        (turn, agent, *message)
        for turn, agent, target in attacks
        for message in messages
        if turn - 2 <= message[0] <= turn
        and message[1] in {agent, target}
        and message[2] in {agent, target, "all"}
    }
    told = rows(site, "messages_before", run="nations", turns=2)
    columns = ("turn", "agent", "said_in_turn", "sender", "receiver", "text")
    assert expected
    assert {tuple(row[c] for c in columns) for row in told if row["sender"]} == expected
    assert {(row["turn"], row["agent"], row["other"]) for row in told} == set(attacks)


def test_figures_of_agents_by_turn_are_their_scores(store: Store, site: Datasette, run: Run) -> None:
    query, figure = {
        "mining": ("mining_gold", "gold"),
        "nations": ("nations_holdings", "welfare"),
        "trust": ("trust_sats", "sats"),
    }[run.world.name]
    told: Counter[tuple[int, str]] = Counter()
    for row in rows(site, query, run=run.id):
        told[row["turn"], row["agent"]] += row[figure] * row.get("alive", 1)
    assert told == {(row["turn"], row["agent"]): row["score"] for row in table_of(store, run, "scores").rows}


def test_prompts_and_answers_are_shown(store: Store, site: Datasette) -> None:
    told = rows(site, "prompts_and_answers", run="nations", turn=3, agent="AgentB")
    (call,) = store.calls.of_turn(store.runs.find("nations").id, 3, "AgentB")
    assert [(row["prompt"], row["answer"]) for row in told] == [(None, call.reply.text)], "a policy's view"


def test_all_tables_and_columns_are_described_and_no_others(store: Store, site: Datasette) -> None:
    tables: Mapping[str, Any] = metadata()["databases"][DATABASE]["tables"]
    assert tables.keys() == {*store.db.table_names(), *store.db.view_names()}
    for name in tables:
        table = tables[name]
        columns = kinds_of(store.db, name)
        assert table["columns"].keys() == columns.keys(), name
        assert table["description"], name
        assert not any(mark in text for text in table["columns"].values() for mark in ("`", "](")), name
        assert {*table.get("facets", ()), table.get("sort_desc", "run")} - {"run"} <= columns.keys(), name
        if not table.get("hidden"):
            page = shown(site, name)
            assert page.status_code == 200
            assert table["description"] in page.text


def test_a_page_of_a_run_that_is_being_played_shows_what_was_written_meanwhile(
    store: Store, site: Datasette
) -> None:
    """Datasette may only read, and the writer does not wait for it."""
    before = len(rows(site, "runs"))
    with closing(sqlite3.connect(store.home / "runs.db", timeout=0)) as writer:
        writer.execute("insert into runs (id, world, agents) values ('new', 'mining', '[]')")
        assert len(rows(site, "runs")) == before
        writer.commit()
        assert len(rows(site, "runs")) == before + 1
        writer.execute("delete from runs where id = 'new'")
        writer.commit()


def test_the_command_names_the_database_and_the_metadata(
    store: Store, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = cli("datasette", "--home", str(store.home))
    words = shlex.split(told.stdout)
    assert words[:4] == ["datasette", str(store.home / "runs.db"), "--metadata", str(store.home / FILE)]
    assert json.loads((store.home / FILE).read_text(encoding="utf-8")) == metadata()
    for name, value in zip(words[5::3], words[6::3], strict=True):
        assert name in Datasette([]).settings_dict()
        assert value
    document = json.loads(cli("datasette", "--home", str(store.home), "--json").stdout)
    assert document == {"command": shlex.join(words), "metadata": str(store.home / FILE)}
    monkeypatch.setattr(for_datasette, "find_spec", lambda _: None)
    with pytest.raises(LabError, match=r"no datasette; install it in the checkout: pip install -e '\.\[data"):
        prepare(store.home)


def test_a_home_without_runs_is_told_in_one_line(cli: Cli, tmp_path: Path) -> None:
    found = cli("datasette", "--home", str(tmp_path))
    assert isinstance(found.exception, MissingError)
    assert not list(tmp_path.iterdir())
