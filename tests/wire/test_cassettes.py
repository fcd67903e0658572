"""Cassettes: recorded HTTP calls, without secrets, from which runs are played in tests."""

import asyncio
import json
import re
import shutil
from pathlib import Path

import pytest
import vcr

from hobbes.engine import reflection
from hobbes.engine.answer import READING_CODES, FoundAs
from hobbes.loop import play_out
from hobbes.nodes import prompt_set
from hobbes.nodes.chat import ChatPlayer
from hobbes.nodes.journal import Address, Prompt
from hobbes.nodes.models import ModelSettings
from hobbes.nodes.prompt_set import PromptSet
from hobbes.play.playthrough import go_on
from hobbes.play.start import begin
from hobbes.store.home import open_store
from hobbes.wire.cassette_files import read_description, recorded_options
from hobbes.wire.cassettes import NEUTRAL_BASE_URL, CassetteMissError, answer_from_cassette
from hobbes.wire.recorder import (
    STAND_IN,
    cassette_of,
    environment,
    first_difference,
    in_thread,
    play_cassette,
    record,
)
from hobbes.wire.stand_in import stand_in
from hobbes.worlds import WORLDS
from tests.conftest import Cli

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
CASSETTES = sorted((ROOT / "cassettes").rglob("*.yaml"))
SMALL = 'world = "mining"\nagents = 2\nrounds = 2\nmodel = "openai:policy/guided"\n'


def recorded(folder: Path, text: str = SMALL) -> Path:
    """Record a small run from the stand-in server, and return its cassette."""
    file = folder / "small.toml"
    file.write_text(text)
    with in_thread(stand_in()) as base:
        record(file, base, STAND_IN, None)
    return cassette_of(file)


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.name)
def test_a_cassette_plays_to_the_recorded_result(path: Path) -> None:
    then, now = play_cassette(path)
    assert first_difference(then, now) is None
    assert now == {name: then[name] for name in now}


OF_WORLD = {
    world: of_world
    for world in WORLDS
    if (of_world := [path for path in CASSETTES if path.name.startswith(world)])
}
"""The cassettes of each world. tests/contract/test_worlds.py says which world has none."""

# All files have one form. vcrpy looks through all calls for each one, which takes long where there are many.
SMALL_CASSETTES = [min(paths, key=lambda path: path.stat().st_size) for paths in OF_WORLD.values()]


@pytest.mark.parametrize("path", SMALL_CASSETTES, ids=lambda path: path.name)
def test_plain_vcrpy_plays_a_cassette_to_the_recorded_digest(path: Path, tmp_path: Path) -> None:
    then = read_description(path)
    with (
        environment(OPENAI_BASE_URL=NEUTRAL_BASE_URL, OPENAI_API_KEY="none"),
        vcr.use_cassette(str(path), record_mode="none", match_on=["method", "uri", "body"]) as cassette,
        open_store(tmp_path) as store,
    ):
        run = begin(store, recorded_options(path, then))
        play_out(go_on(store, run, lambda _: None))
        assert store.runs.find(run.id).digest == then["digest"]
    assert cassette.all_played
    assert cassette.play_count == len(cassette)


def test_the_tests_in_the_docs_pass(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "cassettes.md").read_text()
    file = pytester.mkdir("cassettes") / "mine.toml"
    file.write_text(*re.findall(r"```toml\n(.*?)```", page, re.DOTALL))
    with in_thread(stand_in()) as base:
        record(file, base, STAND_IN, None)
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    pytester.makepyfile(**{f"test_{number}": example for number, example in enumerate(examples)})
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # of all plugins, the page names this one
    run = pytester.runpytest_inprocess("-p", "pytest_recording.plugin")
    run.assert_outcomes(passed=len(examples))
    assert "@pytest.mark.vcr(" in page


def test_every_run_file_has_a_cassette_that_names_its_source() -> None:
    assert [cassette_of(file) for file in sorted((ROOT / "cassettes").rglob("*.toml"))] == CASSETTES
    assert all(read_description(path)["source"] for path in CASSETTES)


OF_RULES = {code for world in OF_WORLD for code in WORLDS[world].telling.codes}
CODES = {*READING_CODES, *reflection.CODES, *OF_RULES}
"""Every code of a rejection or correction that an answer can lead to."""
NOT_RECORDED = {"read/most-fields"}
"""Codes of answers that no scripted policy gives, with any noise; tests/nodes/test_reading.py has one."""


def test_the_cassettes_contain_every_drop_and_mend_and_every_way_of_reading() -> None:
    reached: set[str] = set()
    found_as: set[str] = set()
    for path in CASSETTES:
        description = read_description(path)
        reached |= {*description["drops"], *description["mends"]}
        found_as |= {*description["found_as"]}
    assert CODES ^ reached == NOT_RECORDED
    assert found_as == {*FoundAs}


def test_a_changed_prompt_fails_with_a_diff_that_names_turn_and_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = recorded(tmp_path)
    shutil.copytree(prompt_set.ROOT, tmp_path / "prompts")
    monkeypatch.setattr(prompt_set, "ROOT", tmp_path / "prompts")
    template = tmp_path / "prompts" / "mining" / "guided" / "turn.en.md"
    template.write_text("Beware. " + template.read_text())
    with pytest.raises(CassetteMissError, match=r"(?s)turn 0, miner-01\n.*\n\+Beware\. ") as miss:
        play_cassette(path)
    assert (miss.value.turn, miss.value.agent) == ("0", "miner-01")


def test_replay_of_a_cassette_reports_by_its_exit_code(tmp_path: Path, cli: Cli) -> None:
    path = recorded(tmp_path)
    beside = path.with_suffix(".json")
    description = json.loads(beside.read_text())
    description["digests"][1] = description["digest"] = "0" * 64
    beside.write_text(json.dumps(description))
    other = cli("replay", str(path))
    assert other.exit_code == 1
    assert "first divergence: turn 1" in other.stdout


def test_recording_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    first = recorded(tmp_path).read_bytes()
    assert recorded(tmp_path).read_bytes() == first


def test_a_call_that_was_not_recorded_is_an_error_that_names_its_address(tmp_path: Path) -> None:
    path = recorded(tmp_path)

    async def ask(address: Address) -> None:
        player = ChatPlayer(
            ModelSettings(model="policy/guided"), "system", PromptSet("mining", "guided", "en", "", "", "")
        )
        try:
            await player.reply(address, Prompt("system", "turn"))
        finally:
            await player.close()

    with (
        environment(OPENAI_BASE_URL="https://model.invalid/v1", OPENAI_API_KEY="none"),
        pytest.raises(CassetteMissError, match="turn 9, miner-01\nnothing was recorded for this address"),
        answer_from_cassette(path),
    ):
        asyncio.run(ask(Address(9, "miner-01")))
