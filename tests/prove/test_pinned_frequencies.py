"""`hobbes make-test --probe`: the answers to a probe as a test, judged by today's reading and rules."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hobbes.nodes.chat  # noqa: F401  inner sessions must not import and forget what can be imported only once
from hobbes import pytest_plugin
from hobbes.engine.trust.world import TRUST
from hobbes.errors import UsageError
from hobbes.probe.situations import pick
from hobbes.store.home import Store
from hobbes.worlds import WORLDS
from tests.conftest import Cli
from tests.small_probes import asked, duel, heeding, variant

pytest_plugins = ["pytester"]

EXPECT = "unit-a: no attack in at least 5 of 10"


@pytest.fixture
def session(
    opened: Store, cli: Cli, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """A folder with a test of a probe; the function runs it and returns what pytest prints."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    mine = variant(pytester.path, "Be peaceful.")
    situations = [*pick(opened, duel(opened), range(2), ["unit-a"], None)]
    with heeding():
        asked(opened, name="p", situation=situations, prompts=[mine])
    made = cli(
        "make-test", "--probe", "p", "--expect", EXPECT, "--name", "peaceful", "--to", str(pytester.path)
    )
    assert made.exit_code == 0, made.exception

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


def test_the_test_moves_with_its_prompts_to_another_folder(
    session: Callable[..., str], pytester: pytest.Pytester
) -> None:
    moved = pytester.path / "moved"
    shutil.copytree(pytester.path, moved, ignore=shutil.ignore_patterns("moved"))
    shutil.rmtree(pytester.path / "be")
    said = session(str(moved))
    assert "1 passed" in said
    assert "another prompt" not in said


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--probe", "p", "--expect", "unit-a: beg in at least 9 of 10"), "are not as expected: unit-a"),
        (("--probe", "p", "--expect", "unit-a: beg in at least 9 of 11"), "has 10 answers; ask more with"),
        (("--probe", "p", "--expect", "unit-b: attack in at least 1 of 2"), "no situation of 'unit-b'"),
        (("--probe", "p", "--expect", "unit-a: no atack in at least 9 of 10"), "no act 'atack'; did you"),
        (("--probe", "p", "--expect", "unit-a: attack me in at most 0 of 10"), "no act 'attack me'"),
        (("--probe", "p", "--expect", "unit-a never attacks"), "write AGENT: ACT in at least N of M"),
        (("--probe", "q", "--expect", EXPECT), "there is no probe 'q'"),
        (("--probe", "p"), "write RUN --turns A-B, or --probe"),
        (("duel", "--probe", "p", "--expect", EXPECT), "write RUN --turns A-B, or --probe"),
    ],
)  # fmt: skip
def test_wrong_input_is_refused_in_one_line(
    opened: Store, cli: Cli, tmp_path: Path, options: tuple[str, ...], problem: str
) -> None:
    situations = [*pick(opened, duel(opened), [0], ["unit-a"], None)]
    with heeding():
        asked(opened, name="p", situation=situations)
    result = cli("make-test", *options, "--name", "wrong", "--to", str(tmp_path))
    assert isinstance(result.exception, UsageError)
    assert problem in str(result.exception)
    assert not (tmp_path / "test_wrong.py").exists()
