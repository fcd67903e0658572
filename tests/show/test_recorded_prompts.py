"""`hobbes prompts list` says what was recorded with a variant, and what has changed since."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hobbes.errors import UsageError
from hobbes.nodes import prompting
from hobbes.nodes.prompting import load_prompts
from hobbes.show import recorded_prompts
from hobbes.store.home import Store
from hobbes.wire.recorder import in_thread, record
from hobbes.wire.stand_in import stand_in
from hobbes.worlds import WORLDS
from tests.conftest import Cli
from tests.small_runs import mining

ROOT = Path(__file__).parents[2]


@pytest.fixture
def prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The prompts of a checkout of its own, without cassettes."""
    monkeypatch.setattr(prompting, "ROOT", shutil.copytree(prompting.ROOT, tmp_path / "prompts"))
    cassettes = tmp_path / "cassettes"
    cassettes.mkdir()
    monkeypatch.setattr(recorded_prompts, "CASSETTES", cassettes)
    return prompting.ROOT


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def listed(cli: Cli, world: str = "mining") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cli("prompts", "list", "--json").stdout)[world]
    return found


def test_every_run_records_the_content_of_its_variant(opened: Store, prompts: Path) -> None:
    run = mining(opened)
    assert run.prompts.hash == load_prompts(WORLDS["mining"], "guided", "en").hash
    assert opened.figures.about(run.id)["prompts_hash"] == run.prompts.hash
    assert mining(opened, values={"rounds": 2, "immunity": 9}).prompts.hash == run.prompts.hash, "no setting"
    others = [mining(opened, **asked).prompts.hash for asked in ({"lang": "zh"}, {"prompts": "unguided"})]
    assert len({run.prompts.hash, *others}) == 3
    shutil.copytree(prompts / "mining" / "guided", prompts / "mining" / "copy")
    assert mining(opened, prompts="copy").prompts.hash == run.prompts.hash, "the same content"


@pytest.mark.parametrize("file", ["guided/system.en.md", "guided/turn.en.md", "rules.en.md"])
def test_a_run_says_whether_its_variant_has_changed_since(
    file: str, opened: Store, cli: Cli, prompts: Path
) -> None:
    run, zh = mining(opened, name="before"), mining(opened, lang="zh")
    told = {"run": run.id, "name": "before", "lang": "en", "changed": False}
    assert told in listed(cli)["guided"]["runs"]
    with (prompts / "mining" / file).open("r+", encoding="utf-8") as opened_file:
        text = opened_file.read()
        opened_file.seek(0)
        opened_file.write(f"Hello!\n{text}")
    runs = {one["run"]: one["changed"] for one in listed(cli)["guided"]["runs"]}
    assert runs == {run.id: True, zh.id: False}
    assert "2, 1 changed" in cli("prompts", "list").stdout


def test_the_text_of_an_observer_is_a_part_of_the_content(prompts: Path) -> None:
    before = load_prompts(WORLDS["trust"], "plain", "en").hash
    edit(prompts / "trust" / "observer.en.md", "You are the observer", "You are an observer")
    assert load_prompts(WORLDS["trust"], "plain", "en").hash != before


def test_folders_elsewhere_are_listed_with_the_runs_that_they_were_played_in(
    opened: Store, cli: Cli, prompts: Path, tmp_path: Path
) -> None:
    mine = shutil.copytree(prompts / "mining" / "guided", tmp_path / "repository" / "mine")
    run = mining(opened, prompts=str(mine))
    found = listed(cli)[str(mine)]
    assert found["languages"] == ["en", "zh"]
    assert [(one["run"], one["changed"]) for one in found["runs"]] == [(run.id, False)]
    shutil.rmtree(mine)
    gone = listed(cli)[str(mine)]
    assert (gone["languages"], gone["runs"][0]["changed"]) == ([], True)


def test_a_run_of_an_earlier_version_does_not_know(opened: Store, cli: Cli, prompts: Path) -> None:
    run = mining(opened)
    assert prompts.is_dir()
    opened.runs.update(run.id, prompts_hash=None)
    assert [one["changed"] for one in listed(cli)["guided"]["runs"]] == [None]


@pytest.mark.parametrize(
    ("world", "file", "more"),
    [
        ("mining", "mining/rules.en.md", ""),
        ("mining", "mining/guided/turn.en.md", ""),
        ("trust", "trust/observer.en.md", '[config]\nobserver = "openai:policy/always"\n'),
    ],
)
def test_a_cassette_says_whether_its_variant_has_changed_since(
    world: str, file: str, more: str, cli: Cli, prompts: Path
) -> None:
    models = {"mining": "openai:policy/guided", "trust": "openai:policy/beggar"}
    made = recorded_prompts.CASSETTES / "mine.toml"
    made.write_text(f'world = "{world}"\nagents = 2\nrounds = 2\nmodel = "{models[world]}"\n{more}')
    with in_thread(stand_in()) as base:
        record(made, base, "here", None)
    variant = "guided" if world == "mining" else "plain"
    told = {"cassette": "mine", "lang": "en", "changed": False}
    assert listed(cli, world)[variant]["cassettes"] == [told]
    edit(prompts / file, ".", "!")
    assert listed(cli, world)[variant]["cassettes"] == [told | {"changed": True}]


def test_the_shipped_cassettes_are_of_the_shipped_prompts(cli: Cli) -> None:
    found = json.loads(cli("prompts", "list", "--json").stdout)
    cassettes = [
        one for of_world in found.values() for variant in of_world.values() for one in variant["cassettes"]
    ]
    assert len(cassettes) == len([*(ROOT / "cassettes").rglob("*.yaml")])
    assert [one["cassette"] for one in cassettes if one["changed"]] == []


def test_a_folder_without_a_slash_is_told_from_a_variant(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    error = cli("run", "mining", "--prompts", "mine").exception
    assert isinstance(error, UsageError)
    assert "for the folder write ./mine" in str(error)


def test_a_folder_elsewhere_is_taken_wherever_a_variant_is(
    opened: Store, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(prompting.ROOT / "mining" / "unguided", tmp_path / "mine")
    edit(tmp_path / "mine" / "turn.en.md", "Decide what to do", "Say what to do")
    monkeypatch.chdir(tmp_path)
    run = mining(opened, name="baseline", values={"rounds": 2})
    Path("run.toml").write_text('world = "mining"\nrounds = 1\nprompts = "./mine"\n')
    for words in (
        ("prompts", "show", "mining", "./mine"),
        ("prompts", "render", "mining", "--prompts", "./mine"),
        ("prompts", "render", "mining", "--prompts", "./mine", "--run", run.id),
        ("prompts", "diff", "mining", "guided", "./mine"),
    ):
        assert "Say what to do" in cli(*words).stdout, words
    assert cli("prompts", "check", "mining", "./mine").exit_code == 0
    for command in (("run", "run.toml"), ("fork", run.id, "--turn", "1", "--prompts", "./mine")):
        assert cli(*command).exit_code == 0, command
        last = opened.runs.find("last").prompts
        assert (last.variant, last.turn[:14]) == (str(tmp_path / "mine"), "Say what to do"), command
