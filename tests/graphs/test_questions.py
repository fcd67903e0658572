"""People are asked by LangGraph's interrupt: each has a task and a question of their own."""

import asyncio
from typing import Any, Literal

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Interrupt

from hobbes.graphs.mining import graph
from tests.play.test_second_question import answering

CONTEXT: Any = {"models": "human*2,openai:m*2", "agents": 4, "config": {"rounds": 1}}

THREAD: Any = {"configurable": {"thread_id": "1"}}


def by_agent(questions: list[Interrupt]) -> dict[str, Interrupt]:
    """The questions that are open, by the agent for whom a person answers."""
    return {one.value["address"].split("/")[1]: one for one in questions}


@pytest.mark.parametrize("durability", ["exit", "sync"])
def test_people_answer_in_any_order_and_no_model_is_asked_twice(durability: Literal["exit", "sync"]) -> None:
    async def playing() -> dict[str, Any]:
        ring: Any = graph.copy(update={"checkpointer": InMemorySaver()})
        state = await ring.ainvoke({}, THREAD, context=CONTEXT, durability=durability)
        for agent, others in (("miner-02", ["miner-01"]), ("miner-01", [])):
            question = by_agent(state["__interrupt__"])[agent]
            said = {question.id: {"claim": [[0, int(agent[-1])]]}}
            state = await ring.ainvoke(Command(resume=said), THREAD, context=CONTEXT, durability=durability)
            assert [*by_agent(state.get("__interrupt__", []))] == others
        return dict(state)

    with answering(lambda _: '{"claim": [[5, 5]]}') as asked:
        state = asyncio.run(playing())
    assert sorted(address.split("/")[1] for address in asked) == ["miner-03", "miner-04"]
    assert (state["over"], state["world"]["owners"][0][1:3]) == (True, ["miner-01", "miner-02"])


def test_a_question_is_the_view_as_data_with_the_schema_of_an_answer() -> None:
    ring: Any = graph.copy(update={"checkpointer": InMemorySaver()})
    context: Any = {"models": "human", "agents": 1}
    state = asyncio.run(ring.ainvoke({}, THREAD, context=context))
    (question,) = state["__interrupt__"]
    assert question.value["asked"]["you"] == "miner-01"
    assert {"claim", "raid", "notes"} <= question.response_schema["properties"].keys()
