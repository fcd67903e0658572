"""`hobbes watch`: who edits a prompt sees at once what a model would be sent, and what it answers."""

import asyncio
import json
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from rich.color import ColorSystem

from hobbes.engine.world import OBSERVER
from hobbes.lab.errors import UsageError
from hobbes.lab.play.asking import Asker, JudgedCall
from hobbes.lab.play.playing import RunOptions
from hobbes.lab.play.rendering import PromptQuestion, question_in_new_run, question_in_run
from hobbes.lab.show.prompt_edits import Answered, Edits, News, Rendering, Terminal
from hobbes.lab.show.terminal import OUT
from hobbes.lab.store.home import Store
from hobbes.lab.wire.recording import environment, in_thread
from hobbes.lab.wire.serving import stand_in
from hobbes.nodes.caps import NO_CAPS, Caps
from hobbes.nodes.prompting import ROOT, PromptSet
from tests.conftest import Cli
from tests.forking import Command
from tests.lab.play import mining, prompt_of

SENTENCE = "Your objective: as much gold as you can in the long run."

GUIDED = "openai:policy/guided"


@pytest.fixture
def variant(tmp_path: Path) -> Path:
    """A folder of prompts outside the checkout."""
    folder = tmp_path / "mine"
    shutil.copytree(ROOT / "mining" / "unguided", folder)
    return folder


@pytest.fixture
def system(variant: Path) -> Path:
    """Its system text."""
    return variant / "system.en.md"


@pytest.fixture
def server() -> Iterator[None]:
    """The stand-in server."""
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base):
        yield


def question(variant: Path, model: str | None = None, turn: int = 0) -> PromptQuestion:
    """What the first agent is asked."""
    return question_in_new_run(RunOptions("mining", 3, models=model, prompts=str(variant)), turn, "miner-01")


def save(file: Path, text: str) -> None:
    """Save a file."""
    file.write_text(text, encoding="utf-8")


def saved(file: Path, texts: list[str], answered: asyncio.Event | None = None) -> AsyncIterator[None]:
    """Begin, then save a file with these texts; if a model is asked, wait each time until it has answered."""

    async def saving() -> AsyncIterator[None]:
        yield
        for text in texts:
            if answered:
                await answered.wait()
                answered.clear()
            save(file, text)
            yield

    return saving()


def renderings(asked: PromptQuestion, file: Path, texts: list[str]) -> list[Rendering]:
    """What is shown if a file is saved with these texts."""
    shown: list[News] = []
    asyncio.run(Edits(asked, shown.append).follow(saved(file, texts)))
    return [new for new in shown if isinstance(new, Rendering)]


def answers(store: Store, asked: PromptQuestion, file: Path, texts: list[str], caps: Caps) -> list[Answered]:
    """What a model answers if a file is saved with these texts."""
    shown: list[Answered] = []

    async def follow() -> None:
        answered = asyncio.Event()

        def show(new: News) -> None:
            if isinstance(new, Answered):
                shown.append(new)
                answered.set()

        await Edits(asked, show, Asker(store, asked, caps).ask).follow(saved(file, texts, answered))

    asyncio.run(follow())
    return shown


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
    warned, other = f"{text}\nWait 7 rounds.\n", f"{text}\n{{# rule: nobody #}}\nAll is well.\n"
    first, second, third = renderings(question(variant), system, [warned, other])
    assert first.problems == first.warnings == ()
    assert any("the number 7 is typed in" in warning for warning in second.warnings)
    assert any("has no rule nobody" in warning for warning in third.warnings), "Chinese lacks the mark"


def test_the_question_is_that_of_a_turn_of_a_run(opened: Store, variant: Path, system: Path) -> None:
    run = mining(opened)
    asked = question_in_run(opened, run, 2, "miner-02", variant=str(variant))
    _, second = renderings(asked, system, ["Play."])
    assert second.prompt
    assert second.prompt.system == "Play."
    (call,) = opened.calls.of_turn(run.id, 2, "miner-02")
    assert json.loads(second.prompt.turn.splitlines()[-1]) == json.loads(call.prompt.turn)


@pytest.mark.usefixtures("server")
def test_the_model_is_asked_when_the_prompt_has_changed(opened: Store, variant: Path, system: Path) -> None:
    texts = [f"Play {n}." for n in range(2)]
    first, second, third = answers(opened, question(variant, GUIDED, 2), system, texts, NO_CAPS)
    assert [one.number for one in (first, second, third)] == [0, 1, 2]
    assert first.card
    assert third.card
    assert third.card["system"] == "Play 1."
    assert (third.card["turn"], third.card["agent"], third.card["outcome"]) == (2, "miner-01", "answered")
    assert json.loads(third.card["answer"])["reasoning"] == third.card["reasoning"]
    assert third.card["intent"] == first.card["intent"], "the stand-in reads only the view"
    assert third.card["tokens"]["in"] < first.card["tokens"]["in"]


@pytest.mark.usefixtures("server")
def test_a_save_that_changes_no_prompt_costs_nothing(opened: Store, variant: Path, system: Path) -> None:
    asked, shown = question(variant, GUIDED), list[News]()
    saves = saved(system, [system.read_text(encoding="utf-8")])
    asyncio.run(Edits(asked, shown.append, Asker(opened, asked, NO_CAPS).ask).follow(saves))
    assert [(type(new), new.number) for new in shown] == [(Rendering, 0), (Rendering, 1), (Answered, 0)]


@pytest.mark.usefixtures("server")
def test_what_the_rules_reject_is_on_the_card(opened: Store, variant: Path, system: Path) -> None:
    asked = question(variant, "openai:policy/random?noise=1")
    (one,) = answers(opened, asked, system, [], NO_CAPS)
    assert one.card
    assert one.card["drops"] or one.card["mends"]


@pytest.mark.usefixtures("server")
def test_at_a_cap_no_more_calls_are_made_but_prompts_are_rendered(
    opened: Store, variant: Path, system: Path
) -> None:
    first, second = answers(opened, question(variant, GUIDED), system, ["Play."], Caps(calls=1))
    assert first.card
    assert second.to_json() == {"rendering": 1, "card": None, "error": "--max-calls 1 is reached"}


def test_a_failed_call_is_shown_as_one_and_the_next_save_asks_again(
    opened: Store, variant: Path, system: Path
) -> None:
    with in_thread(stand_in(faults={"no-model": 1.0})) as base, environment(OPENAI_BASE_URL=base):
        texts = [f"Play {n}." for n in range(4)]
        shown = answers(opened, question(variant, GUIDED), system, texts, NO_CAPS)
    assert len(shown) == 5
    for one in shown:
        assert one.card
        assert one.card["outcome"] == "provider-error"
        assert "HTTP 4" in one.card["error"]
        assert one.card["intent"]["actions"] == [], "the default action"


@pytest.mark.usefixtures("server")
def test_while_a_model_answers_saves_are_rendered_and_only_the_last_is_asked_about(
    opened: Store, variant: Path, system: Path
) -> None:
    """The model takes its time with the first wording, until three more have been saved."""
    asked = question(variant, GUIDED)
    shown: list[tuple[str, int]] = []

    async def follow() -> None:
        all_rendered, asker = asyncio.Event(), Asker(opened, asked, NO_CAPS)

        async def ask_slowly(prompts: PromptSet) -> JudgedCall:
            await all_rendered.wait()
            return await asker.ask(prompts)

        def show(new: News) -> None:
            shown.append((type(new).__name__, new.number))
            if shown[-1] == ("Rendering", 3):
                all_rendered.set()

        async def saves() -> AsyncIterator[None]:
            async for _ in saved(system, [f"Play {n}." for n in range(3)]):
                yield
                await asyncio.sleep(0)  # the model begins to answer

        await Edits(asked, show, ask_slowly).follow(saves())

    asyncio.run(follow())
    rendered = [("Rendering", n) for n in range(4)]
    assert shown == [*rendered, ("Answered", 0), ("Answered", 3)]


@pytest.mark.usefixtures("server")
def test_an_observer_that_is_a_model_is_asked_for_its_rulings(opened: Store) -> None:
    options = RunOptions("trust", models="policy:beggar", values={"observer": "openai:policy/generous"})
    asked = question_in_new_run(options, 0, OBSERVER)
    (one,) = answers(opened, asked, Path(), [], NO_CAPS)
    assert one.card
    assert set(one.card["rulings"]) == {"unit-a", "unit-b"}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("--ask",), "--ask needs a model, but policy:guided plays miner-01 and reads no prompt"),
        (("--ask", "--model", "openai:m"), "openai: models need OPENAI_API_KEY, or OPENAI_BASE_URL"),
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
    asyncio.run(Edits(question(variant), Terminal().show).follow(saved(system, [text, "{{ x }}"])))
    _, first, second, third = capsys.readouterr().out.split("rendering ")
    line = "Your objective: as much gold as you can in [-the long run-]{+sum+}."
    assert SENTENCE in first
    assert second.count(line) == 2, "in the prompt, and once more below it"
    system_line, view = "--- system\nYou are one of", "--- changed\n"
    assert system_line in second
    assert second.index(system_line) < second.index(view)
    assert "tokens (-2): system" in second
    assert "0 problems, 0 warnings" in second
    assert third == f"2\n{system}: unknown placeholder x; known: {third.partition('known: ')[2]}"


def test_with_colours_they_need_no_marks(
    variant: Path, system: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OUT, "_color_system", ColorSystem.STANDARD)
    text = system.read_text(encoding="utf-8").replace("the long run", "sum")
    asyncio.run(Edits(question(variant), Terminal().show).follow(saved(system, [text])))
    shown = capsys.readouterr().out
    assert "\x1b[9;31mthe long run\x1b[0m\x1b[1;32msum\x1b[0m" in shown
    assert "[-" not in shown


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(("width", "titles"), [(160, [2]), (100, [1, 1])])
def test_an_answer_stands_beside_the_last_one_if_there_is_room(  # noqa: PLR0913, PLR0917  fixtures
    opened: Store,
    variant: Path,
    system: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    titles: list[int],
) -> None:
    first, second = answers(opened, question(variant, GUIDED), system, ["Play."], NO_CAPS)
    monkeypatch.setattr(OUT, "_width", width)
    terminal = Terminal()
    terminal.show(first)
    assert capsys.readouterr().out.count("answer to rendering") == 1
    terminal.show(second)
    found = [line.count("answer to rendering") for line in capsys.readouterr().out.splitlines()]
    assert [count for count in found if count] == titles


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
