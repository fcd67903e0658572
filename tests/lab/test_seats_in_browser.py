"""Two people play from their seats in Chromium, each on a page of its own; and who opens the other pages."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from hobbes.lab.play.playing import RunOptions, begin
from hobbes.lab.play.seats import path_of, seats_of
from hobbes.lab.show.viewing import server
from hobbes.lab.store.home import open_store
from hobbes.lab.wire.recording import run_server
from tests.lab.browsing import axe_findings, chromium
from tests.lab.play import go

NARROW = ViewportSize(width=400, height=800)

PATIENCE = 120_000
"""How many milliseconds a page may take on a slow machine, which looks again every two seconds."""


class Table(NamedTuple):
    """The pages of two people, each at its seat."""

    home: Path
    run: str
    hurried: str
    """The path of a seat in a run in which the time for an answer is limited."""
    rich: str
    """The path of a seat in a run of nations with resources."""
    first: Page
    second: Page


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """Two people and a policy before their first answers."""
    home = tmp_path_factory.mktemp("seats") / "home"
    with open_store(home) as store:
        options = RunOptions("mining", 3, models="human*2,policy:guided", values={"rounds": 2})
        run = go(store, begin(store, options))
        first, second = (path_of(home, run, seat) for seat in seats_of(run))
        values: dict[str, Any] = {"rounds": 1, "seconds_per_turn": 100_000}
        limited = begin(store, RunOptions("mining", 2, models="human*1,policy:guided", values=values))
        hurried = path_of(home, go(store, limited), "miner-01")
        values = {"rounds": 1, "resources": True}
        nations = begin(store, RunOptions("nations", 3, models="human*1,policy:random", values=values))
        rich = path_of(home, go(store, nations), "AgentA")
    with run_server(server(home, "127.0.0.1")) as base, chromium() as browser:
        pages = [browser.new_page(viewport=NARROW, base_url=base) for _ in range(2)]
        for page, path in zip(pages, (first, second), strict=True):
            page.goto(path)
        yield Table(home, run.id, hurried, rich, *pages)


def check(page: Page) -> None:
    """Axe finds nothing serious in dark and in light, and a telephone suffices."""
    schemes: tuple[Literal["dark", "light"], ...] = ("dark", "light")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        assert axe_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]


def test_two_people_play_a_game_with_keyboard_and_mouse(table: Table) -> None:
    first, second = table.first, table.second
    check(first)
    first.get_by_text("the plots in writing").click()
    first.get_by_label("Reasoning").fill("not yet")
    first.get_by_label("Reasoning").press("Enter")  # which sends nothing
    claim = first.get_by_role("textbox", name="Claim")
    claim.fill("99 99")
    first.get_by_role("button", name="answer", exact=True).click()
    expect(first.get_by_role("alert")).to_contain_text("the plot lies outside the grid", timeout=PATIENCE)
    check(first)
    expect(claim).to_have_value("99 99")
    claim.fill("")
    for plot in ("0 0", "0 1", "0 1"):  # the second click on a plot takes the first one back
        first.get_by_role("button", name=f"plot {plot}, free").click()
    expect(claim).to_have_value("0 0")
    expect(first.get_by_role("button", name="plot 0 0, free, claim")).to_contain_text("C")
    expect(first.get_by_text("stamina: 9 of 10 left")).to_be_visible()
    check(first)
    first.get_by_role("button", name="answer", exact=True).press("Enter")
    expect(first.get_by_role("status")).to_contain_text("You are not asked anything now", timeout=PATIENCE)
    check(first)
    second.get_by_text("write the whole answer as text").click()
    check(second)
    second.get_by_label("the answer, a JSON object").fill('{"claim": [[9, 9]]}')
    second.get_by_role("button", name="answer with this text").click()
    for page in (first, second):  # they look again by themselves until the turn is played
        expect(page.get_by_role("heading", level=1)).to_contain_text("turn 1", timeout=PATIENCE)
    first.get_by_role("radio", name="mine").check()
    for _ in range(2):
        first.get_by_role("button", name="plot 0 0, miner-01").click()
    expect(first.get_by_text("stamina: 8 of 10 left")).to_be_visible()
    for page in (first, second):
        page.get_by_role("button", name="answer", exact=True).click()
    for page in (first, second):
        expect(page.get_by_text("The game is over")).to_be_visible(timeout=PATIENCE)
    with open_store(table.home) as store:
        (call,) = store.calls.of_turn(table.run, 1, "miner-01")
    assert json.loads(call.reply.text) == {"mine": [{"cell": [0, 0], "s": 2}]}


def test_what_is_left_of_each_resource_is_counted_while_it_is_granted(table: Table) -> None:
    page = table.first
    page.goto(table.rich)
    page.get_by_label("resource grants: AgentB: food").fill("3")
    page.get_by_label("resource grants: AgentC: food").fill("4")
    page.get_by_label("money grants: AgentC").fill("4")
    left = {"energy": "100 of 100", "food": "18 of 25", "minerals": "25 of 25", "money": "26 of 30"}
    for name, told in left.items():
        expect(page.get_by_text(f"{name}: {told} left")).to_be_visible()
    check(page)


def test_the_seconds_that_are_left_are_counted_down(table: Table) -> None:
    page = table.first
    page.clock.install()
    page.goto(table.hurried)
    timer = page.get_by_role("timer")
    before = int(timer.get_attribute("data-left") or 0)
    page.clock.fast_forward(5_000_000)
    assert 0 < int(timer.inner_text().split()[0]) <= before - 5_000
    page.clock.fast_forward(95_000_000)
    expect(timer).to_have_text("0 seconds")


def test_a_link_with_the_token_opens_the_pages_also_from_another_site(table: Table) -> None:
    """A browser sends no strict cookie where another site's link leads, also not after a redirect."""
    token = "the-token-of-the-pages"  # noqa: S105
    browser = table.first.context.browser
    assert browser is not None
    with run_server(server(table.home, "127.0.0.1", token)) as base:
        page = browser.new_page()
        link = f'<a href="{base}/experiments?token={token}">the pages</a>'
        page.route("http://other.example/", lambda route: route.fulfill(body=link, content_type="text/html"))
        page.goto("http://other.example/")
        page.click("a")
        expect(page.get_by_role("heading", name="Experiments")).to_be_visible(timeout=PATIENCE)
        assert page.url == f"{base}/experiments"
