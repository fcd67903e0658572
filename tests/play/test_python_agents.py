"""Python players: classes and functions of a person's own, which play like models."""

import asyncio
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hobbes
from hobbes.engine.memory import Memory
from hobbes.errors import HaltedRunError, UsageError
from hobbes.nodes.breaker import Breaker
from hobbes.nodes.caps import NO_CAPS
from hobbes.nodes.journal import Address, Reply
from hobbes.nodes.python_player import PythonPlayer, no_past
from hobbes.play.fork import ForkOptions, fork
from hobbes.play.start import RunOptions, begin
from hobbes.prove.replay import replay_run
from hobbes.prove.verification import verify
from hobbes.store.home import Store, open_store
from hobbes.worlds import WORLDS
from tests.conftest import ROOT, Cli
from tests.forking import Command
from tests.small_runs import go, played

pytest_plugins = ["pytester"]

FILE = """
import sys
from threading import Barrier, Event, Thread
from time import sleep

from hobbes.worlds import WORLDS

NEVER, ALL, BROKEN, UNDER_WAY = Event(), Barrier(4), True, []


def default(view, rng):
    policies = WORLDS[view["world"]].policies
    return policies.named(policies.default)(view, rng)


def at_random(view, rng):
    return WORLDS[view["world"]].policies.named("random")(view, rng)


async def later(view, rng):
    return default(view, rng)


class Later:
    async def act(self, view):
        return {}


class Diary:
    def __init__(self):
        self.turns = []
        self.told = []

    def act(self, view):
        self.turns.append(view["turn"])
        return {"reasoning": f"{self.turns} {self.told}"}

    def replay(self, view, answer):
        self.turns.append(view["turn"])
        self.told.append(answer["reasoning"] if answer else None)


class Shy(Diary):
    def act(self, view):
        if BROKEN and view["turn"] == 2:
            raise RuntimeError("too shy")
        return super().act(view)


class DefaultAgent:
    def __init__(self, max_summary_len: int = 512):
        self.summary = ""
        self.max_summary_len = max_summary_len

    def act(self, agent_input: dict) -> dict:
        action = {
            "purchase_mils": 0,
            "attacks": {},
            "cede_territories": {},
            "money_grants": [],
            "messages": [],
            "summary": self.summary[: self.max_summary_len],
        }
        self.summary = action["summary"]
        return action


def in_prose(view, rng):
    return 'I claim {"claim": [[0, 0]]}, \\ud83d.'


def a_list(view, rng):
    return []


def a_set(view, rng):
    return {1}


def wrong(view, rng):
    raise ValueError("no such plot\\nanywhere")


def leaves(view, rng):
    sys.exit("enough")


class Unmade:
    def __init__(self):
        raise OSError("no such model")

    def act(self, view):
        return {}


def together(view, rng):
    ALL.wait(timeout=60)
    return {}


def alone(view, rng):
    UNDER_WAY.append(view)
    sleep(0)
    most = len(UNDER_WAY)
    UNDER_WAY.remove(view)
    return str(most)


def never(view, rng):
    NEVER.wait()


def interrupts(view, rng):
    raise KeyboardInterrupt


class Strange:
    def __getattr__(self, name):
        raise KeyboardInterrupt

    def act(self, view):
        return {}


def leaves_a_thread(view, rng):
    Thread(target=NEVER.wait, daemon=False).start()
    return {}


class Mute:
    pass


class Needy:
    def __init__(self, model):
        pass

    def act(self, view):
        return {}


def narrow(view):
    return {}
"""

ROUNDS = 4


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "my_agents.py"
    path.write_text(FILE, encoding="utf-8")
    return path


@pytest.fixture
def last_reply(opened: Store, file: Path) -> Callable[..., Reply]:
    """Plays a turn of mining with an object of the file, and returns the last reply to an agent."""

    def reply(name: str, agents: int = 1) -> Reply:
        run = begin(opened, replace(options(f"python:{file}:{name}", rounds=1), agents=agents))
        with suppress(HaltedRunError):
            go(opened, run)
        return opened.calls.of_turn(run.id, 0)[-1].reply

    return reply


def options(models: str, world: str = "mining", **values: Any) -> RunOptions:
    return RunOptions(world, 3, models=models, values={"rounds": ROUNDS, **values})


def said(store: Store, run: str, turn: int) -> dict[str, str]:
    return {call.address.agent: call.reply.reasoning for call in store.calls.of_turn(run, turn)}


@pytest.mark.usefixtures("with_fishery")
@pytest.mark.parametrize("world", ["mining", "nations", "trust", "fishery"])
def test_a_player_that_answers_as_a_policy_does_leads_to_its_digest_and_is_replayed_without_its_file(
    world: str, opened: Store, file: Path
) -> None:
    policy = f"policy:{WORLDS[world].policies.default}"
    models = f"python:{file}:default*2,{policy}*1"
    scripted, run = played(opened, options(policy, world)), played(opened, options(models, world))
    assert run.digest == scripted.digest
    file.unlink()
    del sys.modules[str(file)]
    assert list(verify(opened, run)) == []
    replayed = asyncio.run(replay_run(opened, run, reread=False))
    assert (replayed.digest, replayed.divergence) == (run.digest, None)
    with pytest.raises(UsageError, match="cannot be imported: FileNotFoundError"):
        fork(opened, run, ForkOptions(2), NO_CAPS)
    forked = fork(opened, run, ForkOptions(2, models=policy), NO_CAPS)
    assert go(opened, forked).digest == scripted.digest


def test_a_function_draws_the_random_numbers_that_a_policy_would_draw(opened: Store, file: Path) -> None:
    def digest(spec: str) -> str:
        return played(opened, options(spec)).digest

    for rng in ("", "?rng=own"):
        assert digest(f"python:{file}:at_random{rng}") == digest(f"policy:random{rng}")
    assert digest("policy:random") != digest("policy:random?rng=own")


def test_its_calls_are_stored_like_those_of_policies_and_cost_nothing(opened: Store, file: Path) -> None:
    run = played(opened, options(f"python:{file}:Diary"))
    call, *_ = opened.calls.of_turn(run.id, 1)
    assert (call.reply.model, call.reply.player) == (f"python/{file}:Diary", f"python:{file}:Diary")
    assert call.prompt.turn == opened.calls.views_sent(run.id, 1)[call.address.agent]
    assert not opened.db.execute("select 1 from texts where text = ?", [call.prompt.turn]).fetchone()
    spent = opened.figures.spent(run)
    assert (spent.calls, spent.usd) == (3 * ROUNDS, 0.0)


def test_an_object_belongs_to_one_agent_and_one_run(opened: Store, file: Path) -> None:
    for _ in range(2):
        run = played(opened, options(f"python:{file}:Diary"))
        assert set(said(opened, run.id, 2).values()) == {"[0, 1, 2] []"}


def test_a_halted_run_asks_only_who_has_not_answered_and_replays_the_turns_before(
    opened: Store, file: Path
) -> None:
    run = begin(opened, options(f"python:{file}:Diary*1,python:{file}:Shy*2", on_failure="halt"))
    with pytest.raises(HaltedRunError, match=r"turn 2, .*: provider-error .*RuntimeError: too shy"):
        go(opened, run)
    sys.modules[str(file)].BROKEN = False  # type: ignore[attr-defined]
    ended = go(opened, run)
    assert (ended.status, list(verify(opened, ended))) == ("finished", [])
    assert said(opened, run.id, 2) == {
        "miner-01": "[0, 1, 2] []",
        "miner-02": "[0, 1, 2] ['[0] []', '[0, 1] []']",
        "miner-03": "[0, 1, 2] ['[0] []', '[0, 1] []']",
    }
    assert opened.calls.of_turn(run.id, 2, "miner-01")[0].address.attempt == 1
    assert said(opened, run.id, 3)["miner-01"] == "[0, 1, 2, 3] ['[0] []', '[0, 1] []', '[0, 1, 2] []']"


def test_a_fork_replays_what_the_agent_saw_and_answered_whoever_played_it(opened: Store, file: Path) -> None:
    parent = played(opened, options(f"python:{file}:in_prose*1,python:{file}:wrong*1,policy:guided"))
    forked = go(opened, fork(opened, parent, ForkOptions(2, models=f"python:{file}:Diary"), NO_CAPS))
    guided = said(opened, parent.id, 0)["miner-03"], said(opened, parent.id, 1)["miner-03"]
    assert said(opened, forked.id, 3)["miner-02"] == "[0, 1, 2, 3] [None, None]"
    assert said(opened, forked.id, 3)["miner-03"] == f"[0, 1, 2, 3] {[*guided]}"


def test_one_that_travels_back_in_time_forgets_the_future(opened: Store, home: Path, file: Path) -> None:
    run = played(opened, options(f"python:{file}:Diary"))

    async def played_again() -> list[str]:
        async with hobbes.graph(run.id, home) as (graph, config):
            found = []
            for turn in (1, 0):
                states = [state async for state in graph.aget_state_history(config)]
                past = next(state for state in states if state.values.get("turn") == turn)
                memories = {"miner-01": Memory(notes="another past").to_json()}
                changed = await graph.aupdate_state(past.config, {"memories": memories})
                at = await graph.ainvoke(None, changed, interrupt_after=["agent_reason"])
                found.append(at["calls"]["miner-01"]["answer"])
        return found

    assert asyncio.run(played_again()) == [
        """{"reasoning": "[0, 1] ['[0] []']"}""",
        '{"reasoning": "[0] []"}',
    ]


def test_the_default_agent_of_the_seed_plays_nations_without_a_rejection(opened: Store, file: Path) -> None:
    run = played(opened, options(f"python:{file}:DefaultAgent*2,policy:random?noise=0.2", "nations"))
    codes = opened.db.execute(
        "select code from drops where agent in ('AgentA', 'AgentB') and run = ?", [run.id]
    )
    assert codes.fetchall() == []


def test_an_answer_is_read_like_that_of_a_model(opened: Store, file: Path) -> None:
    run = played(opened, options(f"python:{file}:in_prose*1,python:{file}:a_list", taint_share=1.0))
    prose, *lists = opened.calls.of_turn(run.id, 0)
    assert (prose.outcome, prose.found_as, prose.reply.text[-2:]) == ("answered", "embedded", "?.")
    assert {(call.outcome, call.reply.text) for call in lists} == {("unreadable", "[]")}


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("wrong", "ValueError: no such plot anywhere"),
        ("leaves", "SystemExit: enough"),
        ("a_set", "TypeError: Object of type set is not JSON serializable"),
        ("Unmade", "OSError: no such model"),
        ("interrupts", "KeyboardInterrupt"),
        ("Strange", "KeyboardInterrupt"),
    ],
)
def test_an_exception_is_a_failed_call_with_its_last_line(
    last_reply: Callable[..., Reply], name: str, error: str
) -> None:
    reply = last_reply(name)
    assert (reply.text, reply.failure) == ("", "provider-error")
    assert reply.error.endswith(error)


def test_a_run_halts_if_code_fails_in_all_calls_of_the_first_turn_or_ten_times_in_a_row(
    opened: Store, file: Path
) -> None:
    line = FILE[: FILE.index("raise ValueError")].count("\n") + 1
    error = rf"the agent's code raised an error \(my_agents.py, line {line}\): ValueError: no such plot"
    with pytest.raises(HaltedRunError, match=f"turn 0: .*:wrong failed 1 call in a row; .* {error}"):
        played(opened, options(f"python:{file}:wrong*1,policy:guided"))
    with pytest.raises(HaltedRunError, match=f"turn 4: .*:wrong failed 10 calls in a row; .* {error}"):
        played(opened, options(f"python:{file}:Diary*1,python:{file}:wrong*2", rounds=9))


def test_one_that_takes_too_long_has_failed(last_reply: Callable[..., Reply]) -> None:
    reply = last_reply("never?timeout=0.01")
    assert (reply.failure, reply.error) == ("timed-out", "no answer within 0.01 seconds")


def test_all_agents_are_asked_at_the_same_time(last_reply: Callable[..., Reply]) -> None:
    assert last_reply("together", agents=4).text == "{}"


def test_the_calls_to_one_agent_come_one_after_the_other(file: Path) -> None:
    player = PythonPlayer(f"{file}:alone", 60, 1, "", no_past, Breaker("alone"))

    async def asked() -> list[Reply]:
        calls = (player.reply(Address(turn, "miner-01"), player.prompt({})) for turn in range(9))
        return await asyncio.gather(*calls)

    assert [reply.text for reply in asyncio.run(asked())] == ["1"] * 9


def test_one_that_never_ends_does_not_keep_the_command_from_ending(
    process: Callable[..., Command], file: Path, home: Path
) -> None:
    models = f"python:{file}:never?timeout=0.01"
    assert process("run", "mining", "--agents", "1", "--rounds", "1", "--model", models).wait(60) == 1
    with open_store(home) as store:
        assert store.runs.find("last").status == "halted"


def test_a_thread_that_a_player_leaves_behind_does_not_keep_the_command_from_ending(
    file: Path, home: Path
) -> None:
    words = f"run mining --agents 1 --rounds 1 --model python:{file}:leaves_a_thread --json --home {home}"
    done = subprocess.run(
        [sys.executable, "-m", "hobbes", *words.split()],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout)["outcomes"] == {"answered": 1}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("interrupts.py:Friend", "interrupts.py cannot be imported: KeyboardInterrupt"),
        ("no_such.py:Friend", "no_such.py cannot be imported: FileNotFoundError"),
        ("no_such_module:Friend", "no_such_module cannot be imported: ModuleNotFoundError: No module"),
        ("broken.py:Friend", r"broken.py cannot be imported: SyntaxError: .*\(broken.py, line 1\)"),
        ("leaves.py:Friend", "leaves.py cannot be imported: SystemExit: at once"),
        ("my_agents.py:Nobody", "my_agents.py has no Nobody"),
        ("my_agents.py:NEVER", "NEVER is neither a class with act"),
        ("my_agents.py:Mute", "Mute is neither a class with act"),
        ("my_agents.py:Needy", "Needy is neither a class with act"),
        ("my_agents.py:narrow", "narrow is neither a class with act"),
        ("my_agents.py:later", "later is async; await what it needs by asyncio.run"),
        ("my_agents.py:Later", "Later is async; await what it needs by asyncio.run"),
        ("my_agents.py:Diary?timeout=0", "timeout in .* must be a number of seconds above 0"),
        ("my_agents.py", "'python:my_agents.py' is not a model spec"),
    ],
)
def test_what_cannot_play_is_told_in_one_line_before_anything_is_played(
    opened: Store, file: Path, monkeypatch: pytest.MonkeyPatch, name: str, problem: str
) -> None:
    monkeypatch.chdir(file.parent)
    Path("broken.py").write_text("def (:", encoding="utf-8")
    Path("interrupts.py").write_text("raise KeyboardInterrupt", encoding="utf-8")
    Path("leaves.py").write_text("import sys\nsys.exit('at once')", encoding="utf-8")
    with pytest.raises(UsageError, match=problem) as told:
        begin(opened, options(f"python:{name}*1,policy:guided"))
    assert "\n" not in str(told.value)
    assert opened.figures.of_all_runs() == []


def test_a_file_may_import_its_neighbours_and_a_module_is_found_from_the_working_directory(
    opened: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.with_name("neighbour_of_agents.py").write_text("def idle(view, rng):\n    return {}\n")
    file.write_text("from neighbour_of_agents import idle\n")
    assert played(opened, options(f"python:{file}:idle")).status == "finished"
    monkeypatch.delitem(sys.modules, "neighbour_of_agents")
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one != str(file.parent)])
    monkeypatch.chdir(file.parent)
    assert played(opened, options("python:neighbour_of_agents:idle")).status == "finished"


def test_the_examples_of_the_page_run(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not in the folder of `pytester`, which forgets what was imported meanwhile: SciPy is imported once only.
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    *agents, test = (text for kind, text in blocks if kind == "python")
    for name, text in [("my_agents", "\n".join(agents)), ("test_my_agents", test)]:
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    for text in (text for kind, text in blocks if kind == "toml"):
        short = text.replace("seeds = 3", "seeds = 1")
        (tmp_path / f"{tomllib.loads(text)['name']}.toml").write_text(short, encoding="utf-8")
    commands = [line for kind, text in blocks if not kind for line in text.splitlines()]
    for line in commands:
        result = cli(*shlex.split(line)[1:])
        assert result.exit_code == 0, result.output
    assert re.search(r"^arm .* python:my_agents.py:Patient$", result.stdout, re.MULTILINE)
    assert cli("experiment", "patience.toml", "--jobs", "2").exit_code == 0
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    command = [sys.executable, "-m", "pytest", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT / "docs", check=False)
    assert "2 passed" in done.stdout
