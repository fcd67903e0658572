"""`hobbes.graph`: LangGraph's own ways with the checkpoints of a recorded run."""

import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from hobbes.errors import HaltedRunError
from hobbes.graphs.studio import StudioContext
from hobbes.nodes.caps import NO_CAPS
from hobbes.play.fork import ForkOptions, fork
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import Store
from tests.graphs.threads import with_graph
from tests.play.test_second_question import answering
from tests.small_runs import go, mining

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

    assert with_graph(home, run.id, everywhere) == [run.digest] * 4
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

    assert with_graph(home, run.id, edited) == [
        (node, f"before {node}") for node in ("agent_reason", "validate", "resolve", "log")
    ]


def test_a_run_that_halted_goes_on_where_its_server_answers_again(opened: Store, home: Path) -> None:
    texts = {"0/miner-01/1": "{}", "0/miner-02/1": "no JSON"}
    halts = RunOptions("mining", 2, models="openai:m", values={"rounds": 1, "on_failure": "halt"})
    with answering(lambda address: texts.get(address, "{}")):
        run = begin(opened, halts)
        with pytest.raises(HaltedRunError):
            go(opened, run)

        async def on(graph: Any, config: Any) -> dict[str, Any]:
            played: dict[str, Any] = await graph.ainvoke(None, config)
            return played

        texts.clear()
        assert with_graph(home, run.id, on)["over"]


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

    assert with_graph(home, run.id, again) == run.digest


def test_an_agent_whose_player_is_changed_is_asked_again_though_its_prompt_is_the_same(
    opened: Store, home: Path
) -> None:
    """All others have answered already. What somebody was given to say stands, whoever plays."""
    run = mining(opened)
    answers = {"miner-02": '{"notes": "given"}'}
    given = go(opened, fork(opened, run, ForkOptions(2, answers=answers), NO_CAPS))

    async def edited(graph: Any, config: Any) -> tuple[list[str], str]:
        past = [one async for one in graph.aget_state_history(config) if one.values["turn"] == 2][-1]
        edit = {"models": {"miner-01": "policy:random", "miner-02": "policy:random"}}
        here = await graph.aupdate_state(past.config, edit)
        modes = ["custom", "values"]
        parts = [part async for part in graph.astream(None, here, stream_mode=modes, interrupt_after=["log"])]
        asked = [told["address"] for mode, told in parts if mode == "custom"]
        return asked, parts[-1][1]["memories"]["miner-02"]["notes"]

    assert with_graph(home, run.id, edited)[0] == ["2/miner-01/2", "2/miner-02/2"]
    assert with_graph(home, given.id, edited) == (["2/miner-01/2"], "given")


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

    assert with_graph(home, run.id, ruled) == [1, 1]


def test_the_examples_of_the_page_run(opened: Store, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = mining(opened)
    page = (Path(__file__).parents[2] / "docs" / "langgraph.md").read_text(encoding="utf-8")
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
    assert answers == ["0/miner-01/1 answered", "0/miner-02/1 answered"]
    (context,) = re.findall(r"^```json\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    StudioContext(**json.loads(context))
