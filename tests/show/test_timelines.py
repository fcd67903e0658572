"""The timeline of a run says of each turn what the record says."""

import re
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from hobbes.play.start import RunOptions, begin
from hobbes.show.palette import looks_in
from hobbes.show.story import story_of
from hobbes.show.timeline import LINES_HIGH, Timeline, timeline
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from tests.small_runs import mining, played

VALUES: dict[str, dict[str, Any]] = {"mining": {}, "nations": {}, "trust": {"miss": 30}}
MODELS = {
    "mining": "policy:random?noise=0.3",
    "nations": "policy:militarist*1,policy:reciprocal-trader?noise=0.5",
    "trust": "policy:copykitten*2,policy:always-attack",
}


def shown(opened: Store, run: Run) -> Timeline:
    looks = looks_in(opened, run)
    found = timeline(opened, run, looks, story_of(opened, run, looks))
    assert found is not None
    return found


def bars(svg: str) -> dict[int, int]:
    drawn = re.findall(r"M(\d+) \d+v-(\d+)h(\d+)v\d+z", svg)
    return {int(at) + k: int(high) for at, high, wide in drawn for k in range(int(wide))}


@pytest.mark.parametrize("world", VALUES)
def test_lanes_mark_the_turns_that_the_record_has(opened: Store, world: str) -> None:
    """Counted once more, from the records: rejections, and events by type and facts.

    A high five that missed is not counted as an attack, too.
    """
    values = {"rounds": 12, **VALUES[world]}
    run = played(opened, RunOptions(world, 4, models=MODELS[world], values=values))
    records = [turn.record for turn in opened.turns.of(run)]
    found = shown(opened, run)
    counted = {"rejections": [(k, d.agent) for k, r in enumerate(records) for d in r.drops]}
    missed = {(k, e.agent) for k, record in enumerate(records) for e in record.events if e.type == "miss"}
    assert missed or world != "trust"
    for mark in run.world.telling.landmarks:
        counted[mark.name] = [
            (k, event.agent)
            for k, record in enumerate(records)
            for event in record.events
            if event.type == mark.event and mark.facts.items() <= event.facts.items()
            if mark.event != "attack" or (k, event.agent) not in missed
        ]
    assert any(counted[mark.name] for mark in run.world.telling.landmarks)
    for lane in found.lanes[:-1]:
        places = counted.pop(lane.name)
        assert lane.total == len(places)
        assert bars(lane.svg).keys() == {turn for turn, _ in places}
    assert not counted


def test_the_graph_shows_the_scores_first_and_then_the_measures_of_each_turn(opened: Store) -> None:
    run = mining(opened)
    found = {graph.name: graph for graph in shown(opened, run).graphs}
    assert list(found) == ["scores", *(name for name in run.world.measures.headline if name in found)]
    sql = "select value from measures where run = ? and name = 'efficiency' and scope like 'turn/%'"
    figures = [figure for (figure,) in opened.connection.execute(sql, [run.id])]
    assert str(found["scores"].least) == "0"
    assert found["efficiency"].most == round(max(figures), 2)
    heights = [98 - float(y) for y in re.findall(r"[\d.]+,([\d.]+)", found["efficiency"].svg)]
    assert heights == pytest.approx([LINES_HIGH * figure / max(figures) for figure in figures], abs=0.06)
    assert found["scores"].svg.count("<polyline") == 3


def test_figures_of_missed_high_fives_say_what_they_count(opened: Store, pages: TestClient) -> None:
    """All miss: the lane of attacks has none of them, and cooperation is what was intended."""
    values: dict[str, Any] = {"rounds": 2, "miss": 100}
    played(opened, RunOptions("trust", 2, models="policy:always-high-five", values=values))
    page = unescape(pages.get("/last").text)
    assert ">miss</div>" in page
    assert ">attack</div>" not in page
    meaning = "Intended high fives / actions that were chosen; to replicate is such an action."
    assert f'<span title="{meaning}">1.0 <small>{meaning}</small></span>' in page
    of_measure = ("cooperation", "1.0", meaning)
    assert list(of_measure) in [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in page.splitlines()]


def test_a_run_without_turns_has_no_timeline_and_an_unfinished_one_has_scores(opened: Store) -> None:
    run = mining(opened)
    opened.connection.execute("delete from measures")
    assert [graph.name for graph in shown(opened, opened.runs.find(run.id)).graphs] == ["scores"]
    unplayed = begin(opened, RunOptions("mining"))
    assert timeline(opened, unplayed, {}, story_of(opened, unplayed, {})) is None
