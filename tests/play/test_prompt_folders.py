"""What a run records of its prompts, and variants in folders of one's own."""

import shutil
from pathlib import Path

import pytest

from hobbes.errors import UsageError
from hobbes.nodes import prompt_set
from hobbes.nodes.prompting import load_prompts
from hobbes.store.home import Store
from hobbes.worlds import WORLDS
from tests.conftest import Cli
from tests.small_runs import edit, mining


def test_every_run_records_the_content_of_its_variant(opened: Store, prompts: Path) -> None:
    run = mining(opened)
    assert run.prompts.hash == load_prompts(WORLDS["mining"], "guided", "en").hash
    assert opened.figures.about(run.id)["prompts_hash"] == run.prompts.hash
    assert mining(opened, values={"rounds": 2, "immunity": 9}).prompts.hash == run.prompts.hash, "no setting"
    others = [mining(opened, **asked).prompts.hash for asked in ({"lang": "zh"}, {"prompts": "unguided"})]
    assert len({run.prompts.hash, *others}) == 3
    shutil.copytree(prompts / "mining" / "guided", prompts / "mining" / "copy")
    assert mining(opened, prompts="copy").prompts.hash == run.prompts.hash, "the same content"


def test_the_text_of_an_observer_is_a_part_of_the_content(prompts: Path) -> None:
    before = load_prompts(WORLDS["trust"], "plain", "en").hash
    edit(prompts / "trust" / "observer.en.md", "You are the observer", "You are an observer")
    assert load_prompts(WORLDS["trust"], "plain", "en").hash != before


@pytest.mark.parametrize(
    ("world", "variant"), [("mining", "unguided"), ("nations", "diplomacy"), ("trust", "plain")]
)
def test_a_copied_variant_needs_no_file_of_the_checkout(
    cli: Cli, tmp_path: Path, prompts: Path, world: str, variant: str
) -> None:
    mine, langs = tmp_path / "far" / "mine", ("en", "zh")
    before = [load_prompts(WORLDS[world], variant, lang).hash for lang in langs]
    assert cli("prompts", "copy", world, variant, str(mine)).exit_code == 0
    shutil.rmtree(prompts / world)
    assert [load_prompts(WORLDS[world], str(mine), lang).hash for lang in langs] == before
    again = cli("prompts", "copy", world, str(mine), str(mine)).exception
    assert isinstance(again, UsageError)


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
    shutil.copytree(prompt_set.ROOT / "mining" / "unguided", tmp_path / "mine")
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
