"""The commands, as people and scripts meet them."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from typer.main import get_command

from hobbes.cli import app, main
from hobbes.errors import HobbesError, UsageError
from hobbes.nodes.journal import Reply
from hobbes.nodes.players import PolicyPlayer
from hobbes.store.home import Store
from hobbes.wire.recorder import in_thread
from hobbes.wire.stand_in import stand_in
from hobbes.worlds import WORLDS
from tests.conftest import ROOT, Cli, Hobbes
from tests.play.test_second_question import answering
from tests.small_runs import mining

SMALL = ["run", "mining", "--rounds", "2", "--agents", "2"]


def refused(cli: Cli, *arguments: str, **options: Any) -> HobbesError:
    """What a command says that cannot do what was asked, in one line."""
    found = cli(*arguments, **options).exception
    assert isinstance(found, HobbesError)
    assert "\n" not in str(found)
    return found


def test_every_command_has_help_with_an_example() -> None:
    without = [one.name for one in commands_of(get_command(app)) if "Example:" not in (one.help or "")]
    assert without == []


def test_help_lists_each_command_in_one_group(cli: Cli) -> None:
    program: Any = get_command(app)
    options, *groups = re.split(r"^(\w[\w ]*):$", cli("--help").output, flags=re.MULTILINE)[2:]
    assert "--version" in options
    assert groups[::2] == ["Play", "Look", "Change and compare", "Prove", "Data", "Help"]
    listed = re.findall(r"^  ([\w-]+)", "".join(groups[1::2]), flags=re.MULTILINE)
    assert sorted(listed) == sorted(program.commands)


def test_a_run_is_named_by_id_prefix_name_or_last(cli: Cli) -> None:
    first = json.loads(cli(*SMALL, "--name", "one", "--json").stdout)["run"]
    last = json.loads(cli(*SMALL, "--json").stdout)["run"]
    for reference, run in (("one", first), (first, first), (last[:-1], last), ("last", last)):
        assert json.loads(cli("verify", reference, "--json").stdout)["run"] == run
    assert "matches several runs" in str(refused(cli, "verify", first[:4]))


def test_options_are_also_variables(cli: Cli) -> None:
    done = cli(
        "run", "mining", env={"HOBBES_ROUNDS": "2", "HOBBES_SET": "stamina=3 mine_cap=2", "HOBBES_JSON": "1"}
    )
    assert json.loads(done.stdout)["turns"] == 2
    (run,) = json.loads(cli("runs", "--json").stdout)
    assert (run["config"]["stamina"], run["config"]["mine_cap"]) == (3, 2)


def test_a_setting_can_be_a_file_of_json(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "alpha.json"
    file.write_text("[[3, 1], [1, 1]]")
    cli(*SMALL, "--set", "rows=2", "--set", "cols=2", "--set", f"alpha=@{file}", "--json")
    (run,) = json.loads(cli("runs", "--json").stdout)
    assert run["config"]["alpha"] == [[3, 1], [1, 1]]
    file.write_text("[[3, 1]")
    assert "is not valid JSON" in str(refused(cli, *SMALL, "--set", f"alpha=@{file}"))
    assert "No such file" in str(refused(cli, *SMALL, "--set", "alpha=@nowhere.json"))


def commands_of(group: Any) -> Iterator[Any]:
    for command in group.commands.values():
        yield from commands_of(command) if hasattr(command, "commands") else (command,)


def test_the_variable_of_an_option_has_its_name() -> None:
    """`--max-calls` is HOBBES_MAX_CALLS, and so on, whatever the function calls it."""
    found = {
        param.opts[0]: param.envvar
        or f"{command.context_settings['auto_envvar_prefix']}_{param.name}".upper()
        for command in commands_of(get_command(app))
        for param in command.params
        if param.param_type_name == "option"
    }
    assert found == {name: f"HOBBES_{name[2:].replace('-', '_').upper()}" for name in found}
    assert {"--format", "--json", "--max-calls", "--set"} <= found.keys()


def test_options_override_a_run_file(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(
        'world = "mining"\nagents = 2\nrounds = 3\nmodel = "policy:random"\n[config]\nstamina = 4\n'
    )
    cli("run", str(file), "--rounds", "2", "--set", "mine_cap=2", "--json")
    (run,) = json.loads(cli("runs", "--json").stdout)
    assert (run["config"]["rounds"], run["config"]["stamina"], run["config"]["mine_cap"]) == (2, 4, 2)
    assert set(run["models"].values()) == {"policy:random"}


def test_a_mix_deals_models_in_order_and_entries_without_a_number_share_the_remaining_agents(
    cli: Cli,
) -> None:
    mix = "policy:guided?noise=0.1,policy:random,human*1"
    cli("run", "mining", "--rounds", "1", "--agents", "5", "--model", mix)
    (run,) = json.loads(cli("runs", "--json").stdout)
    noisy = "policy:guided?noise=0.1"
    assert list(run["models"].values()) == [noisy, noisy, "policy:random", "policy:random", "human"]


def test_trace_shows_a_run_a_turn_and_a_whole_card(cli: Cli) -> None:
    cli(*SMALL)
    for arguments in ([], ["1"], ["1", "miner-02"]):
        assert cli("trace", "last", *arguments).exit_code == 0
    card = json.loads(cli("trace", "last", "1", "miner-02", "--json").stdout)
    assert card["view"]["you"] == "miner-02"
    prompt = json.loads(card["prompt"])
    shown = {name: card["memory_before"][name] for name in prompt["memory"]}
    assert prompt == {**card["view"], "memory": shown}
    assert json.loads(card["answer"])["reasoning"] == card["intent"]["reflection"]["reasoning"]
    assert card["outcome"] == "answered"
    assert {event["agent"] for event in card["events"]} == {"miner-02"}
    assert card["memory_after"]["previous_turn_summary"] == "I mined 0 gold."
    assert card["arithmetic"]["gold"].startswith("before 0")
    assert card["arithmetic"]["gold"] in cli("trace", "last", "1").stdout


def test_trace_of_a_model_shows_the_prompt_that_was_sent_tokens_and_time(
    opened: Store, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_thread(stand_in()) as base:
        monkeypatch.setenv("OPENAI_BASE_URL", base)
        run = mining(opened, models="openai:policy/guided")
    card = json.loads(cli("trace", "last", "1", "miner-01", "--json").stdout)
    (call,) = opened.calls.of_turn(run.id, 1, "miner-01")
    assert (card["system"], card["prompt"]) == (call.prompt.system, call.prompt.turn)
    assert card["tokens"]["in"] > card["tokens"]["out"] > 0


def test_model_text_is_spelled_out_by_every_command(
    opened: Store, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = "\x1b[2J\x9b31m\x07\r[red]\u202e\u2066\u061c\u200d\u200f\x7f[/red]"
    texts = dict.fromkeys(("reasoning", "notes", "message", evil), evil)
    answer = json.dumps({**texts, "claim": [evil, [0, 0]], "aggressor_report": {evil: 5}})

    async def reply(self: object, address: Any, prompt: Any) -> Reply:
        del self, prompt
        text = answer if address.turn % 2 else f"{evil}{answer}{evil}"
        return Reply(text, f"model{evil}", reasoning=evil, error=evil)

    monkeypatch.setattr(PolicyPlayer, "reply", reply)
    run = mining(opened, values={"rounds": 2, "communication": True})
    opened.runs.update(run.id, name=evil)
    commands = (["runs"], ["trace", "last"], ["trace", "last", "all"], ["verify", "last"])
    shown = [cli(*command).stdout for command in commands]
    shown += [
        cli("trace", "last", turn, *agent).stdout for turn in ("0", "1") for agent in ([], ["miner-02"])
    ]
    assert all(shown)
    raw = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200d\u200f\u202e\u2066]")
    assert not raw.search("".join(shown))
    assert "[red]" in shown[-1]
    card = cli("trace", "last", "0", "miner-02", "--json").stdout
    assert not raw.search(card)
    assert json.loads(card)["model"] == f"model{evil}"


WRONG: list[tuple[list[str], str]] = [
    (["run", "atlantis"], "worlds: mining"),
    (["run", "mining", "--set", "staminaa=3"], "did you mean 'stamina' or"),
    (["run", "mining", "--set", "stamina=[1,2,3]"], "one per agent"),
    (["run", "mining", "--set", "defense=walls"], "block_all"),
    (["run", "mining", "--set", "rows"], "key=value"),
    (["run", "nations", "--set", 'constants={"c_mil_purchase_price": true}'], "c_mil_purchase_price"),
    (["run", "mining", "--model", "gpt-6-luna"], "did you mean 'openai:gpt-6-luna'?"),
    (["run", "mining", "--model", "guided?noise=0.1"], "did you mean 'policy:guided?noise=0.1'?"),
    (["run", "mining", "--model", "openia:gpt-6*4,policy:guided"], "did you mean 'openai:gpt-6'?"),
    (["run", "mining", "--model", "polcy:guided?noise=0.1"], "did you mean 'policy:guided?noise=0.1'?"),
    (["run", "mining", "--model", "qwen3:8b"], "did you mean 'openai:qwen3:8b'?"),
    (["run", "mining", "--model", "mine.py:Greedy"], "did you mean 'python:mine.py:Greedy'?"),
    (["run", "mining", "--model", "http://127.0.0.1:8765"], "write openai:NAME"),
    (["run", "mining", "--model", "openai"], "write openai:NAME"),
    (["run", "mining", "--model", "policy:nobody"], "guided"),
    (["run", "mining", "--model", "policy:guided?noise=2"], "from 0 to 1"),
    (["run", "mining", "--model", "openai:x?respons_format=none"], "no parameters but temperature"),
    (["demo", "--home", "README.md/home"], "cannot unpack the recorded runs into README.md/home/demo"),
    (["run", "mining", "--model", "policy:guided?rng=a.b"], "rng in 'policy:guided?rng=a.b'"),
    (["run", "mining", "--model", "policy:guided?greed=1"], "parameters: noise, tremble, rng"),
    (["run", "mining", "--model", "policy:raider?gred=1"], "parameters: noise, tremble, greed, rng"),
    (
        ["run", "nations", "--model", "policy:raider?greed=7"],
        "greed in 'policy:raider?greed=7' must be a number",
    ),
    (["run", "mining", "--model", "policy:guided*3"], "does not add up to 10 agents"),
    (
        ["run", "mining", "--agents", "3", "--model", "policy:guided,policy:random"],
        "does not add up to 3 agents",
    ),
    (["run", "mining", "--model", "openai:gpt-5-mini"], "OPENAI_API_KEY"),
    (["run", "mining", "--prompts", "nope"], "variants: formal, guided"),
    (["run", "mining", "--lang", "fr"], "en, zh"),
    (["run", "mining", "--seed", "9" * 20], "seed: give a whole number from"),
    (["run", "mining", "--agents", "10000000000"], "agents: a run has at most"),
    (["run", "mining", "--model", ""], "--model is empty"),
    (["run", "mining", "--set", "rows=4", "--set", "rows=5"], "rows is set twice"),
    (
        ["run", "mining", "--rounds", "2", "--set", "rounds=-1"],
        "rounds is set twice, by --rounds and by --set",
    ),
    (["run", "mining", "--set", "alpha=" + "[" * 100_000], "nested too deep"),
    (["runs", "--home", ""], "--home is empty"),
    (["run", "mining", "--name", "last"], "is reserved"),
    (["run", "mining", "--name", ""], "name is empty"),
    (["run", "mining", "--name", "x.yaml"], "looks like a cassette"),
    (["run", "missing.toml"], "missing.toml"),
    (["run", "mining", "--name", "a/b"], "'a/b' has a slash"),
    (["trace", "last", "--home", "nowhere"], "no runs in nowhere, which does not exist; `hobbes run mining"),
    (["replay", "missing.yaml"], "there is no cassette missing.yaml"),
    (["step", "atlantis"], "worlds: mining"),
    (["prompts", "show", "mining", "nope"], "variants: formal, guided"),
    (["prompts", "render", "mining", "--agent", "nobody"], "miner-01"),
    (["prompts", "render", "mining", "--turn", "9", "--set", "rounds=3"], "turns 0 to 2"),
    (["run", "mining", "--set", 'alpha={"plot":5}'], "alpha: its values are: whole number from 0 to 1000 | "),
    (["run", "mining", "--set", "alpha=[[1]]"], "config: alpha: give 10 rows of 10 numbers"),
]


@pytest.mark.parametrize(("arguments", "hint"), WRONG, ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_wrong_usage_is_one_line_that_says_what_to_do(cli: Cli, arguments: list[str], hint: str) -> None:
    error = refused(cli, *arguments)
    assert isinstance(error, UsageError)
    assert hint in str(error)


@pytest.mark.parametrize("amount", ["inf", "nan"])
def test_a_cap_is_a_number(cli: Cli, amount: str) -> None:
    for cap in ("--max-seconds", "--max-usd"):
        assert cli(*SMALL, cap, amount).exit_code == 2


def ended(monkeypatch: pytest.MonkeyPatch, *words: str) -> Any:
    monkeypatch.setattr(sys, "argv", ["hobbes", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


def test_arguments_are_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(monkeypatch, "run", "mining", "--name", os.fsdecode(b"\xff")) == 2
    assert capsys.readouterr().err == "hobbes: arguments must be UTF-8 text\n"


@pytest.mark.parametrize("words", [("worlds",), ("worlds", "mining", "--json")])
def test_a_full_disk_behind_the_output_is_reported_in_one_line(
    hobbes: Hobbes, words: tuple[str, ...]
) -> None:
    done = hobbes(*words, through=("sh", "-c", 'exec "$@" >/dev/full', "sh"))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1:] == [
        "hobbes: cannot write the output: No space left on device; free disk space, or write it elsewhere"
    ]


def test_a_closed_output_is_accepted(hobbes: Hobbes, cli: Cli) -> None:
    done = hobbes(*SMALL, "--name", "unheard", through=("sh", "-c", 'exec "$@" >&-', "sh"))
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert cli("verify", "unheard").exit_code == 0


@pytest.mark.parametrize(("words", "code"), [(("worlds",), 1), (("--help",), 1), (("worlds", "none"), 2)])
def test_a_reader_that_has_gone_ends_a_command_quietly(
    hobbes: Hobbes, words: tuple[str, ...], code: int
) -> None:
    """Such a reader is `head` once it has its lines. Output that is written at once hides the trouble."""
    # The reading end of the pipe is closed before the command starts.
    gone = "import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1); os.execv(sys.argv[1], sys.argv[1:])"
    done = hobbes(*words, through=(sys.executable, "-c", gone), env={"PYTHONUNBUFFERED": ""})
    assert (done.returncode, done.stderr.count("\n")) == (code, code == 2)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_characters_that_the_terminal_cannot_show_are_escaped(
    monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    def shown(*words: str) -> str:
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", TextIOWrapper(BytesIO(), encoding))
            assert not ended(patched, "prompts", "show", "mining", "guided", "--lang", "zh", *words)
            return cast("BytesIO", sys.stdout.buffer).getvalue().decode(encoding)

    assert "\\u" in shown()
    told = shown("--json")
    assert not told.isspace()
    assert not json.loads(told)["turn"].isascii()


def test_a_run_with_models_is_not_resumed_without_a_server(opened: Store, cli: Cli) -> None:
    """Nothing is asked of anybody, and no default is taken."""
    with in_thread(stand_in()) as base:
        env = {"OPENAI_BASE_URL": base}
        halted = cli(*SMALL, "--model", "openai:policy/guided", "--max-calls", "2", env=env)
    assert isinstance(halted.exception, HobbesError)
    assert "need OPENAI_API_KEY" in str(refused(cli, "resume", "last", "--max-calls", "99"))
    assert (opened.runs.find("last").status, opened.runs.find("last").turns) == ("halted", 1)


def test_a_finished_run_with_models_is_resumed_without_a_server(opened: Store, cli: Cli) -> None:
    with in_thread(stand_in()) as base:
        played = cli(*SMALL, "--model", "openai:policy/guided", "--json", env={"OPENAI_BASE_URL": base})
    before = opened.figures.about("last" if played.exception else json.loads(played.stdout)["run"])
    again = cli("resume", "last", "--json")
    assert json.loads(again.stdout) == json.loads(played.stdout)
    assert opened.figures.about(before["id"]) == before


def test_commands_work_in_any_folder_with_prompts_of_any_folder(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    there.mkdir()
    shutil.copytree(ROOT / "prompts/mining/unguided", here / "my prompts")
    monkeypatch.chdir(here)
    assert cli("prompts", "check", "mining", "./my prompts").exit_code == 0
    assert cli(*SMALL, "--prompts", "./my prompts", "--max-calls", "3").exit_code == 1
    monkeypatch.chdir(there)
    assert cli("resume", "last", "--max-calls", "9").exit_code == 0
    for words in (("trace", "last", "1"), ("verify", "last"), ("replay", "last"), ("export", "last")):
        assert cli(*words).exit_code == 0, words
    render = ("prompts", "render", "mining")
    assert (
        cli(*render, "--run", "last").stdout
        == cli(*render, "--agents", "2", "--rounds", "2", "--prompts", str(here / "my prompts")).stdout
    )


def test_the_program_tells_its_version_and_what_to_type_first(cli: Cli, tmp_path: Path) -> None:
    assert cli("--version").stdout == f"hobbes {version('hobbes')}\n"
    home = tmp_path / "new"
    assert cli("runs", "--home", str(home)).stdout == f"no runs yet; try: hobbes run mining --home {home}\n"


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ('agents = "x"', "agents must be a whole number"),
        ("agents = true", "agents must be a whole number"),
        ("seed = 2026-11-21", "seed must be a whole number"),
        ("model = 3", "model must be a string"),
        ("config = 5", "config must be a table"),
        ("rounds = 0", "rounds"),
        ("agents = 0", "at least one name"),
        ("modle = 'policy:random'", "unknown key 'modle'; did you mean 'model'?"),
        ("agents = [", "Invalid value"),
    ],
)
def test_a_wrong_run_file_is_reported(cli: Cli, tmp_path: Path, line: str, hint: str) -> None:
    file = tmp_path / "run.toml"
    file.write_text(f'world = "mining"\n{line}\n')
    error = refused(cli, "run", str(file))
    assert isinstance(error, UsageError)
    assert hint in str(error)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run", "Missing argument 'world'. See `hobbes run --help`"),
        ("fork last", "Missing option '--turn'. See `hobbes fork --help`"),
        ("probe last --times", "Option '--times' requires an argument. See `hobbes --help`"),
        ("runn", "No such command 'runn'. Did you mean 'run', 'runs'? See `hobbes --help`"),
        (
            "report last --format x",
            (
                "Invalid value for '--format' (env var: 'HOBBES_FORMAT'): 'x' is not one of 'html', 'md'. "
                "See `hobbes report --help`"
            ),
        ),
    ],
)
def test_wrong_arguments_are_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    assert ended(monkeypatch, *line.split()) == 2
    assert capsys.readouterr() == ("", f"hobbes: {said}\n")


@pytest.mark.parametrize(("line", "heading"), [("", "Play:\n"), ("prompts", "Commands:\n")])
def test_a_command_group_alone_prints_its_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, heading: str
) -> None:
    assert ended(monkeypatch, *line.split()) == 2
    out, err = capsys.readouterr()
    assert not out
    assert heading in err


def test_a_question_that_is_not_answered_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cli: Cli, home: Path
) -> None:
    cli("run", "trust", "--model", "policy:beggar", "--agents", "1", "--observer", "human")
    terminal = StringIO()  # at its end
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert ended(monkeypatch, "answer", "last", "--home", str(home)) == 1
    assert capsys.readouterr().err.endswith("Aborted!\n")


def test_a_process_reports_errors_on_stderr_and_by_its_exit_code(
    process: Any, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = process("run", "atlantis")
    printed, told = wrong.communicate()
    assert (wrong.returncode, printed) == (2, "")
    assert told == f"hobbes: there is no world 'atlantis'; worlds: {', '.join(WORLDS)}\n"
    (home / "runs.db").write_bytes(b"this is no database, and it is long enough" * 100)
    assert ended(monkeypatch, "runs", "--home", str(home)) == 1
    assert re.fullmatch(
        r"hobbes: runs.db is damaged: file is not a database; put back .*\n", capsys.readouterr().err
    )
    assert (home / "runs.db").read_bytes().startswith(b"this is no database")


def test_a_truncated_database_is_reported_and_left_as_it_is(cli: Cli, home: Path) -> None:
    cli(*SMALL)
    whole = (home / "runs.db").read_bytes()
    (home / "runs.db").write_bytes(whole[: len(whole) // 2])
    for command in (["verify", "last"], ["trace", "last"], [*SMALL]):
        assert "runs.db is damaged" in str(refused(cli, *command))
    assert (home / "runs.db").read_bytes()[:4096] == whole[:4096]


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # noqa: S104  all addresses
def test_a_busy_port_is_reported(cli: Cli, host: str) -> None:
    with socket.create_server((host, 0)) as taken:
        port = taken.getsockname()[1]
        told = str(refused(cli, "serve", "--port", str(port)))
    assert re.fullmatch(rf".*127.0.0.1:{port}: .*; stop the server .*, or choose another --port", told)


def test_a_run_that_is_being_played_is_not_played_twice(opened: Store, cli: Cli) -> None:
    run = mining(opened)
    with opened.playing(run.id):
        assert "another process" in str(refused(cli, "resume", run.id))


def test_three_processes_play_three_runs_in_a_new_home_and_nothing_is_lost(cli: Cli, process: Any) -> None:
    players = [
        process("run", "mining", "--rounds", "8", "--agents", "5", "--name", f"run-{k}", "--json")
        for k in range(3)
    ]
    for player in players:  # somebody looks on all the while
        while player.poll() is None:
            assert cli("runs", "--json").exit_code == 0
            traced = cli("trace", "last", "--json").exception
            assert traced is None or isinstance(traced, UsageError), "at first there may be no run yet"
            with suppress(subprocess.TimeoutExpired):
                player.wait(timeout=0.05)
    told = [json.loads(player.communicate()[0]) for player in players]
    assert [player.returncode for player in players] == [0, 0, 0]
    assert len({one["digest"] for one in told}) == 1
    assert [one["calls"] for one in told] == [40, 40, 40]
    for k in range(3):
        assert cli("verify", f"run-{k}").exit_code == 0


def test_a_tainted_run_exits_with_1(cli: Cli) -> None:
    with answering(lambda _: "I would rather not."):
        done = cli(*SMALL, "--model", "openai:m", "--json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["tainted"], told["outcomes"]) == (1, True, {"unreadable": 4})


def test_a_name_is_used_once_and_may_be_changed(cli: Cli) -> None:
    cli(*SMALL, "--name", "one")
    assert cli("rename", "one", "twin").stdout == "run one is now called twin\n"
    assert cli("verify", "twin").exit_code == 0
    for words in ((*SMALL, "--name", "twin"), ("rename", "last", "twin")):
        assert (
            str(refused(cli, *words))
            == "the name 'twin' is already in use; choose another, or resume or delete that run"
        )


@pytest.mark.parametrize(
    ("address", "key", "end"),
    [
        ("http://127.0.0.1:nine/v1", "", ""),
        ("nonsense", "", ""),
        ("http://127.0.0.1:9/v1", "schlüssel", ""),
        ("http://127.0.0.1:9/v1", "", "is the server running? `hobbes serve` starts the stand-in server"),
    ],
)
def test_doctor_accepts_any_address_and_key_and_says_how_to_start_a_server(
    cli: Cli, address: str, key: str, end: str
) -> None:
    told = cli("doctor", "--json", env={"OPENAI_BASE_URL": address, "OPENAI_API_KEY": key})
    server = json.loads(told.stdout)["server"]
    assert server.startswith("does not answer")
    assert server.endswith(end)
    assert told.exit_code == 1


def test_doctor_says_which_server_is_asked_and_which_proxy(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def get(url: httpx2.URL, **_: object) -> httpx2.Response:
        asked.append(str(url))
        return httpx2.Response(200, json={"data": []})

    monkeypatch.setattr(httpx2, "get", get)
    others = dict.fromkeys(("OPENAI_API_BASE", "OPENAI_PROXY", "LANGSMITH_GATEWAY"), "http://third.invalid")
    told = cli("doctor", "--json", env={**others, "OPENAI_API_KEY": "any", "https_proxy": "http://me:pw@h:1"})
    cli("doctor", env={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1?key=somebodys"})
    assert asked == ["https://api.openai.com/v1/models", "http://127.0.0.1:9/v1/models?key=somebodys"]
    examined = json.loads(told.stdout)
    assert examined["openai_base_url"] == "not set (https://api.openai.com/v1)"
    assert examined["proxies"] == "https_proxy"


@pytest.mark.parametrize(("home", "writable"), [("file", False), ("file/below", False), ("new/below", True)])
def test_doctor_says_whether_runs_can_be_stored(
    cli: Cli, tmp_path: Path, home: str, *, writable: bool
) -> None:
    (tmp_path / "file").touch()
    told = json.loads(cli("doctor", "--json", "--home", str(tmp_path / home)).stdout)
    assert told["home_writable"] is writable


@pytest.mark.parametrize("asked", [("--observer", "human"), ("--set", "observer=human")])
def test_an_observer_where_the_world_has_none_names_the_worlds_that_have_one(
    cli: Cli, asked: tuple[str, str]
) -> None:
    for command in (["run", "mining"], ["prompts", "render", "nations"]):
        said = str(refused(cli, *command, *asked))
        assert said == f"{command[-1]} has no observer; worlds with one: trust"


def test_prompts_list_says_how_much_each_variant_gives_away_in_all_worlds_or_in_one(cli: Cli) -> None:
    found = json.loads(cli("prompts", "list", "--json").stdout)
    assert found.keys() == WORLDS.keys()
    assert "mining, nations, trust" in str(refused(cli, "prompts", "list", "chess"))
    assert found["nations"]["statecraft"] == {
        "languages": ["en", "zh"],
        "advice": "gives the solution away",
        "about": "advice on deterrence, trade and trust",
    }
    shown = cli("prompts", "list", "nations").stdout
    assert "mining" not in shown.split()
    assert "gives the solution" in shown
    assert "rules only" in shown
