"""The page of a run in Chromium: a person moves through the turns by mouse, by keys and by address."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from hobbes.play.start import RunOptions
from hobbes.show.exports import export
from hobbes.show.story import story_of
from hobbes.show.web.server import server
from hobbes.store.home import open_store
from hobbes.store.recorded_run import Run
from hobbes.wire.recorder import run_server
from tests.browser import axe_findings, chromium
from tests.small_runs import played

TURNS = 8
WIDE = ViewportSize(width=1280, height=900)
MODELS = {
    "mining": "policy:guided*2,policy:random?noise=0.5*2",
    "nations": "policy:militarist*1,policy:reciprocal-trader?noise=0.5*3",
    "trust": "policy:copykitten*2,policy:grudger*2",
}


@dataclass(frozen=True)
class Shown:
    """A run of each world, where its pages are served, and where one of them was exported."""

    browser: Browser
    url: str
    runs: dict[str, Run]
    moments: list[int]
    """The key moments of the run of mining."""
    file: Path
    pages: dict[str, Page] = field(default_factory=dict)
    """A page of each kind: to open another one takes Chromium a quarter of a second."""

    def at(self, address: str, **options: bool) -> Page:
        """Open an address anew; what its script throws fails the test."""
        kind = repr(options)
        if kind not in self.pages:
            self.pages[kind] = self.browser.new_page(**options)  # type: ignore[arg-type]
            self.pages[kind].on("pageerror", lambda error: pytest.fail(str(error)))
        page = self.pages[kind]
        page.set_viewport_size(WIDE)
        page.mouse.move(0, 0)
        page.goto("about:blank")  # what differs only behind # would not be loaded
        page.goto(address if "://" in address else f"{self.url}/{address}")
        return page


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """Play a run of each world, serve them, and export that of mining."""
    home = tmp_path_factory.mktemp("home")
    file = tmp_path_factory.mktemp("exported") / "run.html"
    with open_store(home) as opened:
        runs = {
            world: played(opened, RunOptions(world, 4, models=models, values={"rounds": TURNS}))
            for world, models in MODELS.items()
        }
        moments = [*story_of(opened, runs["mining"], runs["mining"].setting.agents).moments]
        export(opened, runs["mining"], "page", file)
    with run_server(server(home, "127.0.0.1")) as url, chromium() as browser:
        yield Shown(browser, url, runs, moments, file)


def is_at(page: Page, turn: int) -> None:
    """Wait until the page shows a turn."""
    expect(page.locator("#moment h2")).to_contain_text(f"Turn {turn} ", timeout=60_000)


def move_to(page: Page, turn: int) -> None:
    """Move the mouse to a turn of the graph."""
    box = page.locator(".graph").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * (turn + 0.5) / TURNS, box["y"] + box["height"] / 2)


@pytest.mark.parametrize("place", ["served", "in a file"])
def test_keys_mouse_and_addresses_lead_to_any_turn_without_a_new_page(shown: Shown, place: str) -> None:
    run = shown.runs["mining"].id
    page = shown.at(run if place == "served" else shown.file.as_uri())
    is_at(page, shown.moments[0])
    page.evaluate("window.same = true")
    for key, turn in (("ArrowRight", shown.moments[0] + 1), ("ArrowLeft", shown.moments[0])):
        page.keyboard.press(key)
        is_at(page, turn)
    page.get_by_role("radio", name="efficiency").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".graph").get_attribute("data-turn") == str(shown.moments[0]), (
        "a field has its own keys"
    )
    page.get_by_label("turn", exact=True).focus()
    for key, turn in (("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1)):
        page.keyboard.press(key)
        is_at(page, turn)
        assert page.evaluate("location.hash") == ("" if turn == shown.moments[0] else f"#{turn}")
        assert f"turn {turn}:" in (page.locator("#moment svg.board").first.get_attribute("aria-label") or "")
    move_to(page, 5)
    page.mouse.down()
    is_at(page, 5)
    move_to(page, 3)
    is_at(page, 3)
    page.mouse.up()
    page.keyboard.press("End")
    is_at(page, TURNS - 1)
    page.locator(f".moments [data-first='{shown.moments[0]}']").click()
    is_at(page, shown.moments[0])
    assert not page.evaluate("location.hash")
    page.evaluate("location.hash = '#4'")
    is_at(page, 4)
    assert page.evaluate("window.same")
    page.locator("#moment li a", has_text="miner-02").click()
    page.wait_for_url(re.compile(r".*[#/]4[-/]miner-02$"))
    page.get_by_title("up to the run, at this turn").locator("visible=true").click()
    is_at(page, 4)


def test_a_page_opens_at_the_first_key_moment_and_n_goes_from_one_to_the_next(shown: Shown) -> None:
    page = shown.at(shown.runs["mining"].id)
    assert len(shown.moments) > 2
    for turn in [*shown.moments[1:], shown.moments[0]]:
        page.keyboard.press("n")
        is_at(page, turn)
    page.get_by_title("to the next key moment").click()
    is_at(page, shown.moments[1])


def test_the_part_of_a_long_story_around_a_turn_is_loaded(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hobbes.show.web.run_pages.MAX_LINES", 3)
    page = shown.at(f"{shown.runs['mining'].id}?turn=1")
    assert page.locator(".story li").count() == 3
    page.get_by_label("turn", exact=True).press("End")
    expect(page.locator(f".story [data-first='{TURNS - 1}']")).to_have_attribute("aria-current", "true")


def test_a_file_shows_one_turn_or_card_at_a_time_also_without_the_script(shown: Shown) -> None:
    """What a card shares with another is a link without the script, and stands there with it."""
    for script in (True, False):
        page = shown.at(f"{shown.file.as_uri()}#3-miner-02", java_script_enabled=script)
        expect(page.locator("h1:visible")).to_have_text(re.compile("miner-02, turn 3$"))
        assert page.locator(".sheet:visible [data-same]").count() == (0 if script else 1)
        if script:
            assert axe_findings(page) == []
        page.get_by_title("the agent before, in this turn").locator("visible=true").click()
        expect(page.locator("h1:visible")).to_have_text(re.compile("miner-01, turn 3$"))
        assert page.locator("svg.board:visible").count()
        page.get_by_title("up to the run, at this turn").locator("visible=true").click()
        expect(page.locator("h2:visible").first).to_contain_text("Turn 3")
        assert page.locator(".fit:visible").count() == 1


def test_the_graph_shows_one_choice_at_a_time_also_without_the_script(shown: Shown) -> None:
    page = shown.at(shown.runs["mining"].id, java_script_enabled=False)
    page.locator("label", has_text="scores").click()
    assert page.locator(".of-graph:visible polyline").count() == 4
    assert page.locator("svg.board").first.is_visible()
    assert not page.locator(".controls").is_visible()
    page.locator(".story [data-first='2']").click()
    page.wait_for_url("**?turn=2")
    assert page.locator("svg.board").first.is_visible()


def test_a_turn_that_cannot_be_loaded_says_so(shown: Shown) -> None:
    """The server is gone."""
    page = shown.at(f"{shown.runs['mining'].id}#1")
    is_at(page, 1)
    page.context.set_offline(True)
    page.locator("[data-go='1']").click()
    expect(page.locator("#moment .warning")).to_contain_text("no longer served", timeout=60_000)
    page.context.set_offline(False)


def test_the_address_of_a_turn_that_a_run_lacks_says_which_there_are(shown: Shown) -> None:
    page = shown.at(f"{shown.runs['mining'].id}#{TURNS}")
    expect(page.locator("#moment")).to_have_text(
        f"there is no turn {TURNS}; this run has turns 0 to {TURNS - 1}"
    )
    page.get_by_label("turn", exact=True).press("Home")
    is_at(page, 0)


def test_each_name_has_its_player(shown: Shown) -> None:
    run = shown.runs["mining"]
    page = shown.at(f"{run.id}#{TURNS - 1}")
    is_at(page, TURNS - 1)
    players = [spec.removeprefix("policy:") for spec in run.models.values()]
    assert page.locator(".who small").all_text_contents() == players


@pytest.mark.parametrize("world", MODELS)
def test_the_whole_board_and_all_scores_stand_above_the_graph(shown: Shown, world: str) -> None:
    page = shown.at(f"{shown.runs[world].id}#{TURNS - 1}")
    is_at(page, TURNS - 1)
    for wide, high in ((1400, 900), (1000, 800)):
        page.set_viewport_size(ViewportSize(width=wide, height=high))
        edge = page.locator(".controls").bounding_box()
        assert edge is not None
        boxes = [part.bounding_box() for part in page.locator(".fit > svg.board").all()]
        assert len(boxes) == 2
        for box in filter(None, boxes):
            assert 0 < box["y"] + box["height"] <= edge["y"]


def test_what_the_signs_mean_is_unfolded_and_covers_nothing(shown: Shown) -> None:
    for script in (False, True):
        page = shown.at(shown.runs["mining"].id, java_script_enabled=script)
        signs = page.locator(".signs")
        assert not signs.locator("text", has_text="how long a plot has been held").is_visible()
        page.get_by_text("?", exact=True).click()
        assert signs.locator("text", has_text="how long a plot has been held").is_visible()
        assert page.get_by_text("Keys:").is_visible() == script
        figures, unfolded = page.locator(".fit > .board").last.bounding_box(), signs.bounding_box()
        assert figures
        assert unfolded
        assert unfolded["y"] >= figures["y"] + figures["height"]
        sticks = page.locator(".scrubber").evaluate("one => getComputedStyle(one).position")
        assert sticks == ("sticky" if script else "static")
        page.keyboard.press("Escape")
        assert signs.locator("text").first.is_visible() != script


def test_one_kind_of_events_is_shown_or_all_of_them(shown: Shown) -> None:
    page = shown.at(shown.runs["mining"].id)
    names = page.locator(".row:visible .label")
    assert names.all_text_contents() == ["raid"]
    page.get_by_label("all events").check()
    assert {"raid", "capture"} <= set(names.all_text_contents())


ON_ITS_EDGE = """path => {
    const at = path.getPointAtLength(path.getTotalLength() / 4).matrixTransform(path.getScreenCTM());
    return [at.x, at.y];
}"""
"""Returns a point on the window at which a path can be pointed at."""


def test_while_an_arrow_is_pointed_at_or_has_the_focus_the_others_are_pale_and_its_label_shows(
    shown: Shown,
) -> None:
    """In the first turn with an arrow whose label has no room beside it."""
    page = shown.at(shown.runs["nations"].id)
    for turn in range(TURNS):
        page.evaluate(f"location.hash = '#{turn}'")
        is_at(page, turn)
        hidden = page.locator(".j g:has(.z)")
        if hidden.count() and page.locator(".j g").count() > 1:
            break
    label, others = hidden.first.locator(".z"), page.locator(".j g:not(:hover)")
    assert not label.is_visible()
    x, y = hidden.first.locator("path").first.evaluate(ON_ITS_EDGE)
    page.mouse.move(x, y)
    assert label.is_visible()
    assert others.first.evaluate("one => getComputedStyle(one).opacity") == "0.25"
    page.mouse.move(0, 0)
    assert not label.is_visible()
    page.locator(".j a:has(.z)").first.focus()
    assert label.is_visible()


def test_an_agent_that_is_pointed_at_is_highlighted_everywhere_and_in_each_turn(shown: Shown) -> None:
    page = shown.at(shown.runs["mining"].id)
    page.locator(".who a", has_text="miner-02").hover()
    page.keyboard.press("ArrowRight")
    is_at(page, shown.moments[0] + 1)
    assert {*page.locator("b[data-lit]").all_inner_texts()} == {"■"}
    for part in ("polyline", ".ends tspan", ".story b", '.board a[aria-label="card of miner-02"]'):
        expect(page.locator(f"{part}[data-lit]").first).to_be_attached()
    page.locator("h1").hover()
    expect(page.locator("[data-lit]")).to_have_count(0)


def test_a_tap_shows_the_words_of_a_place_and_a_second_one_leads_to_its_card(shown: Shown) -> None:
    page = shown.at(shown.runs["mining"].id, has_touch=True, is_mobile=True)
    place = page.locator(".board a [role=img]").first
    place.tap()
    expect(page.locator(".tip")).to_have_text(place.locator("title").text_content() or "")
    place.tap()
    page.wait_for_url(re.compile(r".*/\d+/miner-.*"))
