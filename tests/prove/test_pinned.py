"""`hobbes make-test`: recorded turns as a test that plays them again, and what it says if they differ."""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hobbes.nodes.chat  # noqa: F401  inner sessions must not import and forget what can be imported only once
from hobbes import pytest_plugin
from hobbes.engine.mining.world import MINING
from hobbes.engine.record import Drop
from hobbes.errors import HobbesError, UsageError
from hobbes.nodes import prompt_set
from hobbes.nodes.caps import NO_CAPS
from hobbes.play.fork import ForkOptions, fork
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.wire.recorder import environment, in_thread
from hobbes.wire.stand_in import stand_in
from hobbes.worlds import WORLDS
from tests.conftest import Cli
from tests.play.test_observer import game, granting_all, to_the_end
from tests.play.test_second_question import BROKEN, FIRST, SECOND, answering, by_attempt
from tests.prove.test_replay import generous_in_turn_2
from tests.small_runs import edit, go, mining, played

pytest_plugins = ["pytester"]

MAX_TEST_LINES = 25
"""Lines of a test file."""


class Pinned:
    """A folder with one pinned test, and sessions of pytest in it."""

    def __init__(self, cli: Cli, pytester: pytest.Pytester) -> None:
        self._cli = cli
        self._pytester = pytester
        self.folder = pytester.path
        self.cassette = self.folder / "story.json"

    def make(self, run: Run, turns: str, *options: str) -> None:
        """Pin turns of a run; the test that is written is short, and passes at once."""
        result = self._cli(
            "make-test", run.id, "--turns", turns, "--name", "story", "--to", str(self.folder), *options
        )
        assert result.exit_code == 0, result.exception
        assert ("the test passes: with these settings" in result.stdout) == ("--set" in options)
        text = (self.folder / "test_story.py").read_text()
        assert len(text.splitlines()) <= MAX_TEST_LINES
        self.passes()

    def session(self, *options: str) -> str:
        """Return what a session of pytest prints, without its environment."""
        result = self._pytester.runpytest_inprocess("-p", pytest_plugin.__name__, *options)
        return result.stdout.str()

    def passes(self, *options: str) -> str:
        said = self.session(*options)
        assert "1 passed" in said, said
        return said

    def fails(self, *options: str) -> str:
        """Return what a failing test prints; there is no traceback."""
        said = self.session(*options)
        assert "1 failed" in said, said
        printed = said.split(" test_story ___")[1].split("\n=====")[0].partition("\n")[2].strip()
        assert "Traceback" not in printed
        assert ".py:" not in printed
        return printed

    def change(self, change: Callable[[Any], object]) -> None:
        content = json.loads(self.cassette.read_text())
        change(content)
        self.cassette.write_text(json.dumps(content))

    @property
    def content(self) -> Any:
        return json.loads(self.cassette.read_text())


@pytest.fixture
def pin(cli: Cli, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Pinned:
    """A folder for a pinned test; its sessions of pytest need none of the plugins that are installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return Pinned(cli, pytester)


def asked(options: RunOptions, store: Store) -> Run:
    """Play a run whose models are asked over HTTP."""
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        return played(store, options)


# --- that it passes


@pytest.mark.parametrize(
    ("world", "models", "values"),
    [
        ("mining", "openai:policy/guided?noise=0.3*2,policy:random*1", {"rows": 4, "cols": 4}),
        ("nations", "openai:policy/militarist?noise=0.3*1,policy:reciprocal-trader*2", {"reask": 1}),
        ("trust", "openai:policy/copykitten*1,policy:beggar*2", {"observer": "always"}),
    ],
)
def test_pinned_turns_of_each_world_pass(
    opened: Store, pin: Pinned, world: str, models: str, values: dict[str, Any]
) -> None:
    run = asked(RunOptions(world, 3, models=models, values={"rounds": 5, **values}), opened)
    pin.make(run, "2-4")
    assert [turn["turn"] for turn in pin.content["expected"]] == [2, 3, 4]
    assert [turn["digest"] for turn in pin.content["expected"]] == [
        turn.digest for turn in opened.turns.of(run, 2)
    ]
    pinned = {(one["turn"], one["agent"], one["text"]) for one in pin.content["answers"]}
    assert pinned >= {(2, call.address.agent, call.reply.text) for call in opened.calls.of_turn(run.id, 2)}
    about = (
        f"Turns 2 to 4 of the {world} run {run.id}. Answered by {', '.join(sorted({*run.models.values()}))}."
    )
    assert pin.content["about"] == about
    test = " ".join((pin.folder / "test_story.py").read_text().split())
    assert about in test
    assert "The fixture hobbes_replay comes with hobbes." in test


def test_failed_calls_and_follow_up_questions_are_pinned(opened: Store, pin: Pinned) -> None:
    options = RunOptions("mining", 2, models="openai:m", values={"rounds": 2, "reask": 1, "taint_share": 1.0})

    def answer(address: str) -> Any:
        return BROKEN if "miner-02" in address else by_attempt(FIRST, SECOND)(address)

    with answering(answer):
        run = played(opened, options)
    pin.make(run, "0-1")
    questions = [(one["agent"], one["question"], one["failure"]) for one in pin.content["answers"]]
    each = [("miner-01", 1, None), ("miner-01", 2, None), ("miner-02", 1, "provider-error")]
    assert questions == each * 2


def test_a_person_who_observes_is_pinned(opened: Store, pin: Pinned) -> None:
    run = to_the_end(opened, begin(opened, game("human")), granting_all)
    pin.make(run, f"0-{run.turns - 1}")
    assert pin.content["about"].endswith("Answered by human, policy:beggar, policy:copykitten.")


def test_a_model_that_observes_is_pinned(opened: Store, pin: Pinned, prompts: Path) -> None:
    ruling = json.dumps({"grants": {"unit-b": 1}, "reason": "so"})
    with answering(lambda _: ruling):
        run = played(opened, game("openai:m"))
    pin.make(run, f"1-{run.turns - 1}")
    edit(prompts / "trust" / "observer.en.md", "sats", "coins")
    assert ", observer: prompt is not as in story.json" in pin.fails()


def test_a_fork_is_pinned_across_the_turn_at_which_it_goes_on_otherwise(opened: Store, pin: Pinned) -> None:
    parent = mining(opened)
    options = ForkOptions(
        2, prompts="unguided", values={"immunity": 3}, answers={"miner-02": '{"claim": []}'}
    )
    run = go(opened, fork(opened, parent, options, NO_CAPS))
    pin.make(run, "0-3")
    assert [(way["until"], way["prompts"]) for way in pin.content["ways"]] == [(2, "guided"), (4, "unguided")]
    pin.change(lambda content: content["ways"][1]["settings"].update(immunity=4))
    assert pin.fails().startswith("turn 2, miner-01: prompt")


def test_prompts_of_a_folder_are_found_from_the_test(
    opened: Store, pin: Pinned, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mine = shutil.copytree(prompt_set.ROOT / "mining" / "unguided", pin.folder / "texts" / "mine")
    run = mining(opened, prompts=str(mine))
    pin.make(run, "1")
    assert pin.content["ways"][0]["prompts"] == "./texts/mine"
    moved = tmp_path / "moved"
    shutil.move(pin.folder, moved)
    monkeypatch.chdir(moved)
    pin.passes(str(moved))
    edit(moved / "texts" / "mine" / "turn.en.md", "Decide what to do", "Say what to do")
    assert "[-Decide-]{+Say+} what to do" in pin.fails(str(moved))


# --- what a failure prints


def test_a_changed_word_of_a_prompt_is_shown_and_can_be_accepted(
    opened: Store, pin: Pinned, prompts: Path
) -> None:
    pin.make(mining(opened), "1-2")
    edit(prompts / "mining" / "rules.en.md", "Each round you have", "Each round you get")
    assert pin.fails() == (
        "turn 1, miner-01: prompt is not as in story.json ([-expected-], {+now+})\n\n"
        "- Each round you [-have-]{+get+} 10 stamina.\n\n"
        "6 of the 6 prompts of these turns differ.\n"
        "If this is meant: pytest test_story.py --hobbes-update"
    )
    before = pin.content
    assert "hobbes: story.json was updated" in pin.passes("--hobbes-update")
    assert "was updated" not in pin.passes("--hobbes-update"), "there is nothing left to accept"
    pin.passes()
    after = pin.content
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"expected", "texts"}


def mining_with(monkeypatch: pytest.MonkeyPatch, **functions: Any) -> None:
    monkeypatch.setitem(WORLDS, "mining", replace(MINING, **functions))


def rejecting(monkeypatch: pytest.MonkeyPatch, place: tuple[int, str]) -> None:
    """Let the rules reject what an agent says in a turn."""

    def validate(state: Any, agent: str, said: Any) -> Any:
        judged = MINING.validate(state, agent, said)
        drop = Drop(agent, "rule", "mining/not-yours", "everything", "")
        return judged._replace(drops=(drop,)) if (state.turn, agent) == place else judged

    mining_with(monkeypatch, validate=validate)


def test_a_changed_rule_is_a_failure_of_the_engine(
    opened: Store, pin: Pinned, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin.make(mining(opened), "1-3")
    mining_with(monkeypatch, resolve=generous_in_turn_2)
    said = pin.fails()
    assert said.startswith("turn 2, all agents: engine is not as in story.json")
    assert "{+999+}" in said
    assert "state.gold.miner-02: " in said
    pin.passes("--hobbes-update")
    pin.passes()


def other_raid(pin: Pinned) -> str:
    """Change the result of the first raid that the file expects; return how a failure begins with it."""
    content = pin.content
    turn, raid = next(
        (turn["turn"], event)
        for turn in content["expected"]
        for event in turn["record"]["events"]
        if event["type"] == "raid" and event["result"] == "captured"
    )
    raid["result"] = "blocked"
    pin.cassette.write_text(json.dumps(content))
    return f"turn {turn}: expected that {raid['agent']} raided "


def test_a_failure_begins_with_what_agents_do_otherwise_also_if_prompts_differ(
    opened: Store, pin: Pinned, prompts: Path
) -> None:
    pin.make(mining(opened, models="policy:random", seed=3), "0-3")
    beginning = other_raid(pin)
    assert not beginning.startswith("turn 0"), "the prompts of an earlier turn differ, too"
    edit(prompts / "mining" / "rules.en.md", "Each round you have", "Each round you get")
    said, _, where, *_ = pin.fails().splitlines()
    assert said.startswith(beginning)
    assert "(blocked); now it raided" in said
    assert said.endswith("(captured)")
    assert where.startswith("turn 0, miner-01: prompt is not as in story.json")


def test_under_another_rule_a_test_may_be_written_red_and_names_the_setting_and_what_is_rejected(
    opened: Store, cli: Cli, pin: Pinned
) -> None:
    run = mining(opened, models="policy:raider")
    pin.make(run, "0-3", "--set", "mine_cap=9")
    options = ("--turns", "0-3", "--to", str(pin.folder), "--name", "other", "--set", "immunity=9")
    made = cli("make-test", run.id, *options)
    told = made.stdout.splitlines()[1]
    assert made.exit_code == 0
    assert re.match(
        r"the test fails: with immunity=9, turn 1: expected that miner-\d\d raided .*; "
        r"now rejected: a raid on a plot that is still immune \(mining/immune\)$",
        told,
    )
    said = pin.session()
    assert told.removeprefix("the test fails: ") in said
    assert "validation is not as in other.json" in said
    assert "intents." not in said
    told = cli("make-test", run.id, *options[:-1], "rounds=2", "--name", "short").stdout
    assert "the test fails: with rounds=2, turn 2, all agents: engine is not as recorded" in told.splitlines()


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("immune=9", "mining has no setting"),
        ("immunity=1", "--set immunity: this changes no turn: run "),
        ("taint_share=0.5", "--set taint_share: this changes no turn: run "),
        ("alpha=2", "--set alpha: this changes how the game begins; begin at turn 0"),
    ],
)
def test_a_setting_that_cannot_change_the_turns_is_refused(
    opened: Store, cli: Cli, tmp_path: Path, setting: str, problem: str
) -> None:
    run = mining(opened)
    options = ("--turns", "2-3", "--name", "none", "--to", str(tmp_path), "--set")
    error = cli("make-test", run.id, *options, setting).exception
    assert isinstance(error, UsageError)
    assert str(error).startswith(problem)
    assert not (tmp_path / "none.json").exists()


def test_turns_from_the_first_on_begin_as_the_other_setting_has_it(
    opened: Store, cli: Cli, tmp_path: Path
) -> None:
    options = ("--turns", "0-1", "--name", "rich", "--to", str(tmp_path), "--set", "alpha=2")
    made = cli("make-test", mining(opened).id, *options)
    assert made.exit_code == 0, made.exception
    assert re.search("with alpha=2, turn 1: expected that .* mined 3 gold on .*; now it mined 6", made.stdout)


def test_without_prompts_their_words_may_change_and_nothing_else(
    opened: Store, pin: Pinned, prompts: Path
) -> None:
    pin.make(mining(opened), "1-3", "--ignore", "prompts")
    edit(prompts / "mining" / "rules.en.md", "Each round you have", "Each round you get")
    pin.passes()
    pin.change(lambda content: content["expected"][0].update(digest="0" * 64))
    assert "digest" in pin.fails()


def test_without_prompts_a_run_is_pinned_whatever_has_become_of_its_prompts(
    opened: Store, pin: Pinned, cli: Cli, prompts: Path
) -> None:
    models = "openai:policy/guided?noise=0.5"
    run = asked(RunOptions("mining", 2, models=models, values={"rounds": 3, "reask": 1}), opened)
    edit(prompts / "mining" / "rules.en.md", "Each round you have", "{% if %}")
    refused = cli("make-test", run.id, "--turns", "0-2", "--name", "story", "--to", str(pin.folder))
    assert "rules.en.md, line 14: Expected an expression" in str(refused.exception)
    pin.make(run, "0-2", "--ignore", "prompts")
    assert {one["question"] for one in pin.content["answers"]} == {1, 2}
    assert pin.content["texts"] == {}
    assert [one["digest"] for one in pin.content["expected"]] == [
        turn.digest for turn in opened.turns.of(run)
    ]
    shutil.rmtree(prompts / "mining")
    pin.passes()


def test_a_rejection_that_is_new_is_a_failure_of_validation(
    opened: Store, pin: Pinned, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin.make(mining(opened), "1-3")

    rejecting(monkeypatch, (2, "miner-03"))
    said = pin.fails()
    assert said.startswith("turn 2, miner-03: validation is not as in story.json")
    assert "mining/not-yours" in said


def test_other_parts_that_differ_are_named(opened: Store, pin: Pinned) -> None:
    pin.make(mining(opened), "1-2")
    whole = pin.cassette.read_text()
    changes: Mapping[str, Callable[[Any], object]] = {
        "turn 2, miner-02: reading": lambda turns: turns[1]["asked"][1].update(found_as="embedded"),
        "turn 1, miner-03: validation": lambda turns: turns[0]["record"]["intents"]["miner-03"].update(
            message="hello"
        ),
        "turn 2, all agents: engine": lambda turns: turns[1].update(digest="0"),
    }
    for where, change in changes.items():
        content = pin.content
        change(content["expected"])
        pin.cassette.write_text(json.dumps(content))
        assert pin.fails().startswith(f"{where} is not as in")
        pin.cassette.write_text(whole)


def test_a_follow_up_question_that_is_new_has_no_answer_and_cannot_be_accepted(
    opened: Store, pin: Pinned, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(lambda _: SECOND):
        run = played(opened, RunOptions("mining", 1, models="openai:m", values={"rounds": 2, "reask": 1}))
    pin.make(run, "0-1")

    rejecting(monkeypatch, (0, "miner-01"))
    said = pin.fails()
    assert said == (
        "turn 0, miner-01: answer is not as in story.json\n\n"
        "no answer to the follow-up question was recorded\n\n"
        "This cannot be accepted: play a new run, and make the test anew"
    )
    assert "this cannot be accepted: play a new run" in pin.fails("--hobbes-update")


def test_text_of_agents_is_spelled_out(opened: Store, pin: Pinned) -> None:
    pin.make(mining(opened), "1")
    pin.change(lambda content: content["expected"][0]["asked"][0]["prompt"].insert(0, "\x1b[31mred"))
    assert "[-\\x1b[31mred" in pin.fails()


def test_a_file_that_cannot_be_played_is_told_in_one_line(opened: Store, pin: Pinned) -> None:
    pin.make(mining(opened), "1")
    whole = pin.cassette.read_text()
    for change, told in (
        (lambda content: content.update(format=2), "is not a file of `hobbes make-test`"),
        (lambda content: content["expected"][0].update(record={}), "a record cannot be read"),
        (lambda content: content.update(world="chess"), "there is no world 'chess'"),
        (lambda content: content["ways"][0]["settings"].update(rows=-1), "rows"),
        (lambda content: content["ways"][0].update(prompts="gone"), "has no variant 'gone'"),
        (lambda content: content["before"].update(state={}), "; make the test anew"),
    ):
        pin.change(change)
        said = pin.fails()
        assert told in said
        assert "\n" not in said
        pin.cassette.write_text(whole)
    pin.cassette.unlink()
    assert "cannot read" in pin.fails()


# --- what is refused


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("last --turns 0-4 --name a", "has turns 0 to 3"),
        ("last --turns 7 --name a", "has turns 0 to 3"),
        ("last --turns x --name a", "write turns such as 3,7 or 3-5"),
        ("last --turns 1,2-1 --name a", "turn 2 is after turn 1"),
        ("last --turns -1 --name a", "write turns such as 3,7 or 3-5"),
        ("last --turns 1,3 --name a", "pin turns that follow each other, such as 1-3"),
        ("last --turns 1 --name a/b", "cannot be part of a file's name"),
        ("last --turns 1 --name ''", "cannot be part of a file's name"),
        ("last --turns 1 --name a.b", "cannot be part of a file's name"),
        ("last --turns 1 --name there", "there.json already exists; choose another --name or --to"),
        ("last --turns 1 --name a --to there.json", "there.json is not a folder"),
        ("other --turns 1 --name a", "there is no run 'other'"),
    ],
)
def test_wrong_input_is_refused_in_one_line(
    opened: Store, cli: Cli, pytester: pytest.Pytester, words: str, told: str
) -> None:
    mining(opened)  # in its home; the working directory is pytester's
    Path("there.json").write_text("mine")
    error = cli("make-test", *(word.strip("'") for word in words.split())).exception
    assert isinstance(error, UsageError)
    assert told in str(error)
    assert "\n" not in str(error)
    assert Path("there.json").read_text() == "mine"
    assert not list(pytester.path.glob("*.py"))
    assert not Path("a.json").exists()


def test_a_run_whose_prompts_have_changed_is_refused(
    opened: Store, cli: Cli, tmp_path: Path, prompts: Path
) -> None:
    run = asked(RunOptions("mining", 1, models="openai:policy/guided", values={"rounds": 2}), opened)
    edit(prompts / "mining" / "rules.en.md", "Each round you have", "Each round you get")
    error = cli("make-test", run.id, "--turns", "0", "--name", "story", "--to", str(tmp_path)).exception
    assert isinstance(error, HobbesError)
    assert "does not play as recorded now (turn 0, miner-01: prompt)" in str(error)
