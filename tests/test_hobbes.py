"""The package `hobbes`, which other programs import: everything that was recorded can be read with it."""

import asyncio
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from importlib.metadata import version
from inspect import signature
from math import nan
from pathlib import Path
from typing import Any

import pytest

import hobbes
from hobbes.engine.world import OBSERVER
from hobbes.errors import UsageError
from hobbes.play.start import RunOptions, begin
from hobbes.show.trace import agent_card, full_turn
from hobbes.store.home import Store
from hobbes.store.policy_games import play_purely
from hobbes.store.run_tables import TABLES, table_of
from hobbes.store.schema import CARRIED_OVER, SCHEMA_VERSION
from tests.conftest import Cli
from tests.play.test_observer import REASON, game, granting_all, on
from tests.small_runs import SMALL, mining, played, played_once

PAGE = Path(__file__).parents[1] / "docs" / "python.md"


@pytest.fixture
def reader(opened: Store) -> Iterator[hobbes.Home]:
    """A home with one run, in which answers are spoiled."""
    played_once(opened, replace(SMALL, models="policy:random?noise=0.2"))
    with hobbes.open(opened.home) as found:
        yield found


def test_a_run_tells_what_was_played_and_what_came_of_it(opened: Store, reader: hobbes.Home) -> None:
    stored, run = opened.runs.find("last"), reader.run()
    assert (run.id, run.name, run.world, run.seed, run.status) == (stored.id, None, "mining", 1, "finished")
    assert (run.settings["rows"], run.agents) == (4, ("miner-01", "miner-02", "miner-03"))
    assert run.models["miner-01"] == "policy:random?noise=0.2"
    assert (run.digest, run.result) == (stored.digest, opened.figures.result(stored))
    assert (run.scores, run.measures) == (run.result["scores"], opened.figures.measures(run.id))
    assert [turn.number for turn in run.turns] == [0, 1, 2, 3]
    assert [one.id for one in reader.runs()] == [run.id]


def test_a_turn_tells_its_events_draws_and_state(opened: Store, reader: hobbes.Home) -> None:
    record = next(opened.turns.of(opened.runs.find("last"), 2)).record.to_json()
    turn = reader.run().turn(2)
    assert (turn.events, turn.draws, turn.state) == (record["events"], record["draws"], record["state"])
    assert turn.agents == ("miner-01", "miner-02", "miner-03")
    assert turn.digest == reader.run().turns[2].digest


def test_an_agents_turn_is_its_card(opened: Store, reader: hobbes.Home) -> None:
    card = agent_card(
        opened, opened.runs.find("last"), 1, "miner-02", full_turn(opened, opened.runs.find("last"), 1)
    )
    one = reader.run().turn(1).agent("miner-02")
    same = (
        "view",
        "answer",
        "outcome",
        "intent",
        "drops",
        "mends",
        "events",
        "memory_before",
        "memory_after",
    )
    assert {name: getattr(one, name) for name in same} == {name: card[name] for name in same}
    assert (one.prompt.system, one.prompt.turn) == (card["system"], card["prompt"])
    assert one.reasoning == card["intent"]["reflection"]["reasoning"]


def test_the_observers_turn_has_its_rulings(opened: Store) -> None:
    run = on(opened, begin(opened, game("human")))
    on(opened, run, granting_all(run))
    observer = hobbes.open(opened.home).run().turn(run.turns).agent(OBSERVER)
    assert {ruling["reason"] for ruling in observer.intent.values()} == {REASON}
    assert observer.view["requests"]
    assert observer.memory_after == {}


def test_events_that_are_called_so_have_their_turn(opened: Store, reader: hobbes.Home) -> None:
    claims = reader.run().events("claim")
    assert claims
    assert claims == [event for event in reader.run().events() if event["type"] == "claim"]
    assert claims[0] == {"turn": 0, **next(e for e in reader.run().turn(0).events if e["type"] == "claim")}
    played(opened, replace(SMALL, models="policy:raider"))
    raids = reader.run().events("raid")
    assert reader.run().events("capture") == [raid for raid in raids if raid["result"] == "captured"] != raids


def test_every_table_is_a_frame_in_which_json_is_a_value(opened: Store, reader: hobbes.Home) -> None:
    for name in TABLES:
        frame, table = reader.run().table(name), table_of(opened, opened.runs.find("last"), name)
        assert (list(frame.columns), len(frame)) == (list(table.columns), len(list(table.rows)))
        whole = [column for column, kind in table.columns.items() if kind is int]
        assert {str(frame[column].dtype) for column in whole} <= {"Int64"}
    assert reader.run().table("turns")["state"][0]["turn"] == 1


def test_what_is_missing_is_a_lookup_error_of_one_line(reader: hobbes.Home) -> None:
    run = reader.run()
    for look, told in (
        (lambda: reader.run("nobody's"), 'there is no run "nobody\'s"'),
        (lambda: run.turn(4), "has no turn 4; it has turns 0 to 3"),
        (lambda: run.turn(-1), "has no turn -1"),
        (lambda: run.turn(0).agent("miner-09"), "'miner-09' did not act in turn 0; did you mean 'miner-0"),
        (lambda: run.events("rade"), "mining has no event 'rade'; did you mean 'raid'?"),
        (lambda: run.table("call"), "there is no table 'call'; did you mean 'calls'?"),
    ):
        with pytest.raises(LookupError, match=re.escape(told)) as found:
            look()
        assert isinstance(found.value, hobbes.MissingError)
        assert "\n" not in str(found.value)


def test_a_home_is_never_created_or_changed(tmp_path: Path, reader: hobbes.Home) -> None:
    with pytest.raises(
        hobbes.MissingError, match=r"there are no runs in .*nowhere, which does not exist; `hobbes run mi"
    ):
        hobbes.open(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
    with pytest.raises(Exception, match="readonly"):
        reader._store.runs.update("last", status="halted")  # noqa: SLF001  nothing public writes


def test_a_file_that_is_no_database_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_text("something else" * 99)
    with pytest.raises(hobbes.HobbesError, match=r"^runs.db is damaged: file is not a database; put back"):
        hobbes.open(tmp_path)


def test_a_home_that_was_closed_is_told_in_one_line(reader: hobbes.Home) -> None:
    run = reader.run()
    reader.close()
    for read in (reader.runs, lambda: run.turns, lambda: run.turn(0)):
        with pytest.raises(UsageError, match=r"^the home .* is closed; open it again with hobbes\.open$"):
            read()


@pytest.mark.parametrize(
    ("schema", "what_to_do"),
    [
        (CARRIED_OVER, "`hobbes migrate` carries it over"),
        (
            9,
            f"`hobbes migrate` carries over schema {CARRIED_OVER} only: choose another folder with --home",
        ),
    ],
)
def test_a_database_of_another_schema_is_refused_in_one_line_that_names_what_to_do(
    opened: Store, home: Path, cli: Cli, schema: int, what_to_do: str
) -> None:
    opened.db.execute(f"pragma user_version = {schema}")
    refused = f"{home}/runs.db has schema {schema}, and this hobbes has schema {SCHEMA_VERSION}; {what_to_do}"
    for command in (("runs",), ("run", "mining")):
        assert str(cli(*command).exception) == refused
    with pytest.raises(hobbes.HobbesError, match=re.escape(f"`hobbes migrate --home {home}` carries")):
        hobbes.open(home)


def test_the_home_is_that_of_the_environment_or_the_folder(
    opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mining(opened)
    monkeypatch.setenv("HOBBES_HOME", str(opened.home))
    assert hobbes.open().run().world == "mining"
    monkeypatch.delenv("HOBBES_HOME")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".hobbes").symlink_to(opened.home)
    assert hobbes.open().run().world == "mining"


def test_a_run_outlives_the_variable_of_its_home(opened: Store) -> None:
    mining(opened)
    assert hobbes.open(opened.home).run("last").turn(3).agent("miner-01").prompt.turn.startswith("{")


def test_the_examples_of_the_page_run(opened: Store, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "HOBBES_HOME", str(home))
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    exec("\n".join(blocks), names)  # noqa: S102  our own page
    run = opened.runs.find("last")
    assert (run.turns, run.prompts.variant, run.setting.config.immunity) == (10, "unguided", 2)
    assert names["scores"].loc[9].to_dict() == opened.figures.about(run.id)["scores"]


def test_a_run_is_played_in_a_loop_of_ones_own(home: Path) -> None:
    played_so = hobbes.aplay("mining", rounds=2, agents=2, model="policy:random", seed=4, home=home)
    run = asyncio.run(played_so)
    assert (run.status, run.turns[-1].number, run.seed) == ("finished", 1, 4)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"model": "guided"}, "did you mean 'policy:guided'"),
        ({"model": ""}, "'' does not add up to 10 agents"),
        ({"prompts": ""}, "prompts/mining has no variant ''"),
        ({"round": 2}, "play: got an unexpected keyword argument 'round'; did you mean 'rounds'?"),
        ({"rounds": "x"}, "play: rounds: Input should be a valid integer"),
        ({"agents": 0}, "play: agents: Input should be greater than 0"),
        ({"max_calls": -5}, "play: max_calls: Input should be greater than 0"),
        ({"max_usd": nan}, "play: max_usd: Input should be a finite number"),
        ({"max_seconds": -1}, "play: max_seconds: Input should be greater than or equal to 0"),
        ({"settings": ["immunity=2"]}, "play: settings: Input should be a valid dictionary"),
        ({"settings": {"immunity": object()}}, "play: settings: input was not a valid JSON value"),
        ({"settings": {"rounds": 1}, "rounds": 2}, "rounds is set twice, by itself and in settings"),
        ({"home": "\0"}, r"home '\x00': embedded null byte"),
    ],
)
def test_wrong_options_are_told_in_one_line_and_nothing_is_played(
    home: Path, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(UsageError, match=rf"\A.*{re.escape(problem)}.*\Z"):
        hobbes.play("mining", **{"home": home, **options})
    assert not (home / "runs.db").exists() or not hobbes.open(home).runs()


def test_options_are_written_by_name(home: Path) -> None:
    with pytest.raises(
        UsageError, match="play: too many positional arguments; write them by name: world, ag"
    ):
        hobbes.play("mining", 4, home=home)  # type: ignore[call-arg]


def test_play_and_aplay_have_the_same_options_and_each_has_its_effect(opened: Store) -> None:
    assert signature(hobbes.play) == signature(hobbes.aplay)
    players: dict[str, Any] = {"agents": 3, "seed": 4, "model": "policy:random"}
    texts: dict[str, Any] = {"prompts": "survivor", "lang": "zh", "name": "all", "home": opened.home}
    values: dict[str, Any] = {"rounds": 2, "observer": "never"}
    caps: dict[str, Any] = {"max_calls": 101, "max_tokens": 102, "max_usd": 103.0, "max_seconds": 104.0}
    hobbes.play("trust", **players, **texts, **values, settings={"miss": 1}, **caps)
    run = opened.runs.find("all")
    assert (run.world.name, len(run.setting.agents), run.setting.seed) == ("trust", 3, 4)
    assert {*run.models.values(), run.prompts.variant, run.prompts.lang} == {
        "policy:random",
        "survivor",
        "zh",
    }
    assert run.setting.config.model_dump().items() >= {**values, "miss": 1}.items()
    assert {f"max_{name}": cap for name, cap in asdict(run.caps).items()} == caps


def test_in_a_notebook_play_says_to_await() -> None:
    async def cell() -> None:
        hobbes.play("mining")

    with pytest.raises(hobbes.HobbesError, match=r"await hobbes.aplay") as refused:
        asyncio.run(cell())
    assert refused.value.__context__ is None


def test_what_has_another_type_says_what_to_pass(reader: hobbes.Home) -> None:
    run = reader.run()
    for look in (reader.run, run.events, run.table, run.turn(0).agent, hobbes.graph):
        with pytest.raises(UsageError, match="Input should be a valid string"):
            look(3)  # type: ignore[arg-type]
    for wrong in ("3", 1.5, None):
        with pytest.raises(TypeError, match=r"pass a whole number, such as turn\(3\), not"):
            run.turn(wrong)  # type: ignore[arg-type]


def test_the_package_has_its_version() -> None:
    assert hobbes.__version__ == version("hobbes")


def test_runs_are_listed_as_they_are_and_one_that_kept_no_turns_is_played_again_when_they_are_read(
    opened: Store,
) -> None:
    run = begin(opened, RunOptions("mining", 2, values={"rounds": 2}))
    play_purely(opened, run)
    with hobbes.open(opened.home) as home:
        (one,) = home.runs()
        assert repr(one) == f"<hobbes run {run.id}: mining, 2 turns, finished>"
        assert not opened.db.execute("select 1 from turns").fetchall()
        assert [turn.number for turn in one.turns] == [0, 1]
        assert one.measures
