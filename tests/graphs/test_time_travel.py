"""`hobbes.graph`: LangGraph's own ways with the checkpoints of a recorded run."""

import asyncio
import io
import json
import re
from collections.abc import Awaitable, Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

import hobbes
from hobbes.graphs.studio import StudioContext
from hobbes.nodes.caps import NO_CAPS
from hobbes.play.fork import ForkOptions, fork
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from tests.small_runs import go, mining


def traveled(home: Path, run: Run, travel: Callable[[Any, Any], Awaitable[Any]]) -> Any:
    """Return what `travel` returns for the graph of a run and its config."""

    async def traveling() -> Any:
        async with hobbes.graph(run.id, home) as (graph, config):
            return await travel(graph, config)

    return asyncio.run(traveling())


def turns_in(home: Path, run: Run) -> list[int | None]:
    """Return the turn of each checkpoint of a run as LangGraph's own saver lists them, the oldest first."""
    with SqliteSaver.from_conn_string(str(home / "checkpoints.db")) as saver:
        kept = [*saver.list({"configurable": {"thread_id": run.id}})]
    return [one.checkpoint["channel_values"].get("turn") for one in reversed(kept)]


WORLDS = {
    "mining": RunOptions("mining", 3, models="policy:random", values={"rounds": 4, "rows": 4, "cols": 4}),
    "nations": RunOptions("nations", 3, values={"rounds": 4}),
    "trust": RunOptions("trust", 2, values={"rounds": 4}),
}


@pytest.mark.parametrize("world", WORLDS)
def test_playing_on_from_any_checkpoint_leads_to_the_same_digest(
    world: str, opened: Store, home: Path
) -> None:
    run = go(opened, begin(opened, WORLDS[world]))

    async def everywhere(graph: Any, config: Any) -> list[str]:
        history = [one async for one in graph.aget_state_history(config)]
        assert [one.values.get("turn") for one in history[:5]] == [4, 3, 2, 1, 0]
        ends = []
        for past in history[1:5]:
            states = [state async for state in graph.astream(None, past.config, stream_mode="values")]
            ends.append(states[-1]["digest"])
        return ends

    assert traveled(home, run, everywhere) == [run.digest] * 4
    assert opened.runs.find(run.id) == run


def test_a_state_may_be_changed_between_two_turns_and_before_each_node(opened: Store, home: Path) -> None:
    run = mining(opened)

    async def edited(graph: Any, config: Any) -> list[tuple[str, str]]:
        history = [one async for one in graph.aget_state_history(config)]
        (past,) = (one for one in history if one.values.get("turn") == 2)
        told = {**past.values["memories"]}
        told["miner-01"] = {**told["miner-01"], "notes": "Claim the corner."}
        here = await graph.aupdate_state(past.config, {"memories": told})
        found = []
        for node in ("agent_reason", "validate", "resolve", "log"):
            state = await graph.ainvoke(None, here, interrupt_before=[node])
            assert "Claim the corner." in str(state["views"]["miner-01"])
            last = await graph.aget_state(config)
            assert last.next == (node,)
            here = await graph.aupdate_state(config, {"digest": f"before {node}"})
            found.append((node, (await graph.aget_state(config)).values["digest"]))
        return found

    assert traveled(home, run, edited) == [
        (node, f"before {node}") for node in ("agent_reason", "validate", "resolve", "log")
    ]


def test_recorded_answers_serve_where_the_prompt_is_the_same(opened: Store, home: Path) -> None:
    """A person played, whom nothing asks again."""
    waiting = begin(
        opened, RunOptions("mining", 1, models="human", values={"rounds": 2, "rows": 2, "cols": 2})
    )
    run = waiting
    for words in ('{"claim": [[0, 0]]}', '{"mine": [{"cell": [0, 0], "s": 2}]}'):
        run = go(opened, go(opened, run), words)
    assert run.status == "finished"

    async def again(graph: Any, config: Any) -> str:
        first = [one async for one in graph.aget_state_history(config) if one.next == ("observe",)][-1]
        return str((await graph.ainvoke(None, first.config))["digest"])

    assert traveled(home, run, again) == run.digest


def test_each_of_two_people_gives_an_answer_of_their_own(opened: Store, home: Path) -> None:
    run = begin(opened, RunOptions("mining", 2, models="human", values={"rounds": 1, "rows": 2, "cols": 2}))
    go(opened, run)
    claims = {"miner-01": '{"claim": [[0, 0]]}', "miner-02": '{"claim": [[1, 1]]}'}

    async def answered(graph: Any, config: Any) -> Any:
        state = await graph.ainvoke(None, config)
        asked = {one.id: one.value["address"].split("/")[1] for one in state["__interrupt__"]}
        assert len(asked) == len(claims)
        said = {question: claims[agent] for question, agent in asked.items()}
        state = await graph.ainvoke(Command(resume=said), config)
        return state["world"]["owners"]

    assert traveled(home, run, answered) == [["miner-01", None], [None, "miner-02"]]


def test_a_person_who_observes_is_asked_in_the_graph_of_a_run(opened: Store, home: Path) -> None:
    values: Any = {"rounds": 1, "observer": "human", "miss": 0}
    run = begin(opened, RunOptions("trust", 2, models="policy:beggar", values=values))
    assert go(opened, run).status == "waiting"

    async def ruled(graph: Any, config: Any) -> Any:
        first = [one async for one in graph.aget_state_history(config)][-1]
        (question,) = (await graph.ainvoke(None, first.config))["__interrupt__"]
        assert question.value["address"] == "0/observer/1"
        assert question.response_schema["properties"].keys() == {"rulings"}
        asked = question.value["asked"]["requests"]
        rulings = {one["unit"]: {"grant": 1, "reason": "here"} for one in asked}
        state = await graph.ainvoke(Command(resume={question.id: {"rulings": rulings}}), config)
        assert len(rulings) == len(state["world"]["units"])
        return [unit["granted"] for unit in state["world"]["units"]]

    assert traveled(home, run, ruled) == [1, 1]


def test_history_is_kept_when_a_run_is_resumed_and_a_fork_has_that_of_its_parent(
    opened: Store, home: Path
) -> None:
    run = begin(opened, RunOptions("mining", 2, values={"rounds": 6, "rows": 4, "cols": 4}))

    def stop(state: Any) -> None:
        if state["turn"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(opened, run, on_turn=stop)
    assert turns_in(home, run) == [0, 1, 2, 3]
    run = go(opened, run)
    assert turns_in(home, run) == [0, 1, 2, 3, 4, 5, 6]
    forked = go(opened, fork(opened, run, ForkOptions(2), NO_CAPS))
    assert turns_in(home, forked) == [0, 1, 2, 3, 4, 5, 6]


def test_the_examples_of_the_page_run(opened: Store, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = mining(opened)
    page = (Path(__file__).parents[2] / "docs" / "langgraph.md").read_text(encoding="utf-8")
    assert len(page.split()) <= 1_500
    monkeypatch.chdir(home.parent)
    home.rename(home.parent / ".hobbes")

    def printed(example: str) -> list[str]:
        with redirect_stdout(io.StringIO()) as out:
            exec(example, {"run_id": run.id})  # noqa: S102  the page's own example
        return out.getvalue().splitlines()

    examples = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    listing, stranger, traveling, replacing, people, answers = map(printed, examples)
    assert [line.split()[0] for line in listing] == ["4", "3", "2", "1", "0"]
    assert stranger == [run.digest]
    assert [line.split()[0] for line in traveling][-1] == "4"
    assert run.digest[:8] not in str(traveling)
    assert printed(examples[2]) == traveling, "what was tried before is no part of the run"
    assert replacing == []
    assert people == ["True"]
    assert answers == ["0/miner-01/1 answered", "0/miner-02/1 answered", "{}"]
    (context,) = re.findall(r"^```json\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    StudioContext(**json.loads(context))
