"""The channels of the graph: plain JSON, merged agent by agent where a person or several nodes write them."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Overwrite

from hobbes.graphs import mining as mining_graph
from hobbes.graphs import nations as nations_graph
from hobbes.graphs import trust as trust_graph
from hobbes.nodes.turn_state import PASSING
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from tests.graphs.threads import kept, with_graph
from tests.small_runs import go, mining

GRAPHS = {"mining": mining_graph.graph, "nations": nations_graph.graph, "trust": trust_graph.graph}

PLAIN = (dict, list, str, int, float, bool, type(None))


def kinds(value: Any) -> Iterator[type]:
    """The type of a value, and of everything in it."""
    yield type(value)
    for inside in value.items() if isinstance(value, dict) else value if isinstance(value, list) else ():
        for one in inside if isinstance(inside, tuple) else (inside,):
            yield from kinds(one)


def states(world: str, **context: Any) -> list[dict[str, Any]]:
    async def playing() -> list[dict[str, Any]]:
        streamed = GRAPHS[world].astream({}, context=context, stream_mode="values")
        return [dict(state) async for state in streamed]

    return asyncio.run(playing())


def states_in(home: Path, run: Run) -> list[dict[str, Any]]:
    """The channels of each checkpoint of a run, the oldest first."""
    return [one.checkpoint["channel_values"] for one in kept(home, run.id)]


@pytest.mark.parametrize("world", GRAPHS)
def test_after_each_node_every_channel_is_plain_json(world: str) -> None:
    models = {
        "mining": "policy:random?noise=0.5",
        "nations": "policy:random?noise=0.5",
        "trust": "policy:beggar",
    }
    seen = {kind for state in states(world, models=models[world]) for kind in kinds(state)}
    assert seen <= {*PLAIN}


def test_a_unit_that_has_died_leaves_no_answer_in_the_checkpoints_of_its_run(
    opened: Store, home: Path
) -> None:
    """Neither between two turns, nor within those that are played on from a checkpoint."""
    values: Any = {"rounds": 6, "start": 1}
    run = go(opened, begin(opened, RunOptions("trust", 4, 2, models="policy:random", values=values)))

    async def played_on(graph: Any, config: Any) -> None:
        first = [one async for one in graph.aget_state_history(config)][-1]
        await graph.ainvoke(None, first.config)

    with_graph(home, run.id, played_on)
    states = states_in(home, run)
    answering = [(state["turn"], {*state["answers"]}) for state in states if state["answers"]]
    assert {turn: len(agents) for turn, agents in answering} == {0: 4, 1: 2, 2: 2, 3: 1, 4: 1, 5: 1}
    assert all({*state["answers"]} <= {*state["views"]} for state in states)
    between = [state for state in states if not state["views"]]
    assert {state["turn"] for state in between} == {*range(7)}
    assert all((state["answers"], state["calls"]) == ({}, {}) for state in between)


def test_a_change_of_one_field_of_one_memory_and_of_one_player_leaves_the_others(
    opened: Store, home: Path
) -> None:
    run = mining(opened)

    async def edited(graph: Any, config: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        before = await graph.aget_state(config)
        memories, models = {"miner-01": {"notes": "Raid nobody."}}, {"miner-02": "policy:random"}
        await graph.aupdate_state(config, {"memories": memories, "models": models})
        return before.values, (await graph.aget_state(config)).values

    before, after = with_graph(home, run.id, edited)
    changed = {**before["memories"]["miner-01"], "notes": "Raid nobody."}
    assert after["memories"] == {**before["memories"], "miner-01": changed}
    assert after["models"] == {**before["models"], "miner-02": "policy:random"}


@pytest.mark.parametrize(
    ("update", "told"),
    [
        (
            {"memories": {"miner-1": {"notes": ""}}},
            "memories: there is no agent miner-1; the agents are miner-01, ",
        ),
        ({"memories": {"miner-01": {"note": ""}}}, "memories: miner-01.note: Extra .*; a memory has notes, "),
        (
            {"memories": {"miner-01": {"notes": 1}}},
            "memories: miner-01.notes: Input should be a valid string",
        ),
        (
            {"memories": {"miner-01": {"keeps_word_report": {"miner-02": "no"}}}},
            "memories: miner-01.keeps_word",
        ),
        ({"memories": {"miner-01": "Raid nobody."}}, "memories: miner-01: Input should be a valid dict"),
        (
            {"models": {"miner-1": "policy:random"}},
            "models: there is no agent miner-1; the agents are miner-01, ",
        ),
        ({"models": 3}, "models: a dict of agents is due, not 3"),
        ({"models": {"miner-01": 3}}, "models: miner-01: a text is due, not 3"),
        ({"models": {"miner-01": None}}, "models: miner-01: a text is due, not None"),
        ({"answers": "x"}, "answers: a dict of agents is due, not 'x'"),
        ({"answers": {"miner-01": 3}}, "answers: miner-01: a dict is due, not 3"),
        ({"calls": {"miner-01": 3}}, "calls: miner-01: a dict is due, not 3"),
    ],
)
def test_a_change_that_no_agent_could_have_is_refused_in_one_line(
    update: Any, told: str, opened: Store, home: Path
) -> None:
    run = mining(opened)

    async def edited(graph: Any, config: Any) -> tuple[Any, Any]:
        before = await graph.aget_state(config)
        with pytest.raises(ValueError, match=rf"^{told}[^\n]*$"):
            await graph.aupdate_state(config, update)
        return before, await graph.aget_state(config)

    before, after = with_graph(home, run.id, edited)
    assert before == after


@pytest.mark.parametrize(
    ("node", "update", "told"),
    [
        ("observe", {"memories": Overwrite({"miner-01": {"note": ""}})}, "memories: miner-01.note: Extra"),
        (
            "validate",
            {"answers": {"miner-1": {}}},
            "answers: there is no agent miner-1; the agents are miner-01,",
        ),
        (
            "validate",
            {"calls": {"miner-1": {}}},
            "calls: there is no agent miner-1; the agents are miner-01,",
        ),
    ],
)
def test_a_change_that_no_agent_could_have_is_refused_in_one_line_where_it_is_played(
    node: str, update: Any, told: str, opened: Store, home: Path
) -> None:
    run = mining(opened)

    async def played(graph: Any, config: Any) -> None:
        first = [one async for one in graph.aget_state_history(config)][-1]
        await graph.ainvoke(None, first.config, interrupt_before=[node])
        await graph.aupdate_state(config, update)
        await graph.ainvoke(None, config)

    with pytest.raises(ValueError, match=told) as refused:
        with_graph(home, run.id, played)
    assert "\n" not in str(refused.value)


def test_between_two_turns_nothing_of_a_turn_is_left_also_where_one_was_begun_again(
    opened: Store, home: Path
) -> None:
    values: Any = {"rounds": 3, "rows": 2, "cols": 2}
    run = begin(opened, RunOptions("mining", 2, models="human*1,policy:random*1", values=values))
    run = go(opened, run)
    while run.questions:
        run = go(opened, run, "{}")
    states = states_in(home, run)
    between = [values for values in states if not values.get("views")]
    assert {values["turn"] for values in between} == {0, 1, 2, 3}
    empty = dict(PASSING)
    assert all({name: values.get(name, empty[name]) for name in empty} == empty for values in between)
    assert len(states) - len(between) == 3, "each turn waits once"
