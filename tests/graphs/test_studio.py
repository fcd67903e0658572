"""The graphs of `langgraph dev`, as its users and its API see them."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.types import Command
from pydantic import ValidationError

from hobbes.engine.answer import FoundAs, Outcome
from hobbes.graphs.mining import graph
from hobbes.graphs.trust import graph as trust_graph
from hobbes.nodes.journal import KEPT, TURN_QUESTION, Address, Call, MemoryJournal, Prompt, Reply
from hobbes.nodes.prompt_set import ROOT
from tests.play.test_second_question import answering

ROUNDS = 3


def thread(name: str = "1") -> Any:
    return {"configurable": {"thread_id": name}}


@pytest.fixture
def saved() -> Any:
    return graph.copy(update={"checkpointer": InMemorySaver()})


def play(played: Any, given: Any, **options: Any) -> Any:
    return asyncio.run(played.ainvoke(given, options.pop("config", thread()), **options))


def values(played: Any) -> dict[str, Any]:
    return dict(asyncio.run(played.aget_state(thread())).values)


def test_an_empty_input_on_a_finished_thread_plays_nothing(saved: Any) -> None:
    ended = play(saved, {})
    assert (ended["turn"], ended["over"]) == (ROUNDS, True)
    play(saved, {})
    assert values(saved) == ended


def test_the_form_of_the_input_is_empty_and_that_of_the_context_has_descriptions_and_defaults(
    saved: Any,
) -> None:
    assert saved.get_input_jsonschema().get("properties", {}) == {}
    schema = saved.get_context_jsonschema()
    assert schema["additionalProperties"] is False
    assert all("default" in field and field["description"] for field in schema["properties"].values())


@pytest.mark.parametrize("context", [{"agent": 3}, {"agents": 0}, {"agents": 10**9}])
def test_a_context_with_an_unknown_option_or_an_impossible_number_is_refused(
    saved: Any, context: dict[str, int]
) -> None:
    with pytest.raises(ValidationError, match="agent"):
        play(saved, {}, context=context)


def test_a_thread_goes_on_without_its_context_and_refuses_another(saved: Any) -> None:
    context = {"seed": 7, "models": "policy:random", "config": {"rounds": 2}}
    play(saved, {}, context=context, interrupt_before=["validate"])
    with pytest.raises(ValueError, match="begun with another context; begin a new thread"):
        play(saved, {}, context={**context, "seed": 8})
    ended = play(saved, {})
    assert (ended["run"]["seed"], ended["over"]) == (7, True)
    assert ended["digest"] == play(saved, {}, context=context, config=thread("2"))["digest"]


@pytest.mark.parametrize("node", ["validate", "log", None], ids=str)
def test_another_context_is_refused_wherever_a_thread_stands(saved: Any, node: str | None) -> None:
    """In its last round, after its last answers, and at its end."""
    context = {"seed": 7, "config": {"rounds": 1}}
    play(saved, {}, context=context, interrupt_before=[node] if node else None)
    before = values(saved)
    given: Any = None if node else {}
    with pytest.raises(ValueError, match="begun with another context; begin a new thread") as refused:
        play(saved, given, context={**context, "seed": 8})
    assert "\n" not in str(refused.value)
    assert values(saved) == before
    play(saved, given, context=context)
    assert values(saved)["over"]


def test_a_thread_keeps_its_prompts_and_refuses_texts_that_have_changed(saved: Any, tmp_path: Path) -> None:
    mine = Path(shutil.copytree(ROOT / "mining" / "guided", tmp_path / "mining" / "mine"))
    for shared in (ROOT / "mining").glob("*.*"):
        shutil.copy(shared, mine.parent)
    play(saved, {}, context={"prompts": str(mine), "lang": "zh"}, interrupt_before=["agent_reason"])
    then = values(saved)["prompts"]
    assert (then["variant"], then["lang"]) == (str(mine), "zh")
    system = mine / "system.zh.md"
    system.write_text(system.read_text(encoding="utf-8") + "\nMore.\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match="have changed since this thread began; begin a new thread"
    ) as refused:
        play(saved, None)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("durability", ["exit", "async"])
def test_a_python_player_is_refused_before_its_code_is_loaded_and_the_thread_begins_with_another(
    saved: Any, tmp_path: Path, durability: str
) -> None:
    bot = tmp_path / "bot.py"
    bot.write_text(f"open({str(tmp_path / 'called')!r}, 'w')\ndef act(view, rng): return '{{}}'\n")
    with pytest.raises(ValueError, match="python: players run code of their own"):
        play(saved, {}, context={"models": f"python:{bot}:act"}, durability=durability)
    assert "run" not in values(saved)
    play(saved, {}, context={"models": "policy:random"}, durability=durability, interrupt_before=["log"])
    asyncio.run(saved.aupdate_state(thread(), {"models": {"miner-01": f"python:{bot}:act"}}))
    with pytest.raises(ValueError, match="python: players run code of their own"):
        play(saved, None, durability=durability)
    assert not (tmp_path / "called").exists()


def test_two_threads_have_calls_of_their_own(saved: Any) -> None:
    context = {"models": "openai:m", "agents": 2, "config": {"rounds": 1}}
    with answering(lambda _: "{}") as asked:
        for name in ("1", "2"):
            play(saved, {}, context=context, config=thread(name))
    assert sorted(asked) == ["0/miner-01/1", "0/miner-01/1", "0/miner-02/1", "0/miner-02/1"]


@pytest.mark.parametrize("durability", ["exit", "async", "sync"])
def test_a_model_that_has_answered_is_not_asked_again_where_a_turn_was_broken_off(
    saved: Any, durability: str
) -> None:
    """One of two models fails, and the run halts. Only the failed call is made again, and then succeeds."""
    context = {"models": "openai:m", "agents": 2, "config": {"rounds": 1, "on_failure": "halt"}}
    texts = {"0/miner-01/1": "{}", "0/miner-02/1": "no JSON"}
    with answering(lambda address: texts[address]) as asked:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="turn 0, miner-02"):
                play(saved, None if asked else {}, context=None if asked else context, durability=durability)
        texts["0/miner-02/1"] = "{}"
        assert play(saved, None, durability=durability)["over"]
    assert sorted(asked) == ["0/miner-01/1", *["0/miner-02/1"] * 3]


@pytest.mark.parametrize("by_command", [True, False])
def test_an_agent_with_another_player_is_asked_again_where_a_turn_was_broken_off(
    saved: Any,
    by_command: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    context = {"models": "openai:m", "agents": 2, "config": {"rounds": 1, "on_failure": "halt"}}
    texts = {"0/miner-01/1": "{}", "0/miner-02/1": "no JSON"}
    edit = {"models": {"miner-01": "openai:other"}}
    with answering(lambda address: texts.get(address, "{}")) as asked:
        with pytest.raises(RuntimeError, match="turn 0, miner-02"):
            play(saved, {}, context=context)
        texts.clear()
        asked.clear()
        if not by_command:
            asyncio.run(saved.aupdate_state(thread(), edit))
        assert play(saved, Command(update=edit) if by_command else None)["over"]
    assert sorted(address.rpartition("/")[0] for address in asked) == ["0/miner-01", "0/miner-02"]


def test_a_thread_takes_no_answer_from_one_of_the_same_id_in_another_saver() -> None:
    """Both ask the same, and the first is broken off."""
    context = {"models": "openai:m", "agents": 2, "config": {"rounds": 1, "on_failure": "halt"}}
    with answering(lambda _: "no JSON") as asked:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="turn 0, miner-01"):
                play(graph.copy(update={"checkpointer": InMemorySaver()}), {}, context=context)
    assert sorted(asked) == ["0/miner-01/1"] * 2 + ["0/miner-02/1"] * 2


def test_the_answers_of_abandoned_turns_are_forgotten_in_time() -> None:
    place = ["0"]
    journal = MemoryJournal(lambda: place[0])
    prompt = Prompt("", "{}")
    call = Call(Address(0, "A"), prompt, Reply("{}", "m"), Outcome.ANSWERED, FoundAs.JSON)

    async def abandoning() -> list[bool]:
        known = []
        for number in range(KEPT + 1):
            place[0] = str(number)
            await journal.keep(call)
        for number in range(KEPT + 1):
            place[0] = str(number)
            known.append(journal.answered(0, "A", TURN_QUESTION, prompt, "m") is not None)
        return known

    assert asyncio.run(abandoning()) == [False] + [True] * KEPT


def test_each_answer_is_told_as_it_arrives() -> None:
    async def told() -> list[Any]:
        context: Any = {"models": "policy:random", "agents": 2, "config": {"rounds": 1}}
        return [part async for part in graph.astream({}, context=context, stream_mode="custom")]

    found = asyncio.run(told())
    assert [one["address"] for one in found] == ["0/miner-01/1", "0/miner-02/1"]
    assert all(one["outcome"] == "answered" and json.loads(one["answer"]) for one in found)


@pytest.mark.parametrize(
    ("world", "context", "limit"),
    [
        ("mining", {"agents": 1, "config": {"rounds": 20}}, 20 * 5 + 1),
        ("trust", {"models": "policy:beggar", "config": {"rounds": 20, "observer": "always"}}, 20 * 6 + 1),
    ],
)
def test_a_game_needs_one_step_for_each_node_of_each_round_and_one_for_their_end(
    world: str, context: Any, limit: int
) -> None:
    """In trust somebody begs in every round, so the observer rules in every round."""
    played: Any = {"mining": graph, "trust": trust_graph}[world]
    assert play(played, {}, context=context, config={"recursion_limit": limit})["turn"] == 20
    with pytest.raises(GraphRecursionError):
        play(played, {}, context=context, config={"recursion_limit": limit - 1})
