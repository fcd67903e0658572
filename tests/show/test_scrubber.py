"""The page of a run in Chromium: a person moves through the turns by mouse, by keys and by address."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from hobbes.play.start import RunOptions
from hobbes.show.exports import export
from hobbes.show.web.server import server
from hobbes.store.home import open_store
from hobbes.store.recorded_run import Run
from hobbes.wire.recorder import run_server
from tests.browser import chromium
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
    captures: list[int]
    folder: Path

    def at(self, address: str, **options: object) -> Page:
        """Open a page; what its script throws fails the test."""
        page = self.browser.new_page(**{"viewport": WIDE, **options})  # type: ignore[arg-type]
        page.on("pageerror", lambda error: pytest.fail(str(error)))
        page.goto(address if "://" in address else f"{self.url}/{address}")
        return page


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """Play a run of each world, serve them, and export that of mining."""
    home = tmp_path_factory.mktemp("home")
    folder = tmp_path_factory.mktemp("exported") / "pages"
    with open_store(home) as opened:
        runs = {
            world: played(opened, RunOptions(world, 4, models=models, values={"rounds": TURNS}))
            for world, models in MODELS.items()
        }
        sql = (
            "select distinct turn from events where run = ? and event ->> '$.result' = 'captured' order by 1"
        )
        captures = [turn for (turn,) in opened.db.conn.execute(sql, [runs["mining"].id])]
        export(opened, runs["mining"], "html", folder)
    with run_server(server(home, "127.0.0.1")) as url, chromium() as browser:
        yield Shown(browser, url, runs, captures, folder)


def is_at(page: Page, turn: int) -> None:
    """Wait until the page shows a turn."""
    expect(page.locator("#moment h2")).to_contain_text(f"Turn {turn} ", timeout=60_000)


def width_of(drawn: Locator) -> float:
    """Return how wide something is on the page."""
    box = drawn.bounding_box()
    assert box is not None
    return box["width"]


def move_to(page: Page, turn: int) -> None:
    """Move the mouse to a turn of the graph."""
    box = page.locator(".graph").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * (turn + 0.5) / TURNS, box["y"] + box["height"] / 2)


@pytest.mark.parametrize("place", ["served", "on disk"])
def test_keys_mouse_and_addresses_lead_to_any_turn_without_a_new_page(shown: Shown, place: str) -> None:
    run = shown.runs["mining"].id
    page = shown.at(run if place == "served" else (shown.folder / "index.html").as_uri())
    is_at(page, TURNS - 1)
    page.evaluate("window.same = true")
    for key, turn in (("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1)):
        page.keyboard.press(key)
        is_at(page, turn)
        assert page.evaluate("location.hash") == f"#{turn}"
        assert f"turn {turn}:" in (page.locator("svg.board").get_attribute("aria-label") or "")
    move_to(page, 5)
    page.mouse.down()
    is_at(page, 5)
    move_to(page, 3)
    is_at(page, 3)
    page.mouse.up()
    page.keyboard.press("End")
    is_at(page, TURNS - 1)
    assert not page.evaluate("location.hash")
    page.evaluate("location.hash = '#4'")
    is_at(page, 4)
    assert page.evaluate("window.same")
    row = page.locator(".row[data-name=miner-02]")
    row.click(position={"x": width_of(row) * 2.5 / TURNS, "y": 5})
    page.wait_for_url(re.compile(r".*/2/miner-02(/index.html)?$"))
    page.go_back()
    is_at(page, 4)
    page.go_forward()
    page.keyboard.press("u")
    is_at(page, 2)
    page.close()


def test_a_run_plays_from_its_beginning_and_stops_at_its_end(shown: Shown) -> None:
    page = shown.at(f"{shown.runs['trust'].id}#0")
    is_at(page, 0)
    for _ in range(3):
        page.keyboard.press("+")
    expect(page.locator("[data-pace-shown]")).to_have_text("10 a second")
    page.evaluate("""window.seen = []; new MutationObserver(() => {
        window.seen.push(parseInt(document.querySelector("#moment h2").textContent.slice(5)));
    }).observe(document.querySelector("#moment"), {childList: true})""")
    page.keyboard.press("Space")
    is_at(page, TURNS - 1)
    expect(page.locator("[data-go=play]")).to_have_attribute("aria-pressed", "false")
    assert page.evaluate("window.seen") == list(range(1, TURNS))
    page.close()


def test_n_and_p_jump_to_the_marks_that_the_world_calls_landmarks(shown: Shown) -> None:
    page = shown.at(f"{shown.runs['mining'].id}#0")
    is_at(page, 0)
    assert page.locator("select[data-key=m]").input_value() == "capture"
    before = [turn for turn in shown.captures if turn > 0]
    for turn in before:
        page.keyboard.press("n")
        is_at(page, turn)
    page.keyboard.press("n")
    is_at(page, before[-1])
    page.keyboard.press("p")
    is_at(page, shown.captures[-2])
    page.close()


def test_keys_are_listed_and_lead_to_a_card(shown: Shown) -> None:
    page = shown.at(shown.runs["mining"].id)
    page.keyboard.press("?")
    assert {"←", "→", "space", "n", "?"} <= set(page.locator("dialog dt").all_text_contents())
    page.keyboard.press("Escape")
    for agent in ("miner-01", "miner-02"):
        page.keyboard.press("ArrowDown")
        assert agent in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("ArrowLeft")
    is_at(page, TURNS - 2)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{TURNS - 2}/miner-02")
    page.close()


def test_the_map_and_the_graph_show_one_choice_at_a_time_also_without_the_script(shown: Shown) -> None:
    page = shown.at(shown.runs["mining"].id, java_script_enabled=False)
    page.locator("label", has_text="rejections").click()
    chosen = page.locator("[name=map]:checked").input_value()
    maps = page.locator(".row .of-map:visible").evaluate_all("all => all.map(one => one.dataset.map)")
    assert maps == [chosen] * 4
    page.locator("label", has_text="scores").click()
    assert page.locator(".of-graph:visible polyline").count() == 4
    assert page.locator("svg.board").is_visible()
    assert not page.locator("[data-key='ArrowLeft']").is_visible()
    page.locator(".turns").get_by_role("link", name="2", exact=True).click()
    page.wait_for_url("**?first=2#2")
    assert page.locator("svg.board").is_visible()
    page.close()


def test_the_address_names_the_turn_the_graph_and_the_map(shown: Shown) -> None:
    """Whoever gets the address sees the same; a link back to a turn shows the first graph and map again."""
    page = shown.at(f"{shown.runs['mining'].id}#2")
    is_at(page, 2)
    first = page.locator("[name=map]:checked").input_value()
    page.locator("label", has_text="scores").click()
    page.locator("label", has_text="outcome").click()
    graph, chosen = (page.locator(f"[name={name}]:checked").input_value() for name in ("graph", "map"))
    assert page.evaluate("location.hash") == f"#2&graph={graph}&map={chosen}"
    page.keyboard.press("Escape")
    page.locator("[data-go=first]").click()
    is_at(page, 0)
    address = page.url
    page.close()
    again = shown.at(address)
    is_at(again, 0)
    assert again.locator("[name=graph]:checked").input_value() == graph
    assert again.locator("[name=map]:checked").input_value() == chosen
    again.evaluate("location.hash = '#5'")
    is_at(again, 5)
    assert again.locator("[name=map]:checked").input_value() == first != chosen
    again.close()


def test_printed_pages_are_light_and_whole(shown: Shown) -> None:
    """Also if the screen is dark, and a table is folded: nothing is cut off at the edge of the paper."""
    page = shown.at(
        shown.runs["nations"].id, viewport=ViewportSize(width=760, height=1000), color_scheme="dark"
    )
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 27, 27)"
    assert page.evaluate("getComputedStyle(document.querySelector('.board')).fill") == "rgb(27, 27, 27)"
    folded = page.locator("details.long")
    assert folded.count()
    assert folded.first.locator("td").first.is_visible()
    wide = "all => all.filter(one => one.scrollWidth > document.documentElement.clientWidth).length"
    assert page.locator(".wide").evaluate_all(wide) == 0
    page.close()


def test_a_turn_that_cannot_be_loaded_says_so(shown: Shown) -> None:
    """The server is gone, or the file of a turn was deleted."""
    page = shown.at(f"{shown.runs['mining'].id}#1")
    is_at(page, 1)
    page.context.set_offline(True)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#moment .warning")).to_contain_text("no longer served", timeout=60_000)
    page.context.set_offline(False)
    (shown.folder / "moments" / "6.js").unlink()
    page.goto((shown.folder / "index.html").as_uri())
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#moment .warning")).to_contain_text("turn 6 is missing", timeout=60_000)
    page.close()


def test_what_stands_below_the_timeline_of_a_large_run_comes_on_demand(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the script, as if it had been there from the beginning; without it, behind a link."""
    monkeypatch.setattr("hobbes.show.web.pages.MAX_WHOLE", 4 * TURNS - 1)
    run = shown.runs["mining"].id
    page = shown.at(f"{run}#2&map=0")
    row = page.locator(".row[data-name=miner-02]")
    expect(row).to_have_count(1, timeout=60_000)
    expect(page.locator("[data-part]")).to_have_count(0)
    assert page.locator("[name=map]:checked").input_value() == "0"
    page.keyboard.press("ArrowDown")
    assert (page.evaluate("document.activeElement.href") or "").endswith("/2/miner-01")
    row.click(position={"x": width_of(row) * 5.5 / TURNS, "y": 5})
    page.wait_for_url("**/5/miner-02")
    page.close()
    bare = shown.at(run, java_script_enabled=False)
    assert not bare.locator(".map").count()
    bare.locator("[data-part] a").click()
    bare.wait_for_url("**/results")
    assert bare.locator(".row").count() == 4
    bare.locator(".turns").get_by_role("link", name="2", exact=True).click()
    bare.wait_for_url("**?first=2#2")
    bare.close()


@pytest.mark.parametrize("world", [*MODELS])
def test_what_is_drawn_says_what_it_is_and_leads_to_the_card_of_who_did_it(shown: Shown, world: str) -> None:
    run = shown.runs[world]
    page = shown.at(f"{run.id}#2")
    is_at(page, 2)
    drawn = page.locator(".board a[data-of]")
    owners = drawn.evaluate_all("all => all.map(one => [one.dataset.of, one.getAttribute('href')])")
    assert {owner for owner, _ in owners} <= {*run.setting.agents}
    assert {address for owner, address in owners if owner == run.setting.agents[0]} == {
        f"/{run.id}/2/{run.setting.agents[0]}"
    }
    untold = "all => all.filter(one => !one.querySelector('title')?.textContent).length"
    assert page.locator(".board a[data-of]").evaluate_all(untold) == 0
    last = drawn.last
    owner = last.get_attribute("data-of")
    last.locator("text").first.click()
    page.wait_for_url(f"**/2/{owner}")
    page.close()


def test_one_agent_is_looked_at_alone(shown: Shown) -> None:
    """Its deeds, shapes, line and row stay; the others fade. The address keeps it, and `a` goes on."""
    page = shown.at(f"{shown.runs['mining'].id}#2&agent=miner-02")
    is_at(page, 2)
    others = page.locator("[data-of]:not([data-of=miner-02])")
    faded = "all => all.every(one => one.classList.contains('faded'))"
    assert others.count() > 9
    assert others.evaluate_all(faded)
    assert page.locator(".faded[data-of=miner-02]").count() == 0
    page.keyboard.press("ArrowRight")
    is_at(page, 3)
    assert page.locator(".who li:not(.faded)").count() == 1
    assert page.evaluate("location.hash") == "#3&agent=miner-02"
    page.keyboard.press("a")
    assert page.evaluate("location.hash") == "#3&agent=miner-03"
    page.locator("[data-focus]").select_option("")
    assert page.locator(".faded").count() == 0
    page.close()


def test_each_name_has_its_player_and_each_line_its_label(shown: Shown) -> None:
    """Also an agent whose deeds have no target tells them."""
    run = shown.runs["mining"]
    page = shown.at(run.id)
    is_at(page, TURNS - 1)
    players = [spec.removeprefix("policy:") for spec in run.models.values()]
    assert page.locator(".who small").all_text_contents() == players
    assert page.locator(".map .end").all_text_contents() == players
    assert page.locator(".who .did", has_text="mined").count()
    page.locator("label", has_text="scores").click()
    ends = page.locator(".ends svg:visible tspan[class^=i]").evaluate_all("all => all.map(o => o.dataset.of)")
    assert sorted(ends) == sorted(run.setting.agents)
    page.close()
