"""One colour and one mark an agent, wherever it is shown, and charts that are dark where pages are."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from hobbes.engine.world import AnyWorld
from hobbes.experiment.statistics import Mean
from hobbes.play.start import RunOptions
from hobbes.show.charts import Line, Pairs, Panel, draw_curves, draw_differences
from hobbes.show.exports import export
from hobbes.show.palette import MARKS, PALETTE, looks_in, looks_of, words_of
from hobbes.show.terminal import picture
from hobbes.show.timeline import Timeline
from hobbes.show.web.home_pages import compare_page
from hobbes.show.web.page_templates import STYLE
from hobbes.show.web.run_pages import RunPages
from hobbes.store.history import state_before
from hobbes.store.home import Store
from hobbes.worlds import WORLDS
from tests.conftest import Cli
from tests.show.test_timelines import shown as timeline_of
from tests.small_runs import mining, played

Terminal = Callable[..., str]


@pytest.fixture
def terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """The command, as it prints in a terminal that shows all colours."""

    def run(*arguments: str) -> str:
        for module in ("hobbes.show.trace_text", "hobbes.show.terminal"):
            shown = Console(force_terminal=True, color_system="truecolor", width=200, highlight=False)
            monkeypatch.setattr(f"{module}.OUT", shown)
        return cli(*arguments).stdout

    return run


def in_terminal(text: str) -> dict[str, set[tuple[str, str]]]:
    """Return the marks and colours that names have in a terminal: name to mark and colour."""
    found: dict[str, set[tuple[str, str]]] = {}
    for r, g, b, mark, name in re.findall(
        rf"\x1b\[(?:1;)?38;2;(\d+);(\d+);(\d+)m *([{MARKS}])([\w-]+)", text
    ):
        colour = f"#{int(r):02X}{int(g):02X}{int(b):02X}"
        found.setdefault(name, set()).add((mark, colour))
    return found


def on_page(page: str) -> dict[str, set[tuple[str, str]]]:
    """Return the marks and colours that names have on a page, in texts and pictures."""
    found: dict[str, set[tuple[str, str]]] = {}
    for k, mark, name in re.findall(rf'<b class="c(\d)">\s*([{MARKS}])(?:</b>&nbsp;)?([\w-]+)', page):
        found.setdefault(name, set()).add((mark, PALETTE[int(k)]))
    return found


def lines_of(graph: str, shown: Timeline | None) -> list[str]:
    """Return the classes of the lines of a graph: colour and dashes."""
    assert shown is not None
    (svg,) = [one.svg for one in shown.graphs if one.name == graph]
    return re.findall('<polyline class="([^"]*)"', svg)


def test_an_agent_looks_the_same_everywhere(opened: Store, terminal: Terminal, tmp_path: Path) -> None:
    """The run, a turn, a card and a comparison, as pages and in the terminal, and an export."""
    request = RunOptions("nations", 3, models="policy:militarist*1,policy:grim", values={"rounds": 2})
    run, other = played(opened, request), played(opened, RunOptions("nations", 4, values={"rounds": 2}))
    looks = {"AgentA": ("●", PALETTE[0]), "AgentB": ("■", PALETTE[1]), "AgentC": ("▲", PALETTE[2])}
    pages = RunPages(opened, run)
    export(opened, run, "page", tmp_path / "run.html")
    shown = {
        "run": on_page(pages.at_a_turn()),
        "turn": on_page(pages.moment(1)),
        "agent": on_page(pages.card(1, "AgentB")),
        "compare": on_page(compare_page(opened, run, other)),
        "export": on_page((tmp_path / "run.html").read_text()),
        "trace": in_terminal(terminal("trace", run.id)),
        "trace TURN": in_terminal(terminal("trace", run.id, "1")),
        "trace --event": in_terminal(terminal("trace", run.id, "--event", "attack")),
        "compare in the terminal": in_terminal(terminal("compare", run.id, other.id)),
    }
    for where, found in shown.items():
        assert found.keys() & looks.keys(), where
        assert {name: {looks[name]} for name in found if name in looks} == {
            name: seen for name, seen in found.items() if name in looks
        }, where
    assert in_terminal(terminal("trace", run.id, "1", "AgentB"))["AgentB"] == {looks["AgentB"]}
    assert lines_of("scores", timeline_of(opened, run)) == ["g0 h0", "g1 h0", "g2 h0"]


def test_only_agents_have_a_look(opened: Store) -> None:
    """Numbers and headings in a picture have none, and the words of a map have their owners' looks."""
    run = played(opened, RunOptions("nations", 3, values={"rounds": 2}))
    assert set(on_page(RunPages(opened, run).at_a_turn())) == {*run.setting.agents}
    dug = mining(opened)
    looks, rows = looks_in(opened, dug), dug.world.picture.rows(state_before(opened, dug, dug.turns))
    drawn = picture(rows, words_of(dug, looks))
    words = {(drawn.plain[one.start : one.end].strip(), one.style) for one in drawn.spans}
    assert {one for one in words if one[1] in PALETTE} == {
        (f"{looks[agent].mark}{agent[-2:]}", PALETTE[looks[agent].colour]) for agent in dug.setting.agents
    }


def test_a_new_unit_of_a_team_looks_like_the_team(opened: Store) -> None:
    values: dict[str, Any] = {"rounds": 40, "victory": "team", "start": 90}
    run = played(opened, RunOptions("trust", 2, models="policy:copykitten", values=values))
    looks = looks_in(opened, run)
    clones = looks.keys() - set(run.setting.agents)
    assert clones
    for clone in clones:
        assert looks[clone] == looks["-".join(clone.split("-")[:2])]


def test_looks_are_told_apart_by_more_than_colour() -> None:
    agents = [f"miner-{k:03}" for k in range(128)]
    looks = [*looks_of(agents[::-1]).values()]
    assert len({look.mark for look in looks[:16]}) == 16
    assert len({look.colour for look in looks[:8]}) == 8
    assert len({(look.colour, look.mark) for look in looks}) == 128


@pytest.mark.parametrize("world", WORLDS.values(), ids=list(WORLDS))
def test_an_agent_keeps_its_look_among_more_agents(world: AnyWorld) -> None:
    few, many = looks_of(world.names(5)), looks_of(world.names(110))
    assert few.items() <= many.items()


def draw(title: str, arm: str) -> str:
    return draw_differences(title, "difference", [Pairs(arm, {1: 1.0, 2: 2.0}, Mean(2, 1.5, 0.5, 2.5), 0)])


def test_foreign_words_stay_text_in_a_chart() -> None:
    """They are those of the world, of arms and of measures."""
    foreign = '<script>a&b</script>"'
    lines = [Line(foreign, [(0, 1, 0.5, 1.5), (1, 2, None, None)])]
    for svg in (draw(foreign, foreign), draw_curves([Panel(foreign, foreign, f"y {foreign}", lines)])):
        tags = {one.tag.rpartition("}")[2] for one in ET.fromstring(svg).iter()}  # noqa: S314  our own
        assert "script" not in tags
        assert foreign in "".join(ET.fromstring(svg).itertext())  # noqa: S314


def test_a_value_without_a_band_has_a_line_and_no_area() -> None:
    """A band ends where it is undefined, and does not lead across."""
    band = [
        (0, 1.0, 0.5, 1.5),
        (1, 1.0, 0.5, 1.5),
        (2, 1.0, None, None),
        (3, 1.0, 0.5, 1.5),
        (4, 1.0, 0.5, 1.5),
    ]
    svg = draw_curves([Panel("t", "x", "t", [Line("", band)])])
    assert len(re.findall("<polygon", svg)) == 2
    (line,) = re.findall('<polyline [^>]*points="(.*?)"', svg)
    assert len(line.split()) == 5


def test_the_graph_tells_agents_of_one_colour_apart(opened: Store) -> None:
    """The first and the ninth agent have one colour and other dashes."""
    run = mining(opened, agents=9)
    lines = lines_of("scores", timeline_of(opened, run))
    assert [lines[0], lines[8]] == ["g0 h0", "g0 h1"]
    assert ".h1 { stroke-dasharray:" in STYLE
