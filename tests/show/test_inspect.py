"""A run as a log for inspect: its own reader finds in it what was recorded."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hobbes.errors import HobbesError, UsageError
from hobbes.play.start import RunOptions
from hobbes.show.exports import export
from hobbes.show.trace import agent_card, full_turn
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from tests.conftest import Cli
from tests.corpus import BIDI
from tests.play.test_second_question import FIRST, SECOND, answering, by_attempt
from tests.show.test_counted import faulty_run
from tests.small_runs import mining, played
from tests.wire.test_faults import served

if TYPE_CHECKING:  # inspect takes a second, which only the worker that reads a log needs to spend
    from inspect_ai.log import EvalLog, EvalSample

HOSTILE = (
    BIDI,
    "<script>alert(1)</script>![](http://127.0.0.1/x)",
    "attachment://0123456789abcdef0123456789abcdef " * 20,
    "data:image/png;base64," + "A" * 400,
    '{"claim": [], "notes": "' + "[bold]x[/bold] \U0001f4a3" * 40 + '"}',
    "<think>Shall I?</think>{",
)


def read(log: Path) -> "EvalLog":
    from inspect_ai.log import read_eval_log  # noqa: PLC0415

    return read_eval_log(str(log), resolve_attachments=True)


def logged(store: Store, run: Run, to: Path) -> "EvalLog":
    """Export a run, and read the log back."""
    export(store, run, "inspect", to / "run.eval")
    return read(to / "run.eval")


def samples_of(log: "EvalLog") -> "dict[Any, EvalSample]":
    return {sample.id: sample for sample in log.samples or []}


def turns_of(sample: "EvalSample") -> dict[int, dict[str, Any]]:
    return {turn["turn"]: turn for turn in sample.metadata["turns"]}


def values_of(sample: "EvalSample") -> dict[str, Any]:
    return {name: score.value for name, score in (sample.scores or {}).items()}


@pytest.mark.parametrize("world", ["mining", "nations", "trust"])
def test_each_agent_is_a_sample_with_all_its_turns(world: str, opened: Store, tmp_path: Path) -> None:
    run = played(opened, RunOptions(world, 3, models="policy:random?noise=0.4", values={"rounds": 3}))
    log = logged(opened, run, tmp_path)
    samples = samples_of(log)
    decisions = list(opened.calls.decisions(run.id))
    assert {(turn, agent) for agent, one in samples.items() for turn in turns_of(one)} == {
        (d.turn, d.agent) for d in decisions
    }
    final = opened.figures.result(run)["scores"]
    for agent, sample in samples.items():
        of_agent = [d for d in decisions if d.agent == agent]
        calls = [opened.calls.of_turn(run.id, d.turn, agent)[0] for d in of_agent]
        cards = [agent_card(opened, run, d.turn, agent, full_turn(opened, run, d.turn)) for d in of_agent]
        told = [(message.role, message.text) for message in sample.messages]
        assert told == [
            pair for c in calls for pair in (("user", c.prompt.turn), ("assistant", c.reply.text)) if pair[1]
        ]
        assert sample.input == sample.messages[:1]
        assert sample.output.completion == calls[-1].reply.text
        assert sample.output.model == "policy/random"
        assert sample.uuid == f"{run.id}-{agent}"
        assert (sample.metadata["agent"], sample.metadata["player"]) == (agent, run.models[agent])
        scores = values_of(sample)
        assert next(iter(scores)) == "score", "tools take the first one"
        assert scores == {
            "score": final[agent],
            "failed": sum(d.failed for d in of_agent),
            "drops": sum(len(card["drops"]) for card in cards),
            "mends": sum(len(card["mends"]) for card in cards),
        }
        for decision, card in zip(of_agent, cards, strict=True):
            turn = turns_of(sample)[decision.turn]
            decided = "default_intent" if decision.failed else "intent"
            assert turn["outcome"] == decision.outcome
            for name, value in {**card, decided: card["intent"]}.items():
                if name in turn:
                    assert json.dumps(turn[name]) == json.dumps(value), name
            assert decided in turn
            assert ("why" in turn) == decision.failed
    assert (log.status, log.eval.task, log.eval.model) == ("success", world, "policy:random?noise=0.4*3")
    assert (log.eval.metadata or {})["digest"] == run.digest
    assert log.eval.task_args["seed"] == 1
    assert log.eval.task_args["rounds"] == 3


def test_a_failed_call_is_an_error_and_not_a_decision(
    opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logged(opened, faulty_run(opened, monkeypatch), tmp_path)
    turns = {
        f"{n}/{agent}": turn for agent, one in samples_of(log).items() for n, turn in turns_of(one).items()
    }
    assert {at: f"{turn['outcome']}: {turn['why']}" for at, turn in turns.items() if "why" in turn} == {
        "0/miner-01": "unreadable: the answer holds no JSON object that can be read",
        "1/miner-01": "refused: I'm sorry, but I can't help with a game in which others are raided.",
        "1/miner-02": "unreadable: the answer holds no JSON object that can be read",
    }
    assert "intent" not in turns["1/miner-01"]
    assert "default_intent" in turns["1/miner-01"]
    assert {agent: values_of(one)["failed"] for agent, one in samples_of(log).items()}["miner-01"] == 2
    assert log.results is not None
    assert (log.results.total_samples, log.results.completed_samples) == (2, 2)
    assert (log.eval.metadata or {})["failures"]["share"] == 0.5


def test_reasoning_and_tokens_of_a_model_are_in_the_log(opened: Store, tmp_path: Path) -> None:
    with served({}):
        run = played(opened, RunOptions("mining", 2, models="openai:policy/guided", values={"rounds": 2}))
    log = logged(opened, run, tmp_path)
    sample = samples_of(log)["miner-02"]
    first, call = (opened.calls.of_turn(run.id, turn, "miner-02")[0] for turn in (0, 1))
    assert [(message.role, message.text) for message in sample.messages] == [
        ("system", first.prompt.system),
        ("user", first.prompt.turn),
        ("assistant", first.reply.text),
        ("user", call.prompt.turn),
        ("assistant", call.reply.text),
    ]
    assert [message.id for message in sample.messages[-2:]] == [
        f"{run.id}/1/miner-02/1/prompt",
        f"{run.id}/1/miner-02/1/answer",
    ]
    thought = sample.output.message.content[0]
    assert not isinstance(thought, str)
    assert thought.type == "reasoning"
    assert thought.reasoning == call.reply.reasoning
    assert (sample.output.message.metadata or {})["reasoning_source"] == "answer"
    assert sample.output.usage is not None
    assert sample.output.usage.input_tokens == call.reply.tokens_in
    used = log.stats.model_usage["policy/guided"]
    tokens = opened.figures.tokens(run)
    assert (used.input_tokens, used.output_tokens) == (tokens["in"], tokens["out"])


def test_the_follow_up_question_and_its_answer_are_further_messages(opened: Store, tmp_path: Path) -> None:
    request = RunOptions("mining", 1, models="openai:m", values={"rounds": 1, "reask": 1})
    with answering(by_attempt(FIRST, SECOND)):
        run = played(opened, request)
    (sample,) = samples_of(logged(opened, run, tmp_path)).values()
    assert [message.role for message in sample.messages] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert [message.text for message in sample.messages if message.role == "assistant"] == [FIRST, SECOND]
    assert sample.output.completion == SECOND
    assert turns_of(sample)[0]["attempt"] == 2


def test_hostile_texts_come_back_as_they_were_written(opened: Store, tmp_path: Path) -> None:
    request = RunOptions("mining", len(HOSTILE), models="openai:m", values={"rounds": 1, "taint_share": 1.0})
    with answering(lambda address: HOSTILE[int(address.split("/")[1][-2:]) - 1]):
        run = played(opened, request)
    samples = samples_of(logged(opened, run, tmp_path))
    for number, text in enumerate(HOSTILE, start=1):
        (call,) = opened.calls.of_turn(run.id, 0, f"miner-{number:02}")
        sample = samples[f"miner-{number:02}"]
        assert sample.output.completion == sample.messages[-1].text == call.reply.text == text


def test_an_observer_and_units_that_are_born_have_samples(opened: Store, tmp_path: Path) -> None:
    values: dict[str, Any] = {"rounds": 30, "victory": "team", "observer": "openai:policy/all", "start": 60}
    with served({}):
        run = played(opened, RunOptions("trust", 4, models="policy:beggar*2,policy:racer*2", values=values))
    samples = samples_of(logged(opened, run, tmp_path))
    decisions = list(opened.calls.decisions(run.id))
    assert samples.keys() == {d.agent for d in decisions}
    assert turns_of(samples["observer"])
    assert all("rulings" in turn for turn in turns_of(samples["observer"]).values())
    assert "score" not in values_of(samples["observer"])
    born = {d.agent for d in decisions} - {*run.setting.agents, "observer"}
    assert born
    scores = opened.figures.result(run)["scores"]
    assert {values_of(samples[unit])["score"] for unit in born} <= {*scores.values()}
    assert {unit: samples[unit].metadata["player"] for unit in born}.keys() == born


def test_a_run_that_is_halted_is_logged_as_far_as_it_went(opened: Store, cli: Cli, home: Path) -> None:
    halted = cli("run", "trust", "--agents", "2", "--max-calls", "5")
    assert isinstance(halted.exception, HobbesError)
    shown = cli("export", "last", "--format", "inspect", "--json")
    document = json.loads(shown.stdout)
    run = opened.runs.find("last")
    path = home / "exports" / f"{run.id}.eval"
    assert document == {"run": run.id, "folder": str(path), "files": {path.name: 2}}
    log = read(path)
    assert log.status == "error"
    assert log.error is not None
    assert log.error.message.startswith("turn 2")
    assert all("score" in values_of(sample) for sample in samples_of(log).values())
    (unfinished,) = (turns[2] for one in samples_of(log).values() if 2 in (turns := turns_of(one)))
    assert unfinished.keys() == {"turn", "attempt", "outcome"}


def test_a_run_that_has_not_ended_has_the_status_started(opened: Store, tmp_path: Path) -> None:
    run = mining(opened)
    opened.db.execute("update runs set status = 'unfinished'")
    log = logged(opened, opened.runs.find(run.id), tmp_path)
    assert log.status == "started"
    assert [[*turns_of(sample)] for sample in log.samples or []] == [[0, 1, 2, 3]] * 3


def test_the_file_must_be_new_and_end_as_inspect_expects(opened: Store, tmp_path: Path) -> None:
    run = mining(opened)
    with pytest.raises(UsageError, match=r"inspect opens only files that end in \.eval: --to .*/run\.eval"):
        export(opened, run, "inspect", tmp_path / "run")
    (tmp_path / "run.eval").touch()
    with pytest.raises(UsageError, match="already exists; choose another file with --to"):
        export(opened, run, "inspect", tmp_path / "run.eval")
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == ["run.eval"]
