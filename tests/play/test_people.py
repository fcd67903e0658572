"""People play agents: all at once, each with as much time as there is, and by what their agents may see."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hobbes.engine.chance import RngStream
from hobbes.engine.policy import speak
from hobbes.errors import HaltedRunError, LateError, UsageError
from hobbes.experiment.experiment_file import parse
from hobbes.experiment.plan import plan
from hobbes.nodes.caps import NO_CAPS
from hobbes.play.fork import ForkOptions, fork
from hobbes.play.people import checked_answer, keep_answer, the_question, written_answer
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.prove.replay import replay_run
from hobbes.prove.verification import Fault, verify
from hobbes.show import run_result
from hobbes.store.home import Store
from hobbes.store.recorded_run import PersonQuestion, Run
from hobbes.store.run_journal import RunJournal
from hobbes.wire.recorder import environment, in_thread
from hobbes.worlds import WORLDS
from tests.conftest import Cli
from tests.faults import failing
from tests.small_runs import go, played

pytestmark = pytest.mark.usefixtures("with_fishery")

ROUNDS = 4
LONG_AGO = "2020-01-01T00:00:00.000+00:00"


def game(world: str, models: str, **values: Any) -> RunOptions:
    return RunOptions(world, 3, models=models, values={"rounds": ROUNDS, **values})


def begun(store: Store, world: str, people: int = 1, **values: Any) -> Run:
    """Begin a run of three agents, and play until the first of them, who are people, are asked."""
    rest = f"policy:{WORLDS[world].policies.default}"
    return on(store, begin(store, game(world, f"human*{people},{rest}", **values)))


def on(store: Store, run: Run) -> Run:
    """Go on with a run as a new process would; it verifies wherever it stops."""
    run = go(store, run)
    assert list(verify(store, run)) == []
    return run


def as_policy(run: Run, question: PersonQuestion, policy: str = "") -> str:
    policies = run.world.policies
    rng = RngStream(run.setting.seed, run.turns, question.agent)
    return speak(policies, policy or policies.default, 0, json.loads(question.asked), rng)


def in_words(text: str) -> str:
    """Return an answer as it is read of the words of a command that give each of its fields."""
    return written_answer([f"{name}={json.dumps(value)}" for name, value in json.loads(text).items()])


def to_the_end(store: Store, run: Run) -> Run:
    """Answer for all people as the policy would, as a whole or by its fields, the last one asked first."""
    run = on(store, run)
    while run.status == "waiting":
        for k, question in enumerate(reversed(run.questions)):
            text = as_policy(run, question)
            keep_answer(store, run, question, in_words(text) if k else text)
        run = on(store, store.runs.find(run.id))
    return run


@pytest.mark.parametrize("world", ["mining", "nations", "trust", "fishery"])
def test_people_who_answer_as_a_policy_does_lead_to_the_policys_digest(world: str, opened: Store) -> None:
    policy = f"policy:{WORLDS[world].policies.default}"
    scripted = played(opened, game(world, policy))
    person = to_the_end(opened, begin(opened, game(world, f"human*2,{policy}")))
    assert (person.status, person.digest) == ("finished", scripted.digest)
    replayed = asyncio.run(replay_run(opened, person, reread=False))
    assert (replayed.digest, replayed.divergence) == (person.digest, None)
    forked = fork(opened, person, ForkOptions(2), NO_CAPS)
    assert to_the_end(opened, forked).digest == scripted.digest


def test_an_answer_is_recorded_as_a_persons_with_the_time_it_took(opened: Store) -> None:
    asked_at = datetime(2030, 1, 1, tzinfo=UTC)
    run = begin(opened, game("mining", "human*1,policy:guided"))
    asyncio.run(go_on(opened, run, lambda _: None, clock=lambda: asked_at))
    run = opened.runs.find(run.id)
    question = the_question(run)
    keep_answer(opened, run, question, as_policy(run, question), lambda: asked_at + timedelta(seconds=90))
    (call,) = opened.calls.of_turn(run.id, 0, "miner-01")
    assert (call.reply.model, call.reply.player, call.outcome) == ("human", "human", "answered")
    assert call.reply.milliseconds == 90_000
    assert opened.figures.spent(run).calls == 2, "a person costs nothing"


def test_the_turn_goes_on_once_all_have_answered_in_any_order(opened: Store) -> None:
    run = begun(opened, "trust", people=2)
    first, second = run.questions
    assert (first.agent, second.agent) == ("unit-a", "unit-b")
    left = keep_answer(opened, run, second, as_policy(run, second))
    assert (left.status, left.questions) == ("waiting", (first,))
    again = on(opened, left)  # as after a reboot
    assert (again.turns, again.questions) == (0, (first,))
    assert keep_answer(opened, again, first, as_policy(run, first)).questions == ()
    assert on(opened, again).turns == 1


def test_no_model_is_called_twice_because_people_take_their_time(opened: Store) -> None:
    models = "human*2,openai:policy/guided"
    with in_thread(failing()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        run = to_the_end(opened, begin(opened, game("mining", models)))
        asked = httpx2.get(f"{base.removesuffix('/v1')}/stats").json()["addresses"]
    assert (run.status, len(asked), set(asked.values())) == ("finished", ROUNDS, {1})


def test_an_answer_that_was_given_is_not_asked_for_again_after_a_crash(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(opened, "mining")

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(RunJournal, "turn", crash)
        with pytest.raises(KeyboardInterrupt):
            go(opened, run, as_policy(run, the_question(run)))
    assert opened.runs.find(run.id).turns == 0
    assert on(opened, run).turns == 1


@pytest.mark.parametrize(
    ("world", "said", "wrong"),
    [
        ("mining", "I pass.", r"^Invalid JSON: .*; correct that and answer again"),
        ("mining", '{"claim": [[99, 0]]}', r"\[99, 0\]}: .*; correct that and answer again"),
        (
            "mining",
            '{"claim": "all"}',
            "^claim: Input should be a valid array; correct that and answer again",
        ),
        ("nations", '{"attacks": {"AgentZ": 1}}', '"AgentZ": 1}.*; correct that and answer again'),
        ("nations", '{"retreat": 1}', "^retreat: Extra inputs are not permitted; correct"),
        ("trust", '{"action": "high_five", "target": "unit-z"}', "unit-z.*; correct that and answer again"),
        ("trust", "{}", "^action: Field required; correct that and answer again"),
        ("fishery", '{"catch": -1}', "^catch: Input should be greater than or equal to 0; correct"),
    ],
)
def test_what_would_be_rejected_is_said_in_one_line_before_it_is_taken(
    world: str, said: str, wrong: str, opened: Store
) -> None:
    run = begun(opened, world)
    with pytest.raises(UsageError, match=wrong) as told:
        keep_answer(opened, run, the_question(run), checked_answer(run, the_question(run), said))
    assert "\n" not in str(told.value)
    assert opened.runs.find(run.id).questions == run.questions


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["claim=[[0, 1]]", "notes=né = 1"], {"claim": [[0, 1]], "notes": "né = 1"}),
        (
            ["rulings.b.grant=3", "rulings.b.reason=so be it"],
            {"rulings": {"b": {"grant": 3, "reason": "so be it"}}},
        ),
        ([], {}),
    ],
)
def test_an_answer_is_written_field_by_field(words: list[str], answer: dict[str, Any]) -> None:
    assert json.loads(written_answer(words)) == answer


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["pass"], "'pass': write key=value"),
        (["=1"], "'=1': write key=value"),
        (["a=1", "a=2"], "a: write each only once"),
        (["a=1", "a.b=2"], "a.b: write each only once"),
        (["a.b=1", "a.b.c=2"], "a.b.c: write each only once"),
        (["a.b=1", "a=2"], "a: write each only once"),
        (["a=" + "[" * 100_000], "a: the value is nested too deep"),
        (["@nowhere.json"], "cannot read nowhere.json"),
    ],
)
def test_what_is_no_answer_is_said_in_one_line(words: list[str], wrong: str) -> None:
    with pytest.raises(UsageError, match=f"^{wrong}") as told:
        written_answer(words)
    assert "\n" not in str(told.value)


def test_half_a_character_is_refused(opened: Store) -> None:
    """A terminal with another encoding gives such halves, which no file can hold."""
    run = begun(opened, "mining")
    with pytest.raises(UsageError, match="correct that and answer again"):
        checked_answer(run, the_question(run), written_answer(["notes=\udcff"]))


# --- time


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def on_at(store: Store, run: Run, clock: Clock) -> Run:
    asyncio.run(go_on(store, store.runs.find(run.id), lambda _: None, clock=clock))
    run = store.runs.find(run.id)
    assert list(verify(store, run)) == []
    return run


def test_who_does_not_answer_in_time_takes_the_default_action_and_the_call_has_failed(opened: Store) -> None:
    clock = Clock()
    run = on_at(opened, begin(opened, game("mining", "human*2,policy:guided", seconds_per_turn=60)), clock)
    first, second = run.questions
    clock.forward(59)
    keep_answer(opened, run, second, as_policy(run, second), clock)
    assert on_at(opened, run, clock).questions == (first,), "a resume gives no more time"
    clock.forward(1)
    with pytest.raises(LateError, match="too late: no answer within 60 seconds"):
        keep_answer(opened, run, first, as_policy(run, first), clock)
    run = on_at(opened, run, clock)
    assert (run.turns, len(run.questions)) == (1, 2)
    (call,) = opened.calls.of_turn(run.id, 0, "miner-01")
    assert (call.outcome, call.reply.error) == ("timed-out", "no answer within 60 seconds")
    assert (call.reply.player, opened.figures.result(run)["failures"]["by_agent"]) == (
        "human",
        {"miner-01": 1},
    )
    assert opened.calls.of_turn(run.id, 0, "miner-02")[0].outcome == "answered"


def test_where_failures_halt_the_person_is_asked_again(opened: Store) -> None:
    clock = Clock()
    values = {"seconds_per_turn": 60, "on_failure": "halt"}
    run = on_at(opened, begin(opened, game("mining", "human*1,policy:guided", **values)), clock)
    clock.forward(60)
    with pytest.raises(HaltedRunError, match="turn 0, miner-01: timed-out no answer within 60 seconds"):
        on_at(opened, run, clock)
    run = on_at(opened, run, clock)
    assert [one.address for one in run.questions] == ["0/miner-01/2"]
    keep_answer(opened, run, the_question(run), as_policy(run, the_question(run)), clock)
    assert on_at(opened, run, clock).turns == 1


def test_an_observer_who_does_not_rule_in_time_has_failed_too(opened: Store) -> None:
    clock = Clock()
    values = {"observer": "human", "seconds_per_turn": 5}
    run = on_at(opened, begin(opened, game("trust", "policy:beggar", **values)), clock)
    clock.forward(5)
    run = on_at(opened, run, clock)
    assert (run.turns, opened.calls.of_turn(run.id, 0, "observer")[0].outcome) == (1, "timed-out")


# --- commands


def run_of(cli: Cli, models: str, *more: str) -> dict[str, Any]:
    """Begin a run of mining that people play; return what it waits for."""
    told = cli("run", "mining", "--rounds", "2", "--agents", "3", "--model", models, "--json", *more)
    found: dict[str, Any] = json.loads(told.stdout)
    return found


def test_the_command_takes_an_answer_by_fields_and_as_a_file(cli: Cli, opened: Store, tmp_path: Path) -> None:
    (tmp_path / "said.json").write_text('{"claim": [[0, 0]], "reasoning": "I take a corner."}')
    found = run_of(cli, "human*2,policy:guided", "--name", "ours")
    assert [one["agent"] for one in found["waiting"]] == ["miner-01", "miner-02"]
    assert found["waiting"][0]["view"]["you"] == "miner-01"
    assert json.loads(cli("answer", "ours", "--agent", "miner-01", "--json").stdout) == found
    left = cli("answer", "ours", "--agent", "miner-01", f"@{tmp_path}/said.json")
    assert "turn 0: people are asked" in left.stdout
    assert "--agent miner-02" in left.stdout
    cli("answer", "ours", "claim=[[5, 5], [5, 6]]", "aggressor_report.miner-01=3")
    cli("answer", "ours", "--agent", "miner-01", 'mine=[{"cell": [0, 0], "s": 2}]')
    last = json.loads(cli("answer", "ours", 'mine=[{"cell": [5, 5], "s": 1}]', "--json").stdout)
    assert (last["turns"], last["outcomes"]) == (2, {"answered": 6})
    run = opened.runs.find(found["run"])
    texts = [[c.reply.text for c in opened.calls.of_turn(run.id, turn, "miner-02")] for turn in (0, 1)]
    claimed = {"aggressor_report": {"miner-01": 3}, "claim": [[5, 5], [5, 6]]}
    assert [json.loads(one) for (one,) in texts] == [claimed, {"mine": [{"cell": [5, 5], "s": 1}]}]


def test_who_is_meant_has_to_be_said_if_several_are_asked(cli: Cli) -> None:
    run_of(cli, "human*2,policy:guided")
    for words, wrong in (
        (("claim=[[0, 0]]",), "is waiting for the answers of miner-01, miner-02; name one with --agent"),
        (("--agent", "miner-03", "claim=[[0, 0]]"), "miner-01, miner-02; name one with --agent"),
        (("--agent", "miner-01", "claim=here"), "claim: Input should be a valid array"),
        (("--agent", "miner-01", "claim=[[0, 99]]"), "[0, 99]}: the plot lies outside the grid"),
    ):
        error = cli("answer", "last", *words).exception
        assert isinstance(error, UsageError)
        assert wrong in str(error)


def test_a_run_says_who_is_asked_and_how_each_answers(cli: Cli) -> None:
    told = cli("run", "mining", "--rounds", "2", "--agents", "3", "--model", "human*2,policy:guided")
    assert all(f"--agent miner-0{k}" in told.stdout for k in (1, 2))
    assert "unowned plots to claim" in told.stdout
    assert "waiting" in cli("runs").stdout


def test_a_command_finds_that_the_time_of_people_is_over(cli: Cli, opened: Store) -> None:
    """Nobody answers for a second. A late answer is refused, its call has failed, and the run plays on."""
    found = run_of(cli, "human*2,policy:guided", "--seconds-per-turn", "60")
    run = opened.runs.find(found["run"])
    opened.runs.ask(run.id, [replace(one, since=LONG_AGO) for one in run.questions])
    late = cli("answer", "last", "--agent", "miner-02", "claim=[[0, 0]]")
    assert isinstance(late.exception, LateError)
    assert "too late: no answer within 60 seconds" in str(late.exception)
    run = opened.runs.find(run.id)
    assert (run.turns, len(run.questions)) == (1, 2)
    opened.runs.ask(run.id, [replace(run.questions[0], since=LONG_AGO), run.questions[1]])
    cli("answer", "last", "--agent", "miner-02", "claim=[[0, 0]]")
    outcomes = [
        [opened.calls.of_turn(run.id, turn, f"miner-0{k}")[0].outcome for k in (1, 2)] for turn in (0, 1)
    ]
    assert outcomes == [["timed-out", "timed-out"], ["timed-out", "answered"]]
    assert opened.runs.find(run.id).status == "finished"


def test_in_a_terminal_the_only_person_is_asked_right_there(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first line is no plot, the second has a quote that does not end, the third is outside the grid."""
    monkeypatch.setattr(run_result, "in_terminal", lambda: True)
    said = "claim=here\nclaim='[[0,0]]\nclaim=[[99,99]]\nclaim=[[0,0]]\nclaim=[[0,1]] notes='a row'\n"
    play = ("run", "mining", "--rounds", "2", "--agents", "2", "--model", "human*1,policy:guided")
    told = cli(*play, input=said)
    assert told.exit_code == 0, told.exception
    assert "your_plots:\n  [0, 0, 1]\n" in told.stderr, "the view of the second round"
    assert "hobbes: claim: Input should be a valid array" in told.stderr
    assert "hobbes: No closing quotation" in told.stderr
    assert "[99, 99]}: the plot lies outside the grid" in told.stderr


def test_in_a_terminal_a_person_is_asked_for_each_clone(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_result, "in_terminal", lambda: True)
    rules = ("--set", "start=120", "--set", "victory=team", "--set", "miss=0", "--rounds", "2")
    play = ("run", "trust", "--agents", "2", "--model", "human*1,policy:copykitten", *rules)
    told = cli(*play, input="action=replicate\naction=block\naction=block\n")
    assert told.exit_code == 0, told.exception
    assert told.stderr.count("you: unit-a-2") == 1


def test_an_experiment_cannot_ask_people(opened: Store) -> None:
    arm = {"model": "human*1,policy:guided"}
    content = {"name": "p", "world": "mining", "seeds": 2, "compare": {"baseline": "a"}, "arms": {"a": arm}}
    with pytest.raises(UsageError, match="an experiment cannot ask a person; name a model or a policy"):
        plan(opened, Path("p.toml"), parse(content))


def test_what_is_asked_cannot_be_changed_unnoticed(opened: Store) -> None:
    run = begun(opened, "mining", people=2)
    opened.runs.ask(run.id, run.questions[:1])
    assert list(verify(opened, opened.runs.find(run.id))) == [
        Fault(0, "the column runs.question is not what people have to be asked")
    ]
