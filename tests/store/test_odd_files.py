"""What people name may be no file at all, have no end, or be no text: one line says so, and nothing waits."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import cast

import pytest

from hobbes.cli import main
from hobbes.engine.world import MAX_NAME
from hobbes.errors import HobbesError, UsageError
from hobbes.nodes.file_content import FileError, content_of, text_of
from hobbes.nodes.prompt_set import ROOT
from hobbes.play.render import question_in_new_run
from hobbes.play.start import RunOptions, begin
from hobbes.show.prompt_edits import Edits, Rendering, Show, saves
from hobbes.store.home import Store
from tests.conftest import Cli
from tests.small_experiment import FILE, written
from tests.small_runs import mining

LONG = "n" * 300
"""No file can have this name."""

Damage = Callable[[Path], None]


def refused(cli: Cli, *words: str, kind: type[HobbesError] = UsageError) -> str:
    error = cli(*words).exception
    assert isinstance(error, kind), error
    assert "\n" not in str(error)
    return str(error)


@pytest.fixture
def variant(tmp_path: Path) -> Path:
    return shutil.copytree(ROOT / "mining" / "unguided", tmp_path / "mine")


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe into which nobody ever writes."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


# --- files


DESCRIPTION = ROOT.parent / "cassettes" / "mining-zh.json"
"""The description of a cassette."""


def test_a_file_is_read_up_to_a_size_as_text_with_newlines_and_without_its_mark(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    assert text_of(file) == "one\ntwo"
    assert content_of(file, 11) == file.read_bytes()
    with pytest.raises(FileError, match="larger than 10 bytes"):
        content_of(file, 10)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "mining", "--set", "rows=@{}"),
        ("experiment", "{}"),
        ("fork", "last", "--turn", "1", "--answer", "miner-01=@{}"),
        ("replay", "{}.yaml"),
    ],
)
def test_a_pipe_or_a_device_is_no_file(
    words: tuple[str, ...], opened: Store, cli: Cli, pipe: Path, tmp_path: Path
) -> None:
    mining(opened)
    device = tmp_path / "zero"
    for file in (pipe, device):
        (tmp_path / f"{file.name}.yaml").symlink_to("/dev/zero" if file == device else pipe)
        shutil.copy(DESCRIPTION, tmp_path / f"{file.name}.json")
    device.symlink_to("/dev/zero")
    for file in (pipe, device):
        assert "a pipe or a device" in refused(cli, *(word.format(file) for word in words))


def test_the_answer_of_a_person_is_in_no_pipe(cli: Cli, pipe: Path) -> None:
    cli("run", "mining", "--model", "human*1,policy:guided")
    assert "a pipe or a device" in refused(cli, "answer", "last", f"@{pipe}")


# --- prompts


def a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def a_loop(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def nested(file: Path) -> None:
    file.write_text("{% if true %}" * 5_000 + "{% endif %}" * 5_000)


def in_brackets(file: Path) -> None:
    file.write_text("{{ " + "(" * 3_000 + "1" + ")" * 3_000 + " }}")


def with_loops(file: Path) -> None:
    file.write_text("{% for x in [1] %}" * 30 + "{% endfor %}" * 30)


def long_include(file: Path) -> None:
    file.write_text(f'{{% include "{LONG}" %}}\n')


def too_large(file: Path) -> None:
    file.write_text("word " * 500_000)


DAMAGES: dict[str, tuple[Damage, str]] = {
    "pipe": (a_pipe, "a pipe or a device"),
    "loop": (a_loop, "Too many levels of symbolic links"),
    "nested": (nested, "nested too deep"),
    "brackets": (in_brackets, "nested too deep"),
    "loops": (with_loops, "too many statically nested blocks"),
    "include": (long_include, "File name too long"),
    "large": (too_large, "larger than 1,000,000 bytes"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_prompt_that_cannot_be_read_is_told_in_one_line(damage: str, cli: Cli, variant: Path) -> None:
    make, told = DAMAGES[damage]
    make(variant / "system.en.md")
    assert told in refused(cli, "run", "mining", "--prompts", str(variant))
    assert told in cli("prompts", "check", "mining", str(variant)).stdout


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_prompt_that_cannot_be_read_is_watched_until_it_can(damage: str, variant: Path) -> None:
    file = variant / "system.en.md"
    whole = file.read_text()
    question = question_in_new_run(RunOptions("mining", 3, prompts=str(variant)), 0, "miner-01")
    make, told = DAMAGES[damage]
    make(file)
    shown: list[Rendering] = []

    async def mended() -> AsyncIterator[None]:
        """Mend the file once its error was shown."""
        saved = saves(question)
        await anext(saved)
        yield
        file.unlink()
        file.write_text(whole)
        await anext(saved)
        yield

    asyncio.run(Edits(question, cast("Show", shown.append)).follow(mended()))
    first, second = shown
    assert told in str(first.error)
    assert second.error is None


@pytest.mark.parametrize("words", [("run", "mining"), ("watch", "mining"), ("prompts", "show", "mining")])
def test_a_folder_of_prompts_that_is_a_loop_of_links_is_no_folder(
    words: tuple[str, ...], cli: Cli, tmp_path: Path
) -> None:
    a_loop_of_folders = tmp_path / "loop"
    a_loop_of_folders.symlink_to("loop")
    option = [] if words[0] == "prompts" else ["--prompts"]
    for folder in (a_loop_of_folders, a_loop_of_folders / "inner"):
        assert "there is no such folder" in refused(cli, *words, *option, str(folder))


@pytest.mark.parametrize("command", ["run", "watch"])
def test_prompts_in_a_folder_whose_path_is_not_utf8_are_refused(
    command: str, cli: Cli, tmp_path: Path, variant: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    shutil.copytree(variant, folder / "mine")
    monkeypatch.chdir(folder)
    assert "its whole path is not UTF-8" in refused(cli, command, "mining", "--prompts", "./mine")


# --- names


def test_names_have_a_length(opened: Store, cli: Cli, tmp_path: Path) -> None:
    mining(opened)
    allowed = "n" * MAX_NAME
    request = '{"agents": ["%s"]}\n'
    told = [
        refused(cli, "run", "mining", "--name", LONG),
        refused(cli, "fork", "last", "--turn", "1", "--name", LONG),
        refused(cli, "experiment", str(written(tmp_path, FILE.replace('"small"', f'"{LONG}"')))),
        refused(cli, "experiment", str(written(tmp_path, FILE.replace("arms.immune", f"arms.{LONG}")))),
        refused(cli, "make-test", "last", "--turns", "1", "--name", LONG, "--to", str(tmp_path)),
        cli("step", "mining", input=request % LONG).stdout,
    ]
    assert [str(MAX_NAME) in line for line in told] == [True] * len(told)
    (opened.home / "models.toml").write_text(f'[{LONG}]\nmodel = "m"\n')
    assert str(MAX_NAME) in refused(cli, "models")
    (opened.home / "models.toml").unlink()
    assert "error" not in cli("step", "mining", input=request % allowed).stdout
    assert begin(opened, RunOptions("mining", name=allowed)).name == allowed


@pytest.mark.parametrize("name", ["x\n", "a\tb", "\x1b[31m", "a\u2028b", "\u202ebase"])
def test_a_name_stands_in_one_line_as_it_is(name: str, opened: Store, cli: Cli, tmp_path: Path) -> None:
    run = mining(opened)
    for words in (("run", "mining", "--name"), ("fork", "last", "--turn", "1", "--name"), ("rename", "last")):
        told = refused(cli, *words, name)
        assert told == f"the name {name!r} has a line break or a hidden character; choose another name"
    assert refused(cli, "tournament", "--name", name).startswith("name: write letters, digits")
    experiment = written(tmp_path, FILE.replace('"small"', json.dumps(name)))
    assert "name: write letters, digits" in refused(cli, "experiment", str(experiment))
    assert "name: write letters" in refused(cli, "probe", "last", "--turns", "1", "--name", name)
    assert [row["name"] for row in opened.runs.rows()] == [run.name]


@pytest.mark.parametrize("command", [("run", "mining", "--prompts"), ("prompts", "show", "mining")])
def test_a_variant_with_the_name_of_no_file_is_unknown(command: tuple[str, ...], cli: Cli) -> None:
    assert f"prompts/mining has no variant '{LONG}'" in refused(cli, *command, LONG)


def test_the_name_of_a_test_is_that_of_a_function(opened: Store, cli: Cli, tmp_path: Path) -> None:
    mining(opened)
    words = ("make-test", "last", "--turns", "1", "--to", str(tmp_path / "tests"), "--name")
    assert "of a function's" in refused(cli, *words, "²")
    assert cli(*words, "été-2").exit_code == 0


# --- bytes that are no text


def test_options_in_the_environment_are_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOBBES_NAME", os.fsdecode(b"\xff"))
    monkeypatch.setattr("sys.argv", ["hobbes", "run", "mining"])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().err == "hobbes: HOBBES_NAME must be UTF-8 text\n"


def test_a_line_for_step_that_is_not_utf8_is_told_and_the_next_one_is_read(cli: Cli) -> None:
    first, second, third = cli(
        "step", "mining", input=b'{"agents": ["\xff"]}\n\xff\n{"agents": ["A"]}\n'
    ).stdout.splitlines()
    assert "invalid unicode code point at line 1 column 14" in first
    assert "expected value at line 1 column 1" in second
    assert third.startswith('{"state"')


# --- the home


@pytest.mark.parametrize("lock", ["locks/runs.lock", "locks/experiment-small.lock", "checkpoints.lock"])
def test_a_folder_in_the_place_of_a_lock_is_told_in_one_line(
    lock: str, cli: Cli, home: Path, tmp_path: Path
) -> None:
    (home / lock).mkdir(parents=True)
    told = refused(cli, "experiment", str(written(tmp_path)), "--keep", "all", kind=HobbesError)
    assert told.startswith(f"cannot store runs in {home}: ")
    assert f"Is a directory: '{home / lock}'" in told
