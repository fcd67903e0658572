"""Every page in Chromium: axe, a telephone, a dark screen, the keyboard, and links from one to another."""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, ViewportSize, expect

from hobbes.play.start import RunOptions
from hobbes.probe.situations import Situation
from hobbes.show.web.server import PAGES, server
from hobbes.store.home import open_store
from hobbes.store.notes import Place
from hobbes.wire.recorder import run_server
from hobbes.worlds import WORLDS
from tests.browser import axe_findings, chromium
from tests.small_probes import asked, heeding
from tests.small_runs import played

NARROW, WIDE = ViewportSize(width=400, height=800), ViewportSize(width=1400, height=900)
MODELS = {
    "mining": "policy:guided*2,policy:random?noise=0.5*1",
    "nations": "policy:random*2,policy:militarist*1",
    "trust": "policy:copykitten*2,policy:grudger*1",
}

OF_A_HOME = {
    "/": ("/", "/?where=experiment%3Dsmall&sort=-score"),
    "/experiments/{name}": ("/experiments/small",),
    "/probes/{name}": ("/probes/p", "/probes/p?situation=1&column=recorded"),
    "/search": ("/search", "/search?q=attack&kind=answer", "/search?q=attacc"),
}
OF_A_WORLD = ("/RUN#3", "/RUN/3/AGENT")
"""The pages of a run on which each world draws in its own way."""
OF_A_RUN = {
    "/{run}": ("/RUN#3",),
    "/{run}/{turn:number}": ("/RUN/3",),
    "/{run}/{turn:number}/{agent}": ("/RUN/3/AGENT",),
    "/compare": ("/compare?a=RUN&b=other-RUN",),
    "/{run}/diary": ("/RUN/diary", "/RUN/diary?agent=AGENT&other=OTHER&event=attack"),
}
"""The addresses that are opened, by those that the site has."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the home lies."""
    return tmp_path_factory.mktemp("every")


@pytest.fixture(scope="module")
def page(folder: Path, small_experiment: Path) -> Iterator[Page]:
    """A narrow page of a home with two runs of each world and an experiment."""
    shutil.copytree(small_experiment, folder / "home")
    with open_store(folder / "home") as store:
        for world, models in MODELS.items():
            for seed, name in ((1, world), (2, f"other-{world}")):
                played(store, RunOptions(world, 3, seed, models, values={"rounds": 5}, name=name))
        noted = Place(store.runs.find("nations").id, 3, "AgentA")
        store.notes.keep(noted, tags=["promise-broken"], text="It said otherwise.")
        with heeding():
            asked(store, name="p", situation=[Situation(run="trust", turn=1, agent="unit-a")], times=2)
    with run_server(server(folder / "home", "127.0.0.1")) as base, chromium() as browser:
        allowed = ["clipboard-read", "clipboard-write"]
        page = browser.new_context(viewport=NARROW, base_url=base, permissions=allowed).new_page()
        page.add_init_script(AXE_SCRIPT)  # which is quicker than to send it for each page
        page.on("pageerror", lambda error: pytest.fail(str(error)))
        page.on("console", lambda told: pytest.fail(told.text) if told.type == "error" else None)
        yield page


def test_no_page_of_the_site_is_left_out() -> None:
    whole = {
        address for address in PAGES if not address.endswith((".html", ".svg"))
    }  # others are parts of pages
    assert whole == {*OF_A_HOME, *OF_A_RUN}


REACHED = """() => {
    const within = (one) => one.closest("details:not([open]) > :not(summary), [hidden]");
    const what = "a[href], button, input:not([type=hidden]), select, textarea, summary";
    const missed = (one) => !within(one) && one.tabIndex < 0;
    return [...document.querySelectorAll(what)].filter(missed).map((one) => one.outerHTML);
}"""
"""The links and controls that Tab does not reach."""


def check(page: Page, address: str, *, dark: bool = False) -> None:
    """Check a page as it is loaded on a telephone."""
    page.set_viewport_size(NARROW)
    page.emulate_media(color_scheme="dark" if dark else "light")
    page.goto(address)
    assert axe_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"], address
    assert page.evaluate(REACHED) == []


def filled_in(address: str, world: str) -> str:
    """Return an address with a run of a world and two of its agents."""
    one, other = WORLDS[world].names(2)
    return address.replace("RUN", world).replace("AGENT", one).replace("OTHER", other)


@pytest.mark.parametrize("of", [OF_A_HOME, OF_A_RUN], ids=["home", "run"])
def test_every_page_can_be_used_by_everybody(page: Page, of: Mapping[str, Sequence[str]]) -> None:
    """Each is seen in light on a telephone and in dark on a wide screen; no colour depends on the width."""
    for first, *others in of.values():
        check(page, filled_in(first, "nations"))
        page.set_viewport_size(WIDE)
        page.emulate_media(color_scheme="dark")
        assert axe_findings(page) == []
        for address in others:
            check(page, filled_in(address, "nations"), dark=True)


@pytest.mark.parametrize("world", [world for world in WORLDS if world != "nations"])
def test_what_a_world_draws_can_be_used_by_everybody(page: Page, world: str) -> None:
    for address in OF_A_WORLD:
        check(page, filled_in(address, world), dark=True)


def test_a_column_is_sorted_by_its_numbers_and_then_the_other_way_round(page: Page) -> None:
    page.goto("/compare?a=mining&b=other-mining")
    table = page.locator("table", has=page.locator("caption", has_text="scores"))
    for order in ("ascending", "descending"):
        table.get_by_role("button", name="B").click()
        assert table.locator("th[aria-sort]").get_attribute("aria-sort") == order
        scores = [int(score) for score in table.locator("td:last-child").all_inner_texts()]
        assert scores == sorted(scores, reverse=order == "descending") != scores[::-1]


def test_who_broke_its_word_is_found_by_clicking(page: Page) -> None:
    """From the run to the attacks in its diary, to the card, to the diary of its agent, and back."""
    page.goto("/nations")
    page.get_by_role("link", name="diary").click()
    page.get_by_label("event").select_option("attack")
    page.get_by_role("button", name="show").click()
    turn = page.locator(".day h2").first.inner_text()
    attack = page.locator(".entry", has=page.locator(".mark", has_text="attack")).first
    attack.get_by_role("link").first.click()
    assert page.locator("h1").inner_text().endswith(turn)
    assert "attacked" in page.locator(".lead").inner_text()
    page.locator(".wanted").get_by_role("link", name="diary").click()
    assert page.locator("h1").inner_text() != "Diary of all agents"
    assert page.locator(".day h2").first.inner_text() == turn
    page.get_by_role("link", name="diary", exact=True).click()
    assert page.locator("h1").inner_text() == "Diary of all agents"


def test_two_runs_that_are_chosen_by_keyboard_are_compared(page: Page) -> None:
    page.goto("/")
    page.locator("[name=a]").first.focus()
    for key in ("Space", "Tab", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url("**/compare?*")
    assert "First decision that differs" in page.locator("main").inner_text()


def test_the_turn_of_a_diary_stays_in_sight(page: Page) -> None:
    """Far below the heading of a turn one still reads which turn it is."""
    for size in (NARROW, WIDE):
        page.set_viewport_size(ViewportSize(width=size["width"], height=200))
        page.goto("/nations/diary")
        page.locator("#turn-2 .entry").last.evaluate("one => one.scrollIntoView({block: 'center'})")
        heading = page.locator("#turn-2 h2").bounding_box()
        assert heading is not None
        assert 0 <= heading["y"] < 1


def test_a_button_copies_the_command_of_the_page_and_of_the_turn_that_is_shown(
    page: Page, folder: Path
) -> None:
    for address, command in (("/trust/2/unit-a", "2 unit-a"), ("/trust#1", "1")):
        page.goto(address)
        expect(page.locator(".command code")).to_contain_text(f" {command} --home", timeout=60_000)
        page.locator(".command [data-copy]").click()
        expect(page.locator(".command [data-copy]")).to_have_text("copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert re.fullmatch(rf"hobbes trace \S+ {command} --home {folder / 'home'}", copied)


def test_the_page_of_a_run_that_is_being_played_is_loaded_again(page: Page, folder: Path) -> None:
    """Not while somebody looks at an earlier turn."""
    with open_store(folder / "home") as store:
        run = store.runs.find("mining")
        store.runs.update(run.id, status="unfinished")
        with store.playing(run.id):
            page.clock.install()
            page.goto("/mining")
            with page.expect_event("load", timeout=60_000):
                page.clock.run_for(60_000)
            page.goto("/mining#1")
            page.evaluate("window.same = true")
            page.clock.run_for(60_000)
            assert page.evaluate("window.same")
            page.clock.resume()
        store.runs.update(run.id, status="finished")
