"""The graph of a turn: its state, its checkpoints, and the graphs for `langgraph dev`."""

import asyncio
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hobbes.engine.record import Json
from hobbes.engine.worlds import WORLDS
from hobbes.graphs import mining as mining_graph
from hobbes.graphs import nations as nations_graph
from hobbes.graphs.run import checkpoints
from hobbes.graphs.turn import Node, build, declared
from hobbes.lab.play.playing import RunOptions, begin
from hobbes.lab.store.database import Store
from hobbes.nodes.prompting import approximate_tokens
from hobbes.nodes.state import CHANNELS, PASSING, TurnState, Update
from tests.lab.play import go, mining


def checkpoint_sizes(home: Path) -> list[int]:
    """Return the size of each checkpoint in bytes, in order."""
    with sqlite3.connect(home / "checkpoints.db") as connection:
        sql = "select length(checkpoint) + length(metadata) from checkpoints order by rowid"
        sizes = [size for (size,) in connection.execute(sql)]
        assert connection.execute("select count(*) from writes").fetchone() == (0,)
    return sizes


def test_there_is_one_checkpoint_per_turn_and_it_does_not_grow(opened: Store, home: Path) -> None:
    values: dict[str, Json] = {"rounds": 502, "rows": 4, "cols": 4}
    go(opened, begin(opened, RunOptions("mining", 2, values=values)))
    sizes = checkpoint_sizes(home)
    assert len(sizes) == 502
    early, late = sum(sizes[48:53]) / 5, sum(sizes[497:502]) / 5
    assert abs(late - early) <= 0.05 * early, f"{early} bytes at turn 50, {late} at turn 500"


def test_a_checkpoint_holds_the_plain_state_between_two_turns(opened: Store, home: Path) -> None:
    run = mining(opened, models="policy:random")

    with checkpoints(home / "checkpoints.db") as saver:
        saved = saver.get({"configurable": {"thread_id": run.id}})
    assert saved is not None
    values = saved["channel_values"]
    state = {name: values[name] for name in CHANNELS}
    assert {name: state[name] for name in PASSING} == PASSING
    assert json.loads(json.dumps(state)) == state
    assert (state["turn"], state["digest"], state["over"]) == (4, run.digest, True)
    assert all("answers" not in name and "views" not in name for name in values.keys() - CHANNELS)


def test_langgraph_goes_on_from_each_checkpoint_to_the_same_end(opened: Store, home: Path) -> None:
    run = mining(opened, models="policy:random")

    with checkpoints(home / "checkpoints.db") as saver:
        kept = [one.config for one in saver.list({"configurable": {"thread_id": run.id}})]
        ring = mining_graph.graph.copy(update={"checkpointer": saver})
        ends = [asyncio.run(ring.ainvoke(None, config)) for config in kept]
    assert [(end["turn"], end["digest"], end["over"]) for end in ends] == [(4, run.digest, True)] * 4


def test_a_prompt_does_not_grow_with_the_turn(opened: Store) -> None:
    run = mining(opened, agents=4, values={"rounds": 201, "rows": 6, "cols": 6})

    def mean(turn: int) -> float:
        tokens = [approximate_tokens(call.prompt.turn) for call in opened.calls(run.id, turn)]
        return sum(tokens) / len(tokens)

    assert abs(mean(200) - mean(20)) <= 0.1 * mean(20)


def test_a_channel_that_the_state_does_not_declare_is_refused() -> None:
    async def node(state: TurnState) -> dict[str, Any]:
        return {"turn": state["turn"], "shadow": 1}

    with pytest.raises(KeyError, match="shadow"):
        asyncio.run(declared("node", node)(TurnState(turn=0)))


def test_a_turn_without_requests_goes_on_without_the_observer() -> None:
    visited: list[str] = []

    def node(name: str, update: Callable[[TurnState], Update]) -> Node:
        async def visit(state: TurnState) -> Update:
            visited.append(name)
            return update(state)

        return visit

    asked = node("validate", lambda state: {"question": {"requests": []} if state["turn"] == 1 else None})
    ended = node("log", lambda state: {"turn": state["turn"] + 1, "over": state["turn"] == 1})
    nodes = {
        "observe": node("observe", lambda _: {"views": {}}),
        "validate": asked,
        "observer": node("observer", lambda _: {"judged": {}}),
        "resolve": node("resolve", lambda _: {"resolved": {}}),
        "log": ended,
    }
    asyncio.run(build(nodes).compile().ainvoke({"turn": 0}))
    assert visited == [name for name in nodes if name != "observer"] + [*nodes]


GRAPHS = {"mining": mining_graph.graph, "nations": nations_graph.graph}


@pytest.mark.parametrize("world", GRAPHS)
def test_langgraph_dev_plays_an_empty_input_to_its_end(world: str) -> None:
    ended = asyncio.run(GRAPHS[world].ainvoke({}))
    agents = WORLDS[world].default_agents
    assert (ended["turn"], ended["over"], len(ended["run"]["agents"])) == (3, True, agents)
    assert {name: ended[name] for name in PASSING} == PASSING
    assert json.loads(json.dumps(ended)) == ended


def test_langgraph_dev_plays_what_its_context_asks_for() -> None:
    context = {"agents": 2, "seed": 7, "models": "policy:random", "config": {"rounds": 5, "stamina": 3}}
    ended = asyncio.run(mining_graph.graph.ainvoke({}, context=context))
    assert (ended["turn"], ended["run"]["seed"], ended["run"]["config"]["stamina"]) == (5, 7, 3)
    assert set(ended["models"].values()) == {"policy:random"}


def test_langgraph_json_names_every_graph() -> None:
    root = Path(__file__).parents[2]
    named = json.loads((root / "langgraph.json").read_text())["graphs"]
    assert named == {world: f"./graphs/{world}.py:graph" for world in WORLDS}
    assert all((root / path.split(":")[0]).is_file() for path in named.values())
