"""The observer: a person with all the time there is, a model, or a rule; who it is changes no digest."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx2
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from engine.world import OBSERVER
from graphs.trust import graph
from lab.errors import LabError, UsageError
from lab.play.answering import as_told, waiting
from lab.play.playing import RunOptions, begin, go_on
from lab.proof.replaying import replay_run
from lab.proof.verifying import faults
from lab.store.database import Run, Store
from lab.store.journal import RunJournal
from lab.wire.recording import environment, in_thread
from lab.wire.serving import stand_in
from nodes.caps import Caps
from tests.conftest import Hobbes
from tests.lab.play import played

MODELS = "policy:copykitten*1,policy:beggar*1"
ROUNDS = 6
REASON = "I grant what is asked."
"""What the scripted observer `always` says."""


def game(observer: str, models: str = MODELS, **values: Any) -> RunOptions:
    return RunOptions("trust", 2, models=models, values={"rounds": ROUNDS, "observer": observer, **values})


def on(store: Store, run: Run, said: str | None = None) -> Run:
    """Go on with a run, in a loop of its own, as a new process would."""
    asyncio.run(go_on(store, store.find(run.id), lambda _: None, said))
    run = store.find(run.id)
    assert list(faults(store, run)) == []
    return run


def granting_all(run: Run) -> str:
    """Answer as the scripted observer `always` does."""
    asked = waiting(run)
    return as_told(asked, [f"{r['unit']}={r['amount']}" for r in asked], REASON)


def to_the_end(store: Store, run: Run, answer: Callable[[Run], str]) -> Run:
    """Answer until the run has ended."""
    run = on(store, run)
    while run.status == "waiting":
        run = on(store, run, answer(run))
    return run


def test_a_person_who_answers_as_a_rule_does_leads_to_the_rules_digest(opened: Store) -> None:
    scripted = played(opened, game("always"))
    person = to_the_end(opened, begin(opened, game("human")), granting_all)
    assert (person.status, person.turns) == ("finished", ROUNDS)
    assert person.digest == scripted.digest
    assert played(opened, game("never")).digest != scripted.digest
    assert list(faults(opened, person)) == []
    replayed = asyncio.run(replay_run(opened, person, reread=False))
    assert (replayed.digest, replayed.divergence) == (person.digest, None)


def test_a_run_waits_across_processes_and_goes_on(hobbes: Hobbes) -> None:
    game = ("run", "trust", "--rounds", "2", "--model", MODELS, "--json")
    scripted = json.loads(hobbes(*game, "--observer", "always").stdout)
    stopped = json.loads(hobbes(*game, "--observer", "human", "--name", "mine").stdout)
    again = json.loads(hobbes("resume", "mine", "--json").stdout)
    assert again["waiting"] == stopped["waiting"], "a resume asks the same"
    while "waiting" in stopped:
        grants = [f"--grant={asked['unit']}={asked['amount']}" for asked in stopped["waiting"]]
        answered = hobbes("answer", "mine", *grants, "--reason", REASON, "--json")
        assert answered.returncode == 0, answered.stderr
        stopped = json.loads(answered.stdout)
    assert stopped["digest"] == scripted["digest"]
    assert stopped["calls"] > scripted["calls"], "a person's answers are calls, too"


def test_no_model_is_called_twice_because_a_run_waits(opened: Store) -> None:
    models = "openai:policy/copykitten*1,openai:policy/beggar*1"
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        run = begin(opened, game("human", models))
        to_the_end(opened, run, granting_all)
        asked = httpx2.get(f"{base.removesuffix('/v1')}/stats").json()["addresses"]
    assert set(asked.values()) == {1}
    assert len(asked) == 2 * ROUNDS


def test_an_answer_that_was_given_is_not_asked_for_again_after_a_crash(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = on(opened, begin(opened, game("human")))
    turn = run.turns

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(RunJournal, "turn", crash)
        with pytest.raises(KeyboardInterrupt):
            on(opened, run, granting_all(run))
    assert opened.find(run.id).turns == turn
    assert on(opened, run).turns > turn


def test_what_is_asked_is_told_and_answered_in_the_terminal(hobbes: Hobbes) -> None:
    told = hobbes("run", "trust", "--rounds", "2", "--model", MODELS, "--observer", "human")
    assert told.returncode == 0, told.stderr
    assert "a person is asked" in told.stdout
    assert "hobbes answer" in told.stdout
    assert "waiting" in hobbes("runs").stdout
    for _ in range(2):
        answered = hobbes("answer", "last", input="2\nbe brave\n")
        assert "unit-b asks for" in answered.stderr
    seen = json.loads(hobbes("trace", "last", "1", "unit-b", "--json").stdout)["view"]["observer"]
    assert (seen["granted"], seen["reason"]) == (2, "be brave")


def test_wrong_answers_are_said_in_one_line(opened: Store) -> None:
    run = on(opened, begin(opened, game("human")))
    for grants in (
        ["unit-b"],
        ["unit-b=many"],
        ["unit-z=3"],
        ["=3"],
        ["unit-b=-1"],
        ["unit-b=1", "unit-b=2"],
    ):
        with pytest.raises(UsageError, match=r"write UNIT=AMOUNT, each once; these ask: unit-b"):
            as_told(waiting(run), grants, "")
    with pytest.raises(UsageError, match="waits for no answer, it is finished"):
        waiting(played(opened, game("never")))
    with pytest.raises(UsageError, match="give never, always"):
        begin(opened, game("nobody"))


def test_an_answer_to_another_question_is_refused(opened: Store) -> None:
    shown = on(opened, begin(opened, game("human")))
    slow = granting_all(shown)
    now = on(opened, shown, granting_all(shown))
    assert now.question != shown.question
    with pytest.raises(LabError, match=r"somebody else has answered that; `hobbes answer"):
        asyncio.run(go_on(opened, shown, lambda _: None, slow))
    assert opened.find(shown.id).turns == now.turns
    to_the_end(opened, now, granting_all)
    with pytest.raises(LabError, match="somebody else has answered that; it is finished"):
        asyncio.run(go_on(opened, shown, lambda _: None, slow))


def test_a_reason_alone_declines_all_and_must_be_text(opened: Store) -> None:
    run = on(opened, begin(opened, game("human", rounds=1)))
    said = json.loads(as_told(waiting(run), [], "nobody gets anything"))
    assert said["rulings"] == {"unit-b": {"grant": 0, "reason": "nobody gets anything"}}
    with pytest.raises(UsageError, match="UTF-8"):
        as_told(waiting(run), [], "a\udcffb")


def test_an_observer_that_cannot_be_paid_or_asked_is_refused_before_there_is_a_run(opened: Store) -> None:
    with environment(OPENAI_BASE_URL="http://127.0.0.1:9/v1"):
        with pytest.raises(UsageError, match="price of openai:new-model"):
            begin(opened, game("openai:new-model"), Caps(usd=1.0))
        with pytest.raises(UsageError, match="temperature"):
            begin(opened, game("openai:m?temperature=99"))
    assert opened.runs() == []


def test_a_person_is_no_call_that_a_cap_counts(opened: Store) -> None:
    run = begin(opened, game("human"), Caps(calls=2 * ROUNDS))
    assert to_the_end(opened, run, granting_all).status == "finished"


def test_more_than_was_asked_is_cut_to_it_with_a_mend(opened: Store) -> None:
    run = on(opened, begin(opened, game("human", rounds=1)))
    (asked,) = waiting(run)
    with pytest.raises(UsageError, match=rf"{asked['unit']} asks for {asked['amount']}"):
        as_told([asked], [f"{asked['unit']}=9999"], "")
    said = {"rulings": {asked["unit"]: {"grant": 9999, "reason": "all I have"}}}
    run = on(opened, run, json.dumps(said))
    assert opened.result(run)["mends"] == {"observer/cut-to-request": 1}


def test_a_model_observes_with_a_prompt_of_its_own(opened: Store) -> None:
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        run = played(opened, game("openai:policy/half-once"))
        calls = [call for turn in range(ROUNDS) for call in opened.calls(run.id, turn, OBSERVER)]
    assert [call.outcome for call in calls] == ["answered"] * len(calls)
    assert calls[0].prompt.system != opened.calls(run.id, 0, "unit-a")[0].prompt.system
    assert json.loads(calls[0].prompt.turn)["requests"][0]["unit"] == "unit-b"
    granted = [event["granted"] for event in begs(opened, run)]
    assert granted[0] > 0 == sum(granted[1:])
    replayed = asyncio.run(replay_run(opened, run, reread=False))
    assert replayed.digest == run.digest


def test_trace_shows_what_the_observer_was_asked_and_what_was_refused_of_its_answer(
    opened: Store, hobbes: Hobbes
) -> None:
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        run = played(opened, game("openai:policy/all?noise=1.0", taint_share=1.0, rounds=2))
    card = json.loads(hobbes("trace", run.id, "0", "observer", "--json").stdout)
    assert card["view"]["requests"][0]["unit"] == "unit-b"
    codes = [found["code"] for found in (*card["drops"], *card["mends"])]
    assert codes
    assert "You are the observer" in hobbes("trace", run.id, "0", "observer").stdout
    turn = hobbes("trace", run.id, "0").stdout
    assert all(code in turn for code in codes)
    assert hobbes("trace", played(opened, game("never")).id, "0", "observer").returncode == 2


def begs(store: Store, run: Run) -> Iterator[Mapping[str, Any]]:
    """Yield the begging events of a run."""
    return (e.to_json() for turn in store.turns(run.id) for e in turn.record.events if e.type == "beg")


def test_an_observer_that_failed_has_declined_and_is_counted_as_a_failure(opened: Store) -> None:
    broken = stand_in(faults={"error-400": 1.0})
    with in_thread(broken) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        run = played(opened, game("openai:policy/all"))
    result = opened.result(run)
    assert result["outcomes"]["provider-error"] == len(list(begs(opened, run))) > 0
    assert result["drops"]["observer/no-ruling"] == result["drops"]["read/provider-error"]
    assert result["tainted"]
    assert all(event["granted"] == 0 for event in begs(opened, run))


def test_langgraph_dev_waits_for_a_person_too() -> None:
    ring = graph.copy(update={"checkpointer": InMemorySaver()})
    context = {"models": MODELS, "config": {"observer": "human", "rounds": 2}}
    thread: Any = {"configurable": {"thread_id": "1"}}
    state = asyncio.run(ring.ainvoke({}, thread, context=context))
    while "__interrupt__" in state:
        asked = json.loads(state["__interrupt__"][0].value["asked"])["requests"]
        said = {"rulings": {r["unit"]: {"grant": 1, "reason": "here"} for r in asked}}
        state = asyncio.run(ring.ainvoke(Command(resume=said), thread, context=context))
    assert (state["turn"], state["over"]) == (2, True)
    assert sum(unit["granted"] for unit in state["world"]["units"]) > 0


def test_a_clone_is_played_by_its_teams_model_with_a_memory_of_its_own(opened: Store) -> None:
    values: dict[str, Any] = {"rounds": 8, "start": 120, "victory": "team", "miss": 0}
    run = played(opened, RunOptions("trust", 2, models="policy:racer*1,policy:copykitten*1", values=values))
    last = list(opened.turns(run.id))[-1].record
    assert "unit-a-2" in last.intents
    models = {call.address.agent: call.reply.model for call in opened.calls(run.id, run.turns - 1)}
    assert models["unit-a-2"] == models["unit-a"] == "policy/racer"
    assert models["unit-b-2"] == models["unit-b"] == "policy/copykitten"
    assert last.memories["unit-a-2"] != last.memories["unit-a"]
    replayed = asyncio.run(replay_run(opened, run, reread=False))
    assert replayed.digest == run.digest
