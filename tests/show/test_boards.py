"""Boards: what a world says there is to see in a turn, and how it is drawn and told."""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from hobbes.engine import turn as turns
from hobbes.engine.board import Arrow, Badge, Bar, Board, Kind, Place, spread
from hobbes.engine.chance import RngStream
from hobbes.engine.measures import PlayedTurn
from hobbes.engine.memory import Memory
from hobbes.engine.mining.board import board as mining_board
from hobbes.engine.nations.board import board as nations_board
from hobbes.engine.picture import of_picture
from hobbes.engine.policy import speak
from hobbes.engine.trust.board import board as trust_board
from hobbes.engine.world import OBSERVER, AnyWorld, make_setting
from hobbes.show.boards import MAX_BARS, MAX_WIDE_ARROWS, parts, svg
from hobbes.show.strokes import STYLE
from hobbes.show.terminal import escape_invisible
from hobbes.show.web.page_templates import POLICY
from hobbes.show.web.server import site
from hobbes.store.home import Store
from hobbes.worlds import WORLDS
from tests.contract.games import heard
from tests.engine.mining.plays import board as grid
from tests.engine.mining.plays import mine
from tests.engine.mining.plays import play as mining_round
from tests.engine.nations.stage import A, B, C, turn
from tests.engine.nations.stage import board as nations
from tests.engine.trust.plays import game, play_on
from tests.engine.trust.plays import play as trust_round
from tests.pages import LOCAL
from tests.small_runs import mining

SVG = "{http://www.w3.org/2000/svg}"


def words(shapes: Sequence[Place] | Sequence[Arrow]) -> list[str]:
    return [shape.words for shape in shapes]


def badges(board: Board) -> dict[str, list[str]]:
    """Return the badges of the places that have some, each with its text."""
    return {
        place.name: [f"{badge.kind} {badge.text}".strip() for badge in place.badges]
        for place in board.places
        if place.badges
    }


# What there is to see in each world.


def test_a_round_of_mining_is_the_grid_after_it_with_what_was_done_on_each_plot() -> None:
    """A's 0,0 falls to C, against which B defends 0,2. A and B both claim 0,1, and A mines 3 gold on 0,3."""
    before = grid("A.BA/C..C")
    played = mining_round(
        before,
        A={"claim": [[0, 1]], "mine": mine((0, 3, 3))},
        B={"claim": [[0, 1]], "defend": [[0, 2]]},
        C={"raid": [[0, 0], [0, 2]]},
    )
    board = mining_board(played.played)
    winner = played.after.owner[0, 1]
    other = "B" if winner == "A" else "A"
    assert board.title == "turn 10: 2 claims, 2 raids, 1 capture, 1 defended plot"
    assert words(board.places)[:5] == [
        "plot 0,0: C's, held since turn 10, captured from A",
        f"plot 0,1: {winner}'s, held since turn 10, claimed, also wanted by {other}",
        "plot 0,2: B's, held since turn 0, defended with 1",
        "plot 0,3: A's, held since turn 0, 3 gold mined",
        "plot 1,0: C's, held since turn 0",
    ]
    assert badges(board) == {
        "0,0": ["captured"],
        "0,1": ["claimed 2"],
        "0,2": ["defended"],
        "0,3": ["mined +3"],
    }
    assert [(place.owner, place.was, place.text, place.shade) for place in board.places][:3] == [
        ("C", "A", "03", 0),
        (winner, None, {"A": "01", "B": "02"}[winner or ""], 0),
        ("B", None, "02", 2),
    ]
    assert [(arrow.source, arrow.target, arrow.succeeded, arrow.words) for arrow in board.arrows] == [
        ("1,0", "0,0", True, "C raids plot 0,0 of A: captured"),
        ("1,3", "0,2", False, "C raids plot 0,2 of B: blocked"),
    ]
    assert board.bars[0].note == ("2 plots" if winner == "A" else "1 plot (-1)")
    assert (board.bars[0].figure, board.bars[0].change) == (3, 3)


def test_immunity_and_gold_mines_are_marked() -> None:
    board = mining_board(mining_round(grid("A.", immunity=5, alpha=((1, 7),)), A={"claim": [[0, 1]]}).played)
    assert badges(board) == {"0,1": ["claimed", "immune", "rich x7"]}
    assert "immune until turn 15, 7 gold per stamina" in board.places[1].words


def test_a_raider_without_land_strikes_from_nowhere() -> None:
    (arrow,) = mining_board(mining_round(grid("A", agents="B"), B={"raid": [[0, 0]]}).played).arrows
    assert (arrow.source, arrow.target, arrow.succeeded) == (None, "0,0", True)


def test_a_turn_of_nations_shows_land_armies_attacks_and_gifts() -> None:
    """A sends 4 of its 6 mils against B, where 1 falls, gives C 7 money and cedes T2 to it."""
    before = nations(3, territories_per_agent=2, army=6)
    orders = {"attacks": {B: 4}, "money_grants": {C: 7}, "cede_territories": {C: ["T2"]}}
    board = nations_board(turn(before, {A: orders}).played())
    assert board.title == "turn 0: 1 attack, 1 grant, 1 cession"
    place = {place.name: place for place in board.places}
    assert place[f"army {A}"].words == f"{A}: land 1, mils 5, welfare 1"
    assert [(p.owner, p.label, p.note) for p in board.places] == [
        (A, A, "land 1"),
        (B, B, "land 2"),
        (C, C, "land 3"),
    ]
    assert [(arrow.kind, arrow.source, arrow.target, arrow.label) for arrow in board.arrows] == [
        ("attack", f"army {A}", f"army {B}", "4 mils"),
        ("gift", f"army {A}", f"army {C}", "7 money, T2"),
    ]
    assert words(board.arrows)[0] == f"{A} attacks {B} with 4 mils: 20 damage, 1 of its own fall"
    assert words(board.arrows)[1] == f"{A} gives {C} 7 money and T2"
    assert board.bars[0].note == "land 1 (-1), mils 5 (-1)"


@pytest.mark.parametrize(
    ("settings_of_map", "at"),
    [
        ({"map": "grid"}, [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]),
        ({"map": "ring"}, [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2)]),
        (
            {"map": "file", "map_edges": [["T1", "T2"], ["T1", "T3"], ["T3", "T4"], ["T5", "T6"]]},
            [(0, 0), (1, 0), (1, 1), (2, 0), (0, 2), (1, 2)],
        ),
    ],
)
def test_with_a_map_territories_lie_as_they_touch_and_armies_on_capitals(
    settings_of_map: dict[str, Any], at: list[tuple[int, int]]
) -> None:
    board = nations_board(turn(nations(3, territories_per_agent=2, **settings_of_map), {}).played())
    place = {place.name: place for place in board.places}
    assert [(place[f"land T{k}"].x - 0.5, place[f"land T{k}"].y - 0.5) for k in range(1, 7)] == at
    for agent, capital in ((A, "T1"), (B, "T3"), (C, "T5")):
        home = place[f"land {capital}"]
        assert (place[f"army {agent}"].x, place[f"army {agent}"].y) == (home.x, home.y)
        assert [badge.kind for badge in home.badges] == ["capital"]
    assert ("land T1", "land T2") in [(line.one, line.other) for line in board.lines]


def test_a_territory_that_was_ceded_has_its_former_owner_on_the_map() -> None:
    before = nations(3, territories_per_agent=2, map="grid")
    board = nations_board(turn(before, {A: {"cede_territories": {C: ["T2"]}}}).played())
    (ceded,) = [place for place in board.places if place.name == "land T2"]
    assert (ceded.owner, ceded.was, ceded.words) == (C, A, f"T2: {C}'s, ceded by {A}")


def test_a_round_of_trust_shows_who_did_what_to_whom() -> None:
    """a and b high five; c attacks d, which blocks; e, with 1 sat, begs in vain and dies."""
    before = game(sats={"a": 50, "b": 50, "c": 50, "d": 50, "e": 1}, observer="never")
    played = trust_round(
        before, a="high_five b", b="high_five a", c="attack d", d="block", e="beg 5 for bread"
    )
    board = trust_board(played.played)
    assert board.title == "turn 0: 2 high fives, 1 attack, 1 request, 1 death"
    assert [(arrow.source, arrow.target, arrow.succeeded) for arrow in board.arrows] == [
        ("a", "b", True),
        ("b", "a", True),
        ("c", "d", False),
    ]
    assert words(board.arrows)[2] == "c attacks d: blocked"
    assert badges(board) == {"d": ["blocks"], "e": ["died"]}
    assert words(board.places)[4] == "e: 0 sats, dead, asks 5, gets 0"
    assert [(bar.figure, bar.change, bar.note) for bar in board.bars] == [
        (53, 3, "high five → b"),
        (53, 3, "high five → a"),
        (47, -3, "attack → d"),
        (51, 1, "block"),
        (0, -1, "beg"),
    ]
    assert board.goal == 100


def test_an_alliance_is_a_band_between_allies_which_says_when_it_began_and_that_it_ended() -> None:
    """a and b become allies in turn 1, are allies in turn 2, and part in turn 3."""
    words: Sequence[Mapping[str, Any]] = ({"a": "propose"}, {"b": "accept"}, {}, {"b": "leave"})
    other = {"a": "b", "b": "a"}
    rounds = play_on(
        game(alliances="declared"),
        *(
            {unit: {"action": "do_nothing", "alliances": {other[unit]: word}} for unit, word in said.items()}
            for said in words
        ),
    )
    boards = [trust_board(one.played) for one in rounds]
    assert [[(line.one, line.other, line.kind, line.words) for line in board.lines] for board in boards] == [
        [],
        [("a", "b", "new alliance", "a and b: allied from now on")],
        [("a", "b", "alliance", "a and b: allied since turn 1")],
        [("a", "b", "ended alliance", "a and b: their alliance ended")],
    ]
    assert [board.title for board in boards][1::2] == ["turn 1: 1 new alliance", "turn 3: 1 ended alliance"]
    bands = [re.findall(r'<path class="(f[^"]*)"', parts(board).plane) for board in boards]
    assert bands == [[], ["f", "f u"], ["f"], ["f v"]]
    assert "an alliance that ended in this turn" in parts(boards[3]).legend


def test_a_miss_and_a_birth_are_marked() -> None:
    before = game(sats={"a": 50, "b": 120}, miss=100, victory="team")
    board = trust_board(trust_round(before, a="high_five b", b="replicate").played)
    assert badges(board) == {"a": ["missed"], "b-2": ["born"]}
    assert [(arrow.kind, arrow.owner, arrow.target, arrow.label) for arrow in board.arrows] == [
        ("attack", "a", "b", "missed"),
        ("replicate", "b", "b-2", "born"),
    ]


def test_the_dead_of_earlier_rounds_keep_their_place_if_they_are_agents_own_units() -> None:
    board = trust_board(trust_round(game(sats={"a": 50, "b": 50, "c": 0}), a="attack b").played)
    assert [place.note for place in board.places] == ["", "", "dead"]


def test_a_world_without_a_board_is_shown_by_its_picture() -> None:
    board = of_picture("turn 3", ("ann", "bob"), [["sea", "700"], ["B!", "5"]], {"bob": "B!"})
    assert [(place.text, place.owner) for place in board.places] == [
        ("sea", None),
        ("700", None),
        ("B!", "bob"),
        ("5", None),
    ]


def test_the_plots_of_mining_are_numbered_as_texts_name_them() -> None:
    """Of many rows and columns, some have numbers, which then have room."""
    wide = "A" + "." * 49
    board = mining_board(mining_round(grid(f"{wide}/{wide}"), A={}).played)
    assert [place.text for place in board.places if place.words.startswith("row ")] == ["0", "1"]
    columns = [place for place in board.places if place.words.startswith("column ")]
    assert [place.text for place in columns] == [str(c) for c in range(0, 50, 2)]
    plots = {place.name: place for place in board.places}
    assert all(place.x == plots[f"1,{place.text}"].x for place in columns)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 24, 25, 100])
def test_places_that_are_spread_do_not_touch(n: int) -> None:
    found = spread(n)
    middles = found.middles
    assert len(middles) == n
    assert max(y for _, y in middles) == pytest.approx(found.height - found.room / 2), "no empty band below"
    for k, (x, y) in enumerate(middles):
        assert found.room / 2 - 0.1 <= x <= 100 - found.room / 2 + 0.1
        assert found.room / 2 - 0.1 <= y <= found.height - found.room / 2 + 0.1
        for a, b in middles[:k]:
            assert (x - a) ** 2 + (y - b) ** 2 >= (found.room - 0.1) ** 2


# How it is drawn and told.

SMALL = Board(
    "turn 1: 1 raid",
    ("ann", "bob"),
    width=2,
    height=1,
    places=(
        Place("0,0", 0.5, 0.5, 1, 1, words="ann's plot", owner="ann", text="01"),
        Place(
            "0,1", 1.5, 0.5, 1, 1, words="bob's plot", owner="bob", text="02", badges=(Badge("worn", "3"),)
        ),
    ),
    arrows=(Arrow("raid", "bob", "0,1", "0,0", words="bob raids ann", succeeded=False),),
    bars=(Bar("ann", "ann", 1_234_567, -2, "1 plot"),),
    measure="gold",
    shading="how old",
    sizes="how rich",
    kinds=(
        Kind("raid", "harm", "a raid"),
        Kind("worn", "guarded", "a coat"),
        Kind("unseen", "new", "nothing"),
    ),
)


def elements(drawn: str) -> list[ET.Element]:
    """Return all elements of an SVG; raise ParseError if it is not XML."""
    return list(ET.fromstring(drawn).iter())  # noqa: S314  our own SVG


def said(drawn: str, tag: str) -> list[str]:
    """Return the texts of all elements of one kind."""
    return [found.text or "" for found in elements(drawn) if found.tag == f"{SVG}{tag}"]


def titles(drawn: str) -> list[str]:
    return said(drawn, "title")


def texts(drawn: str) -> list[str]:
    return said(drawn, "text")


def test_each_shape_has_its_words_colour_and_mark_and_the_legend_explains_what_occurs() -> None:
    drawn = svg(SMALL)
    assert titles(drawn) == ["ann's plot", "bob's plot", "bob raids ann", "ann: 1234567 gold (-2), 1 plot"]
    assert {"●01", "■02", "3", "1235k", "-2", "1 plot", "gold"} <= set(texts(drawn))
    assert {"a raid", "a coat", "how old", "how rich", "pale and crossed out: it failed"} <= set(texts(drawn))
    assert "nothing" not in texts(drawn)
    assert re.search(r"bob raids ann</title><path class=\"k10 b\"", drawn)  # bob's colour, at its palest
    assert svg(SMALL) == drawn


def many(arrows: Callable[[tuple[str, ...]], Iterable[Arrow]]) -> Board:
    """Return a board of 500 agents with many arrows."""
    agents = tuple(f"agent-{k:03}" for k in range(500))
    ring = spread(len(agents))
    places = tuple(
        Place(name, x, y, ring.room, ring.room, name, owner=name, shape="disc", text="50", label=name)
        for name, (x, y) in zip(agents, ring.middles, strict=True)
    )
    bars = tuple(Bar(name, name, 5, 0) for name in agents)
    return Board(
        "turn 1", agents, 100, ring.height, places, tuple(arrows(agents)), bars=bars, kinds=SMALL.kinds
    )


def test_of_hundreds_of_bars_a_part_is_drawn_and_the_rest_counted() -> None:
    assert f"and {500 - MAX_BARS} more" in texts(svg(many(lambda _: ())))


def test_many_arrows_are_thin_and_only_show_their_labels_on_hover() -> None:
    def raids(n: int) -> str:
        agents = [f"agent-{k:03}" for k in range(n + 1)]
        board = many(
            lambda _: (Arrow("raid", a, a, b, f"{a} raids {b}", "raid") for a, b in pairwise(agents))
        )
        return str(parts(board).plane)

    few, lots = raids(MAX_WIDE_ARROWS), raids(MAX_WIDE_ARROWS + 1)
    for drawn, n in ((few, MAX_WIDE_ARROWS), (lots, MAX_WIDE_ARROWS + 1)):
        assert sum(" raids " in title for title in titles(drawn)) == n
    assert re.search(r'raids agent-001</title><path class="k\d\d b"', few)
    assert re.search(r'raids agent-001</title><path class="k\d\d c"', lots)
    assert len(labels(few, "m a w")) + len(labels(few, "m a w z")) == MAX_WIDE_ARROWS
    assert len(labels(lots, "m a w z")) == MAX_WIDE_ARROWS + 1


def test_arrows_pass_below_the_words_of_squares_and_are_thin_where_they_outnumber_the_squares() -> None:
    drawn = svg(SMALL)
    arrow, mark, badge = (drawn.index(part) for part in ("bob raids ann</title><path", ">●01<", ">3<"))
    assert arrow < mark
    assert arrow < badge
    raids = SMALL.arrows * 2
    assert 'raids ann</title><path class="k10 b"' in svg(replace(SMALL, arrows=raids))
    assert 'raids ann</title><path class="k10 c"' in svg(replace(SMALL, arrows=raids + SMALL.arrows))


@pytest.mark.parametrize("row", [0, 1, 2])
def test_the_way_back_and_a_second_raid_on_a_plot_curve_to_other_sides(row: int) -> None:
    """The row in the middle runs through the middle of the board."""
    places = [Place(f"{x}", x + 0.5, row + 0.5, 1, 1, f"{x}", owner="a") for x in range(3)]

    def is_above(*raids: tuple[str, str]) -> list[bool]:
        arrows = tuple(
            Arrow("raid", "a", source, target, f"{source} to {target}") for source, target in raids
        )
        plane = str(parts(Board("turn 1", ("a",), 3, 3, tuple(places), arrows, kinds=SMALL.kinds)).plane)
        curves = re.findall(r"to \d</title><path [^>]*M[\d.]+ ([\d.]+) ?Q[\d.]+ ([\d.]+)", plane)
        return [float(bent) < float(begun) for begun, bent in curves]

    for one, other in (("01", "10"), ("02", "20"), ("02", "12"), ("12", "02")):
        assert sorted(is_above((one[0], one[1]), (other[0], other[1]))) == [False, True]


Box = tuple[float, float, float, float]


def labels(drawn: str, ink: str) -> list[Box]:
    """Return about where the labels with this class stand: their left, upper, right and lower edges."""
    return [
        (x - 2.9 * len(label), y - 7, x + 2.9 * len(label), y)
        for x, y, label in (
            (float(x), float(y), label)
            for x, y, label in re.findall(rf'<text class="{ink}" x="([\d.]+)" y="([-\d.]+)">([^<]+)', drawn)
        )
    ]


def test_labels_of_arrows_stand_where_nothing_else_is_and_others_show_on_hover() -> None:
    """Eight nations attack and give; each label is written, and those that are seen collide with nothing."""
    names = WORLDS["nations"].names(8)
    seen = hidden = 0
    for one in some_turns(WORLDS["nations"], names, {}, 8, 3):
        board = WORLDS["nations"].picture.board_of(one)
        plane = str(parts(board).plane)
        high = float(re.findall(r'viewBox="0 0 400 ([\d.]+)"', plane)[0])
        discs = [
            (float(x), float(y), float(r))
            for x, y, r in re.findall(
                r'<circle class="k\d\d b" cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)"/><text', plane
            )
        ]
        arrows = plane.partition('<g class="j">')[2].partition("\n</g>")[0]
        there, later = labels(arrows, "m a w"), labels(arrows, "m a w z")
        assert len(there) + len(later) == sum(bool(arrow.label) for arrow in board.arrows)
        for k, (left, top, right, bottom) in enumerate(there):
            assert 0 <= left < right <= 400
            assert 0 <= top < bottom <= high
            for a, b, c, d in there[:k]:
                assert right <= a or c <= left or bottom <= b or d <= top
            for x, y, r in discs:
                near = max(left, min(x, right)), max(top, min(y, bottom))
                assert (near[0] - x) ** 2 + (near[1] - y) ** 2 >= (r - 1) ** 2
        seen, hidden = seen + len(there), hidden + len(later)
    assert seen > 0
    assert hidden > 0


TAGS = {"svg", "style", "g", "title", "text", "rect", "circle", "path"}
ATTRIBUTES = {
    *("class", "role", "aria-label", "viewBox", "width", "height", "x", "y", "font-size"),
    *("cx", "cy", "r", "d", "transform", "pointer-events"),
}

hostile = st.one_of(
    st.text(st.characters(), min_size=1, max_size=12),
    st.sampled_from(
        [
            "</title><script>alert(1)</script>",
            '" onload="alert(1)',
            "]]><!--",
            "&amp;<b>",
            "\x00\x1b[2J\u202e",
            "\ufffe\uffff",
            "\ud800",
            "汉字" * 40,
            "x" * 200,
            "-->",
        ]
    ),
)

VALUES: dict[str, list[dict[str, Any]]] = {
    "mining": [
        {"rows": 2, "cols": 3, "immunity": 0},
        {"rows": 9, "cols": 1, "alpha": {"plots": 2, "multiplier": 9}},
    ],
    "nations": [
        {},
        {"map": "grid", "resources": True},
        {"map": "ring", "territories_per_agent": 1},
        {"army": 0},
    ],
    "trust": [{"miss": 40, "fumble": 20}, {"start": 110, "victory": "team", "shock": 40}],
}


def some_turns(
    world: AnyWorld, names: Sequence[str], values: dict[str, Any], n: int, seed: int
) -> list[PlayedTurn[Any, Any]]:
    """Play some turns: agents follow the policies of their world, noisily."""
    setting = make_setting(world, names, seed, values)
    state = world.setup(setting.config, setting.agents, setting.seed)
    memories: dict[str, Memory] = {}
    policies = list(world.policies.by_name)
    found = []
    for _ in range(n):
        if world.over(state):
            break
        said = {
            agent: heard(
                agent,
                speak(
                    world.policies, policies[k % len(policies)], 0.2, view, RngStream(seed, state.turn, agent)
                ),
            )
            for k, (agent, view) in enumerate(turns.views(world, state, memories).items(), start=seed)
        }
        done = turns.play_turn(world, state, memories, said)
        found.append(done.played)
        state, memories = done.resolved.state, dict(done.memories)
    return found


@settings(
    deadline=None,
    derandomize=True,
    max_examples=max(20, settings().max_examples // 4),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.data())
def test_any_reachable_turn_is_drawn_as_xml_in_which_all_texts_are_escaped(data: st.DataObject) -> None:
    """Names of agents are anything: nothing of them becomes a tag or an attribute, or makes bad XML."""
    world = data.draw(st.sampled_from(list(WORLDS.values())), label="world")
    names = data.draw(st.lists(hostile, min_size=1, max_size=6, unique=True), label="names")
    names = [name for name in names if name not in {OBSERVER, "all"}] or ["one"]
    values = data.draw(st.sampled_from(VALUES[world.name]), label="settings")
    seed = data.draw(st.integers(0, 99), label="seed")
    for one in some_turns(world, names, values, data.draw(st.integers(1, 4)), seed):
        drawn = svg(world.picture.board_of(one))
        for element in elements(drawn):
            assert element.tag.removeprefix(SVG) in TAGS
            assert set(element.attrib) <= ATTRIBUTES
        shown = "".join(titles(drawn))
        assert all(
            re.sub(
                "[\ud800-\udfff\ufffe\uffff]", lambda c: f"\\x{ord(c.group()):02x}", escape_invisible(name)
            )
            in shown
            for name in names
        )


# Where boards stand.


def test_the_style_sheet_of_a_board_is_the_one_that_the_policy_allows() -> None:
    (style,) = re.findall("<style>(.*?)</style>", svg(SMALL), re.DOTALL)
    assert style == STYLE
    assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in POLICY
    assert " style=" not in svg(SMALL)


def test_the_board_of_a_turn_has_an_address_and_stands_on_the_pages(opened: Store, home: Path) -> None:
    run = mining(opened)
    with TestClient(site(home, "127.0.0.1"), base_url=LOCAL) as visitor:
        found = visitor.get(f"/{run.id}/2.svg")
        assert found.status_code == 200
        assert found.headers["content-type"].startswith("image/svg+xml")
        assert "turn 2: " in found.text
        drawn = set(found.text.splitlines())
        served = visitor.get(f"/{run.id}/2.html").text
        figure = served.partition('<figure class="fit">')[2].partition("</figure>")[0]
        board = figure[figure.index("<svg") : figure.rindex("</svg>")].splitlines()
        links = [line for line in board if line.startswith("<a ")]
        assert {line for line in board if line.startswith(("<g", "<text"))} < drawn
        assert {re.findall('href="([^"]*)"', link)[0] for link in links} == {
            f"/{run.id}/2/{agent}" for agent in run.setting.agents
        }
        assert f'<a href="/{run.id}/2.svg" download="{run.id}-2.svg">save this turn</a>' in served
        missing = visitor.get(f"/{run.id}/99.svg")
        assert (missing.status_code, "has no turn 99" in missing.text) == (404, True)
