"""The graph of a turn: its state, its checkpoints, and the graphs for `langgraph dev`."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from hobbes.engine.world import OBSERVER
from hobbes.graphs import nations as nations_graph
from hobbes.graphs import trust as trust_graph
from hobbes.nodes.prompting import approximate_tokens
from hobbes.store.home import Store
from hobbes.wire.recorder import environment, in_thread
from hobbes.wire.stand_in import stand_in
from hobbes.worlds import WORLDS
from tests.small_runs import mining


def test_neither_a_checkpoint_nor_a_prompt_grows_with_the_turn(opened: Store, home: Path) -> None:
    run = mining(opened, agents=4, values={"rounds": 82, "rows": 6, "cols": 6})
    with sqlite3.connect(home / "checkpoints.db") as connection:
        sql = "select length(checkpoint) + length(metadata) from checkpoints order by rowid"
        sizes = [size for (size,) in connection.execute(sql)]
        assert connection.execute("select count(*) from writes").fetchone() == (0,)
    assert len(sizes) == 83
    early, late = sum(sizes[18:23]) / 5, sum(sizes[77:82]) / 5
    assert abs(late - early) <= 0.05 * early, f"{early} bytes at turn 20, {late} at turn 79"

    def mean(turn: int) -> float:
        tokens = [approximate_tokens(call.prompt.turn) for call in opened.calls.of_turn(run.id, turn)]
        return sum(tokens) / len(tokens)

    assert abs(mean(80) - mean(20)) <= 0.1 * mean(20)


@pytest.mark.parametrize(("models", "is_asked"), [("policy:beggar", True), ("policy:copycat", False)])
def test_a_turn_without_requests_goes_on_without_the_observer(models: str, *, is_asked: bool) -> None:
    async def visited() -> set[str]:
        context = {"agents": 2, "models": models, "config": {"rounds": 1}}
        updates = trust_graph.graph.astream({}, context=context, stream_mode="updates")
        return {name async for update in updates for name in update}

    assert (OBSERVER in asyncio.run(visited())) is is_asked


def test_langgraph_dev_plays_the_prompts_and_the_observer_that_its_context_asks_for() -> None:
    """Its state shows the prompt that was sent and the raw answer of each agent."""
    context = {"models": "openai:policy/pacifist-trader*1,policy:random*3", "prompts": "plain", "lang": "zh"}
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        values = asyncio.run(until_validate(nations_graph.graph, context))
    sent = {agent: call["system"] for agent, call in values["calls"].items()}
    assert "你" in sent.pop("AgentA")
    assert set(sent.values()) == {""}
    assert all(json.loads(call["answer"]) for call in values["calls"].values())
    observed = {"config": {"start": 3, "observer": "human"}}
    assert asyncio.run(until_validate(trust_graph.graph, observed))["run"]["config"]["observer"] == "human"


async def until_validate(graph: Any, context: dict[str, Any]) -> dict[str, Any]:
    """Return the state before the first answers are validated."""
    played = graph.copy(update={"checkpointer": InMemorySaver()})
    config = {"configurable": {"thread_id": "1"}}
    return dict(await played.ainvoke({}, config, context=context, interrupt_before=["validate"]))


def test_langgraph_json_names_every_graph_and_the_file_of_the_environment() -> None:
    root = Path(__file__).parents[2]
    written = json.loads((root / "langgraph.json").read_text())
    assert written["env"] == ".env"
    named = written["graphs"]
    assert named == {world: f"./graphs/{world}.py:graph" for world in WORLDS}
    assert all((root / path.split(":")[0]).is_file() for path in named.values())
