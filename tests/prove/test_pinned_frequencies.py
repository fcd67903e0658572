"""`hobbes make-test --probe`: the answers to a probe as a test, judged by today's reading and rules."""

import json
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import hobbes.nodes.chat  # noqa: F401  inner sessions must not import and forget what can be imported only once
from hobbes import pytest_plugin
from hobbes.cli import app
from hobbes.engine.trust.world import TRUST
from hobbes.errors import UsageError
from hobbes.probe.situations import pick
from hobbes.store.home import open_store
from hobbes.worlds import WORLDS
from tests.small_probes import asked, duel, heeding, variant

pytest_plugins = ["pytester"]

EXPECT = "unit-a: no attack in at least 5 of 10"


def made(folder: Path, *options: str) -> Result:
    """Make a test of the probe in a folder's home."""
    arguments = ("make-test", *options, "--to", str(folder), "--home", str(folder / "home"))
    return CliRunner().invoke(app, arguments)


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the home of a probe, the prompts that it was asked with, and a test of it."""
    folder = tmp_path_factory.mktemp("probed")
    mine = variant(folder, "Be peaceful.")
    with open_store(folder / "home") as store, heeding():
        situations = [*pick(store, duel(store), range(2), ["unit-a"], None)]
        asked(store, name="p", situation=situations, prompts=[mine])
    result = made(folder, "--probe", "p", "--expect", EXPECT, "--name", "peaceful")
    assert result.exit_code == 0, result.exception
    return folder


@pytest.fixture
def session(probed: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A copy of the test with its prompts; the function runs it and returns what pytest prints."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    shutil.copytree(probed, pytester.path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("home"))

    def run(*options: str) -> str:
        return pytester.runpytest_inprocess("-p", pytest_plugin.__name__, *options).stdout.str()

    return run


def edit(folder: Path, change: Callable[[Any], object]) -> None:
    file = folder / "peaceful.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def test_it_passes_offline_and_fails_when_rules_judge_the_answers_otherwise(
    session: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = session()
    assert "1 passed" in said
    assert "another prompt" not in said
    always = replace(TRUST.telling, acts=lambda _: ("attack",))
    monkeypatch.setitem(WORLDS, "trust", replace(TRUST, telling=always))
    said = session()
    assert "unit-a, turn 0 of duel: no attack in 0 of 10 answers, expected in at least 5" in said
    assert "unit-a, turn 1 of duel: no attack in 0 of 10 answers, expected in at least 5" in said
    assert "peaceful.json holds recorded answers, so how they are read or judged has changed." in said
    assert "If this is meant: ask a new probe, and pin that" in said
    assert "Traceback" not in said


def test_a_failed_call_neither_has_an_act_nor_lacks_it(
    session: Callable[..., str], pytester: pytest.Pytester
) -> None:
    def fail(content: Any) -> None:
        for answer in content["situations"][0]["answers"]:
            answer["failure"] = "timed-out"

    edit(pytester.path, fail)
    assert "no attack in 0 of 10 answers, and 10 failed, expected in at least 5" in session()


def test_an_act_that_the_world_does_not_have_is_refused_in_a_file_too(
    session: Callable[..., str], pytester: pytest.Pytester
) -> None:
    edit(pytester.path, lambda content: content.update(expect=EXPECT.replace("attack", "attack unit-c")))
    said = session()
    assert "trust has no act 'attack unit-c'; did you mean 'attack unit-b' or 'attack unit-a'?" in said


def test_a_changed_prompt_is_told(session: Callable[..., str], pytester: pytest.Pytester) -> None:
    system = pytester.path / "be" / "system.en.md"
    system.write_text(system.read_text().replace("Be peaceful.", "Be quick."))
    said = session()
    assert "1 passed" in said
    assert "peaceful.json has answers to another prompt than today's" in said


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("--probe p --expect 'unit-a: beg in at least 9 of 10'", "are not as expected: unit-a"),
        ("--probe p --expect 'unit-a: beg in at least 9 of 11'", "has 10 answers; ask more with"),
        ("--probe p --expect 'unit-b: attack in at least 1 of 2'", "no situation of 'unit-b'"),
        ("--probe p --expect 'unit-a: no atack in at least 9 of 10'", "no act 'atack'; did you"),
        ("--probe p --expect 'unit-a: attack me in at most 0 of 10'", "no act 'attack me'"),
        ("--probe p --expect 'unit-a never attacks'", "write AGENT: ACT in at least N of M"),
        ("--probe p --expect 'unit-a: attack in at least 0 of 0'", "write AGENT: ACT in at least N of M"),
        ("--probe p --expect 'unit-a: attack in at most 2 of 2'", "cannot fail, whatever is answered"),
        ("--probe p --expect 'unit-a: no attack in at least 0 of 2'", "write a number from 1 to 2"),
        ("--probe p --expect 'unit-a: attack in at least 3 of 2'", "cannot hold, whatever is answered"),
        (f"--probe q --expect '{EXPECT}'", "there is no probe 'q'"),
        ("--probe p", "write RUN --turns A-B, or --probe"),
        (f"duel --probe p --expect '{EXPECT}'", "write RUN --turns A-B, or --probe"),
    ],
)
def test_what_cannot_be_pinned_is_refused_in_one_line(probed: Path, options: str, problem: str) -> None:
    error = made(probed, *shlex.split(options), "--name", "wrong").exception
    assert isinstance(error, UsageError)
    assert problem in str(error)
    assert "\n" not in str(error)
    assert not (probed / "test_wrong.py").exists()


def test_spaces_in_an_expectation_do_not_matter(probed: Path) -> None:
    spaced = " unit-a :  no  attack  in at  least 5 of 10 "
    assert made(probed, "--probe", "p", "--expect", spaced, "--name", "spaced").exit_code == 0
