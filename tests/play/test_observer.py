"""The observer: a person with all the time there is, a model, or a rule; who it is changes no digest."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from hobbes.engine.turn import meanings
from hobbes.engine.world import OBSERVER
from hobbes.errors import HobbesError, UsageError
from hobbes.graphs.trust import graph
from hobbes.nodes.caps import Caps
from hobbes.play.people import checked_answer, open_questions, the_question
from hobbes.play.start import RunOptions, begin
from hobbes.prove.replay import replay_run
from hobbes.prove.verification import verify
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.wire.recorder import environment, in_thread
from hobbes.wire.stand_in import stand_in
from tests import forking
from tests.conftest import Cli
from tests.faults import failing
from tests.graphs.threads import kept
from tests.small_runs import go, played

MODELS = "policy:copykitten*1,policy:beggar*1"
ROUNDS = 6
GRANT = "rulings.unit-b.grant"
REASON = "I grant what is asked."
"""What the scripted observer `always` says."""


def game(observer: str, models: str = MODELS, **values: Any) -> RunOptions:
    return RunOptions("trust", 2, models=models, values={"rounds": ROUNDS, "observer": observer, **values})


def on(store: Store, run: Run, said: str | None = None) -> Run:
    """Go on with a run, in a loop of its own, as a new process would."""
    run = go(store, run, said)
    assert list(verify(store, run)) == []
    return run


def granting_all(run: Run) -> str:
    """Answer as the scripted observer `always` does."""
    rulings = {asked["unit"]: {"grant": asked["amount"], "reason": REASON} for asked in open_questions(run)}
    return json.dumps({"rulings": rulings})


def to_the_end(store: Store, run: Run, answer: Callable[[Run], str]) -> Run:
    run = on(store, run)
    while run.status == "waiting":
        run = on(store, run, answer(run))
    return run


def test_a_run_waits_across_processes_and_goes_on(process: Callable[..., forking.Command], cli: Cli) -> None:
    def told(*arguments: str) -> Any:
        said, errors = process(*arguments).communicate()
        assert said, errors
        return json.loads(said)

    game = ("run", "trust", "--rounds", "2", "--model", MODELS, "--json")
    scripted = json.loads(cli(*game, "--observer", "always").stdout)
    stopped = told(*game, "--observer", "human", "--name", "mine")
    again = json.loads(cli("resume", "mine", "--json").stdout)
    assert again["waiting"] == stopped["waiting"], "a resume asks the same"
    while "waiting" in stopped:
        words = []
        for asked in stopped["waiting"]:
            ruling = f"rulings.{asked['unit']}"
            words += [f"{ruling}.grant={asked['amount']}", f"{ruling}.reason={REASON}"]
        stopped = told("answer", "mine", *words, "--json")
    assert stopped["digest"] == scripted["digest"]
    assert stopped["calls"] > scripted["calls"], "a person's answers are calls, too"


def test_what_is_asked_is_told_and_answered_in_the_terminal(cli: Cli) -> None:
    told = cli("run", "trust", "--rounds", "2", "--model", MODELS, "--observer", "human")
    assert told.exit_code == 0, told.exception
    assert "a person is asked" in told.stdout
    assert "hobbes answer" in told.stdout
    assert "waiting" in cli("runs").stdout
    for _ in range(2):
        answered = cli("answer", "last", input="rulings.unit-b.grant=2 rulings.unit-b.reason='be brave'\n")
        assert "rulings.unit-b.grant" in answered.stderr
    seen = json.loads(cli("trace", "last", "1", "unit-b", "--json").stdout)["view"]["observer"]
    assert (seen["granted"], seen["reason"]) == (2, "be brave")


def test_a_run_that_asks_nothing_waits_for_no_answer(opened: Store) -> None:
    with pytest.raises(UsageError, match="is not waiting for an answer; it is finished"):
        open_questions(played(opened, game("never")))
    with pytest.raises(UsageError, match="give never, always"):
        begin(opened, game("nobody"))


def test_what_is_not_said_of_a_ruling_has_its_default(opened: Store) -> None:
    """Two units beg, and one is granted something."""
    run = on(opened, begin(opened, game("human", "policy:beggar")))
    said = '{"rulings": {"unit-a": {"reason": "no"}, "unit-b": {"grant": 4, "reason": "yes"}}}'
    assert json.loads(checked_answer(run, the_question(run), said))["rulings"] == {
        "unit-a": {"grant": 0, "reason": "no"},
        "unit-b": {"grant": 4, "reason": "yes"},
    }


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("rulings.unit-b.grant=9999",), "rulings.unit-b.grant: Input should be less than or equal to"),
        (("rulings.unit-b.grant=many",), "rulings.unit-b.grant: Input should be a valid integer"),
        (
            ("rulings.unit-b.reason=no", "rulings.unit-z.grant=3"),
            "rulings.unit-z: Extra inputs are not permitted",
        ),
        ((f"rulings.unit-b.reason={'x' * 301}",), "rulings.unit-b.reason: String should have at most"),
        (("rulings.unit-b.reason=no", "gift=1"), "gift: Extra inputs are not permitted"),
        (("rulings.unit-b=3",), "rulings.unit-b: Input should be an object"),
        (("@nowhere.json",), "cannot read nowhere.json: No such file"),
        (("much",), "'much': write key=value"),
    ],
)
def test_a_wrong_command_is_said_in_one_line_and_the_run_waits_on(
    words: tuple[str, ...], wrong: str, opened: Store, cli: Cli
) -> None:
    run = on(opened, begin(opened, game("human")))
    answered = cli("answer", run.id, *words)
    assert (type(answered.exception), answered.stdout) == (UsageError, "")
    assert str(answered.exception).startswith(wrong)
    assert "\n" not in str(answered.exception)
    assert opened.runs.find(run.id).questions == run.questions


def test_the_terminal_asks_again_until_what_is_written_fits(cli: Cli) -> None:
    cli("run", "trust", "--rounds", "1", "--model", MODELS, "--observer", "human")
    answered = cli(
        "answer",
        "last",
        input="".join(f"{GRANT}={text}\n" for text in ("9999", "-1", "many", "3 rulings.unit-b.reason=fine")),
    )
    assert answered.stderr.count(f"hobbes: {GRANT}: Input should be") == 3
    ruling = json.loads(cli("trace", "last", "0", "observer", "--json").stdout)["rulings"]["unit-b"]
    assert (ruling["granted"], ruling["reason"]) == (3, "fine")


def test_an_answer_to_another_question_is_refused(opened: Store) -> None:
    shown = on(opened, begin(opened, game("human")))
    slow = granting_all(shown)
    now = on(opened, shown, granting_all(shown))
    assert now.questions != shown.questions
    with pytest.raises(HobbesError, match=r"somebody else has answered that; `hobbes answer"):
        go(opened, shown, slow)
    assert opened.runs.find(shown.id).turns == now.turns
    to_the_end(opened, now, granting_all)
    with pytest.raises(HobbesError, match="somebody else has answered that; it is finished"):
        go(opened, shown, slow)


def test_an_observer_that_cannot_be_paid_or_asked_is_refused_before_there_is_a_run(opened: Store) -> None:
    with environment(OPENAI_BASE_URL="http://127.0.0.1:9/v1"):
        with pytest.raises(UsageError, match="price of openai:new-model"):
            begin(opened, game("openai:new-model"), Caps(usd=1.0))
        with pytest.raises(UsageError, match="temperature"):
            begin(opened, game("openai:m?temperature=99"))
    assert opened.figures.of_all_runs() == []


def test_a_person_is_no_call_that_a_cap_counts(opened: Store) -> None:
    run = begin(opened, game("human"), Caps(calls=2 * ROUNDS))
    assert to_the_end(opened, run, granting_all).status == "finished"


def test_a_model_observes_with_a_prompt_of_its_own(opened: Store) -> None:
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        run = played(opened, game("openai:policy/half-once"))
        calls = [call for turn in range(ROUNDS) for call in opened.calls.of_turn(run.id, turn, OBSERVER)]
    assert [call.outcome for call in calls] == ["answered"] * len(calls)
    assert calls[0].prompt.system != opened.calls.of_turn(run.id, 0, "unit-a")[0].prompt.system
    assert json.loads(calls[0].prompt.turn)["requests"][0]["unit"] == "unit-b"
    granted = [event["granted"] for event in begs(opened, run)]
    assert granted[0] > 0 == sum(granted[1:])
    replayed = asyncio.run(replay_run(opened, run, reread=False))
    assert replayed.digest == run.digest


def test_trace_shows_what_the_observer_was_asked_and_what_was_refused_of_its_answer(
    opened: Store, cli: Cli
) -> None:
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        run = played(opened, game("openai:policy/all?noise=1.0", taint_share=1.0, rounds=2))
    card = json.loads(cli("trace", run.id, "0", "observer", "--json").stdout)
    assert card["view"]["requests"][0]["unit"] == "unit-b"
    reasons = [meanings(run.world)[found["code"]] for found in (*card["drops"], *card["mends"])]
    assert reasons
    shown = cli("trace", run.id, "0", "observer", "--raw").stdout
    assert "You are the observer" in shown
    words = " ".join(shown.partition("\n\n")[0].split())
    assert all(f"{request['unit']}: {{" in words for request in card["view"]["requests"])
    turn = cli("trace", run.id, "0").stdout
    assert all(reason in turn for reason in reasons)
    never = cli("trace", played(opened, game("never")).id, "0", "observer")
    assert isinstance(never.exception, UsageError)


def begs(store: Store, run: Run) -> Iterator[Mapping[str, Any]]:
    return (e.to_json() for turn in store.turns.of(run) for e in turn.record.events if e.type == "beg")


def test_an_observer_that_failed_has_declined_and_is_counted_as_a_failure(opened: Store) -> None:
    broken = failing({"filter-400": 1.0})
    with in_thread(broken) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        run = played(opened, game("openai:policy/all"))
    result = opened.figures.result(run)
    assert result["outcomes"]["refused"] == len(list(begs(opened, run))) > 0
    assert result["drops"]["observer/no-ruling"] == result["drops"]["read/refused"]
    assert result["tainted"]
    assert all(event["granted"] == 0 for event in begs(opened, run))


def test_langgraph_dev_waits_for_a_person_too() -> None:
    ring = graph.copy(update={"checkpointer": InMemorySaver()})
    context = {"models": MODELS, "config": {"observer": "human", "rounds": 2}}
    thread: Any = {"configurable": {"thread_id": "1"}}
    state = asyncio.run(ring.ainvoke({}, thread, context=context))
    while "__interrupt__" in state:
        asked = state["__interrupt__"][0].value["asked"]["requests"]
        said = {"rulings": {r["unit"]: {"grant": 1, "reason": "here"} for r in asked}}
        state = asyncio.run(ring.ainvoke(Command(resume=said), thread, context=context))
    assert (state["turn"], state["over"]) == (2, True)
    assert sum(unit["granted"] for unit in state["world"]["units"]) > 0


def test_a_clone_is_played_by_its_teams_model_with_a_memory_of_its_own(opened: Store) -> None:
    values: dict[str, Any] = {"rounds": 8, "start": 120, "victory": "team", "miss": 0}
    run = played(opened, RunOptions("trust", 2, models="policy:racer*1,policy:copykitten*1", values=values))
    last = list(opened.turns.of(run))[-1].record
    assert "unit-a-2" in last.intents
    models = {call.address.agent: call.reply.model for call in opened.calls.of_turn(run.id, run.turns - 1)}
    assert models["unit-a-2"] == models["unit-a"] == "policy/racer"
    assert models["unit-b-2"] == models["unit-b"] == "policy/copykitten"
    assert last.memories["unit-a-2"] != last.memories["unit-a"]
    saved = kept(opened.home, run.id)[-1].checkpoint["channel_values"]
    assert saved["models"].items() >= {"unit-a-2": "policy:racer", **run.models}.items()
    replayed = asyncio.run(replay_run(opened, run, reread=False))
    assert replayed.digest == run.digest
