"""The thread of a run is what was played, wherever it was played; what somebody tried in it is told apart."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hobbes
from hobbes.nodes.caps import NO_CAPS
from hobbes.play.fork import ForkOptions, fork
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.prove.verification import verify
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from tests.graphs.threads import is_one_line, kept, stop_after, turns_in, with_graph
from tests.small_experiment import play_all, written
from tests.small_runs import SMALL, go, mining


async def digests(graph: Any, config: Any) -> list[str]:
    """The digests to which the history of a run plays on from each checkpoint but its last."""
    history = [one async for one in graph.aget_state_history(config, filter={"hobbes": "run"})]
    return [(await graph.ainvoke(None, past.config))["digest"] for past in history[1:]]


async def edit(graph: Any, config: Any) -> None:
    """Try something else from turn 2 on."""
    history = [one async for one in graph.aget_state_history(config)]
    past = next(one for one in history if one.values["turn"] == 2)
    changed = await graph.aupdate_state(past.config, {"memories": {"miner-01": {"notes": "Raid nobody."}}})
    await graph.ainvoke(None, changed)


def test_a_fork_has_the_turns_of_its_parent_and_nothing_that_was_tried_in_it(
    opened: Store, home: Path
) -> None:
    run = mining(opened)
    with_graph(home, run.id, edit)
    changes = ForkOptions(3, values={"immunity": 3}, models="policy:random", prompts="unguided")
    forked = go(opened, fork(opened, run, changes, NO_CAPS))
    checkpoints = kept(home, forked.id)
    assert turns_in(checkpoints) == [0, 1, 2, 3, 4]
    assert is_one_line(checkpoints)
    assert checkpoints[2].checkpoint["channel_values"]["run"]["config"]["immunity"] == 1
    assert checkpoints[3].checkpoint["channel_values"]["run"]["config"]["immunity"] == 3
    assert with_graph(home, forked.id, digests) == [forked.digest] * 4
    last = kept(home, forked.id, "what-if")[-1].checkpoint["channel_values"]
    assert (last["models"]["miner-01"], last["prompts"]["variant"]) == ("policy:random", "unguided")


def test_a_game_of_an_experiment_that_left_no_checkpoints_has_them_in_its_graph(
    opened: Store, home: Path, tmp_path: Path
) -> None:
    play_all(opened, written(tmp_path))
    run = opened.runs.find("small.open.1")
    assert kept(home, run.id) == []
    assert with_graph(home, run.id, digests) == [run.digest] * run.turns
    between = kept(home, run.id, "run")
    assert turns_in(between) == [0, 1, 2, 3, 4]
    assert is_one_line(between)


def test_checkpoints_that_were_deleted_are_written_anew(opened: Store, home: Path) -> None:
    run = mining(opened)
    (home / "checkpoints.db").unlink()
    assert with_graph(home, run.id, digests) == [run.digest] * run.turns
    stopped = begin(opened, RunOptions("trust", 2, values={"rounds": 4}))
    stop_after(opened, stopped, 2)
    (home / "checkpoints.db").unlink()
    go(opened, stopped)
    checkpoints = kept(home, stopped.id)
    assert turns_in(checkpoints) == [0, 1, 2, 3, 4]
    assert is_one_line(checkpoints)


async def opening(home: Path, run: Run) -> None:
    async with hobbes.graph(run.id, home):
        pass


def test_two_who_open_an_empty_thread_at_once_write_its_history_once(opened: Store, home: Path) -> None:
    run = mining(opened)
    (home / "checkpoints.db").unlink()

    async def twice() -> None:
        await asyncio.gather(opening(home, run), opening(home, run))

    with ThreadPoolExecutor() as loops:
        for done in [loops.submit(asyncio.run, twice()) for _ in range(2)]:
            done.result()
    checkpoints = kept(home, run.id)
    assert turns_in(checkpoints) == [0, 1, 2, 3, 4]
    assert is_one_line(checkpoints)


def test_a_run_that_begins_while_its_graph_is_opened_has_its_first_checkpoint_once(
    opened: Store, home: Path
) -> None:
    run = begin(opened, RunOptions("mining", 2, values={"rounds": 2}))

    async def both() -> None:
        await asyncio.gather(opening(home, run), go_on(opened, run, lambda _: None))

    asyncio.run(both())
    checkpoints = kept(home, run.id)
    assert turns_in(checkpoints) == [0, 1, 2]
    assert is_one_line(checkpoints)


def test_what_a_run_wrote_and_what_somebody_tried_are_told_apart_also_once_the_run_goes_on(
    opened: Store, home: Path
) -> None:
    run = begin(opened, RunOptions("mining", 2, values={"rounds": 5, "rows": 4, "cols": 4}))
    stop_after(opened, run, 3)
    with_graph(home, run.id, edit)
    ended: Run = go(opened, run)
    runs, tried = kept(home, run.id, "run"), kept(home, run.id, "what-if")
    assert turns_in(runs) == [0, 1, 2, 3, 4, 5]
    assert is_one_line(runs)
    assert runs[-1].checkpoint["channel_values"]["digest"] == ended.digest
    assert tried
    assert len(kept(home, run.id)) == len(runs) + len(tried)


def test_what_somebody_tries_while_a_run_is_played_does_not_enter_it(opened: Store, home: Path) -> None:
    expected = mining(opened)
    run = begin(opened, SMALL)

    async def other_players(graph: Any, config: Any) -> None:
        everyone = dict.fromkeys(run.models, "policy:random")
        await graph.aupdate_state(config, {"models": everyone})

    def meanwhile(state: Any) -> None:
        if state["turn"] in {1, 2}:
            with ThreadPoolExecutor() as another:
                another.submit(with_graph, home, run.id, other_players).result()

    ended = go(opened, run, on_turn=meanwhile)
    assert ended.digest == expected.digest
    assert list(verify(opened, ended)) == []
    assert is_one_line(kept(home, run.id, "run"))
