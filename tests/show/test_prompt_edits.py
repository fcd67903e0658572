"""`hobbes watch`: who edits a prompt sees at once what a model would be sent."""

import asyncio
import json
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from rich.color import ColorSystem

from hobbes.errors import UsageError
from hobbes.nodes.prompt_set import ROOT
from hobbes.play.render import PromptQuestion, question_in_new_run, question_in_run
from hobbes.play.start import RunOptions
from hobbes.probe.versions import Tried
from hobbes.show.prompt_edits import Edits, News, Rendering, show
from hobbes.show.terminal import OUT
from hobbes.store.home import Store
from tests.conftest import Cli
from tests.forking import Command
from tests.small_runs import mining, prompt_of

SENTENCE = "Your objective: as much gold as you can in the long run."


@pytest.fixture
def variant(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    shutil.copytree(ROOT / "mining" / "unguided", folder)
    return folder


@pytest.fixture
def system(variant: Path) -> Path:
    return variant / "system.en.md"


def question(variant: Path) -> PromptQuestion:
    """What the first agent is asked."""
    return question_in_new_run(RunOptions("mining", 3, prompts=str(variant)), 0, "miner-01")


def save(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


async def saved(file: Path, texts: list[str]) -> AsyncIterator[None]:
    """Begin, then save a file with these texts."""
    yield
    for text in texts:
        save(file, text)
        yield


def renderings(asked: PromptQuestion, file: Path, texts: list[str]) -> list[Rendering]:
    """What is shown if a file is saved with these texts."""
    shown: list[News] = []
    asyncio.run(Edits(asked, shown.append).follow(saved(file, texts)))
    return [new for new in shown if isinstance(new, Rendering)]


def test_each_save_renders_the_prompt_with_the_words_that_changed(variant: Path, system: Path) -> None:
    text = system.read_text(encoding="utf-8")
    changed = text.replace("the long run", "sum")
    first, second, third = renderings(question(variant), system, [changed, changed])
    assert first.to_json()["changes"] == []
    assert first.to_json()["tokens"]["change"] is None
    assert second.prompt == prompt_of(question(variant))
    told = second.to_json()
    assert SENTENCE.replace("the long run", "sum") in told["system"]
    changes = [piece for piece in told["changes"] if piece[0] != " "]
    assert changes == [("-", "the long run"), ("+", "sum")]
    assert told["tokens"]["change"] == {
        "system": told["tokens"]["system"] - first.to_json()["tokens"]["system"],
        "turn": 0,
    }
    assert third.to_json()["changes"] == []
    assert third.to_json()["tokens"]["change"] == {"system": 0, "turn": 0}


def test_a_prompt_that_cannot_be_rendered_is_one_line_and_the_watching_goes_on(
    variant: Path, system: Path
) -> None:
    text = system.read_text(encoding="utf-8")
    texts = [text + "{{ stamna }}", text + "{% if %}", text + "{{ 1 // (stamina - 7) }}", text + "More."]
    asked = question_in_new_run(
        RunOptions("mining", prompts=str(variant), values={"stamina": 7}), 0, "miner-01"
    )
    _, unknown, syntax, under_setting, after = renderings(asked, system, texts)
    assert unknown.error
    assert f"{system}: unknown placeholder stamna" in unknown.error
    assert syntax.error
    assert f"{system}, line" in syntax.error
    assert under_setting.error == f"{system}: integer division or modulo by zero"
    for one in (unknown, syntax, under_setting):
        assert len((one.error or "").splitlines()) == 1
        assert one.to_json()["system"] is one.to_json()["tokens"] is None
    assert after.error is None
    assert ("+", "More.") in after.to_json()["changes"], "compared with the last prompt that there was"


def test_what_check_finds_is_shown_with_each_rendering(variant: Path, system: Path) -> None:
    text = system.read_text(encoding="utf-8")
    first, second = renderings(question(variant), system, [f"{text}\nWait 7 rounds.\n"])
    assert first.problems == first.warnings == ()
    assert any("the number 7 is typed in" in warning for warning in second.warnings)


def test_the_question_is_that_of_a_turn_of_a_run(opened: Store, variant: Path, system: Path) -> None:
    run = mining(opened)
    asked = question_in_run(opened, run, 2, "miner-02", variant=str(variant))
    _, second = renderings(asked, system, ["Play."])
    assert second.prompt
    assert second.prompt.system == "Play."
    (call,) = opened.calls.of_turn(run.id, 2, "miner-02")
    assert json.loads(second.prompt.turn.splitlines()[-1]) == json.loads(call.prompt.turn)


def test_while_a_probe_is_asked_saves_are_rendered_and_only_the_last_is_asked_about(
    variant: Path, system: Path
) -> None:
    """It takes its time with the first wording, until three more have been saved."""
    shown: list[tuple[str, int]] = []

    async def follow() -> None:
        all_rendered = asyncio.Event()

        async def ask_slowly() -> Tried:
            await all_rendered.wait()
            return Tried(None)

        def show(new: News) -> None:
            shown.append((type(new).__name__, new.number))
            if shown[-1] == ("Rendering", 3):
                all_rendered.set()

        async def saves() -> AsyncIterator[None]:
            async for _ in saved(system, [f"Play {n}." for n in range(3)]):
                yield
                await asyncio.sleep(0)  # the asking begins

        await Edits(question(variant), show, ask_slowly).follow(saves())

    asyncio.run(follow())
    rendered = [("Rendering", n) for n in range(4)]
    assert shown == [*rendered, ("Probed", 0), ("Probed", 3)]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("--prompts", "./nowhere"), "nowhere: there is no such folder"),
        (("--lang", "fr"), "has no language 'fr'"),
        (("--run", "last", "--seed", "2"), "--run takes its settings from the run"),
        (("--agent", "miner-99"), "'miner-99' does not act in turn 0"),
    ],
)
def test_what_cannot_be_watched_is_one_line(cli: Cli, asked: tuple[str, ...], told: str) -> None:
    refused = cli("watch", "mining", *asked).exception
    assert isinstance(refused, UsageError)
    assert told in str(refused)
    assert "\n" not in str(refused)


def test_without_colours_the_words_that_changed_have_marks(
    variant: Path, system: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = system.read_text(encoding="utf-8").replace("the long run", "sum")
    asyncio.run(Edits(question(variant), show).follow(saved(system, [text, "{{ x }}"])))
    _, first, second, third = capsys.readouterr().out.split("rendering ")
    line = "Your objective: as much gold as you can in [-the long run-]{+sum+}."
    assert SENTENCE in first
    assert "--- system\nYou are one of" in first
    assert second.startswith("1\n--- changed\n")
    assert line in second
    assert "You are one of" not in second, "the rest of the prompt stays as it was"
    assert "tokens (-3): system" in second
    assert "0 problems, 0 warnings" in second
    assert third == f"2\n{system}: unknown placeholder x; known: {third.partition('known: ')[2]}"


def test_with_colours_they_need_no_marks(
    variant: Path, system: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OUT, "_color_system", ColorSystem.STANDARD)
    text = system.read_text(encoding="utf-8").replace("the long run", "sum")
    asyncio.run(Edits(question(variant), show).follow(saved(system, [text])))
    shown = capsys.readouterr().out
    assert "\x1b[9;31mthe long run\x1b[0m\x1b[1;32msum\x1b[0m" in shown
    assert "[-" not in shown


def until(watching: Command, key: str, words: str) -> None:
    """Read what a command prints until a rendering has these words; it may see half of a save before."""
    assert watching.stdout
    while words not in (json.loads(watching.stdout.readline())[key] or ""):
        pass


def test_files_are_watched_until_the_command_is_interrupted(
    process: Callable[..., Command], variant: Path, system: Path
) -> None:
    """A file is saved in place, replaced as many editors do it, included, and its folder is made anew."""
    watching = process("watch", "mining", "--prompts", str(variant), "--json")
    until(watching, "system", SENTENCE)
    system.write_text("Once.", encoding="utf-8")
    until(watching, "system", "Once.")
    (variant / "new").write_text('{% include "shared.md" %}', encoding="utf-8")
    (variant / "new").replace(system)
    until(watching, "error", "shared.md")
    (variant.parent / "shared.md").write_text("Twice.", encoding="utf-8")
    until(watching, "system", "Twice.")
    variant.rename(variant.parent / "old")
    until(watching, "error", "there is no such folder")
    shutil.copytree(ROOT / "mining" / "guided", variant)
    until(watching, "system", SENTENCE)
    system.write_text("Thrice.", encoding="utf-8")
    until(watching, "system", "Thrice.")
    watching.send_signal(signal.SIGINT)
    assert watching.wait() == 0
