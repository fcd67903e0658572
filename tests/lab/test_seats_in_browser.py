"""Two people play from their seats in Chromium, each on a page of its own; and who opens the other pages."""

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
from tests.lab.browsing import chromium, serious_findings
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
    with run_server(server(home, "127.0.0.1")) as base, chromium() as browser:
        pages = [browser.new_page(viewport=NARROW, base_url=base) for _ in range(2)]
        for page, path in zip(pages, (first, second), strict=True):
            page.goto(path)
        yield Table(home, run.id, hurried, *pages)


def check(page: Page) -> None:
    """Axe finds nothing serious in dark and in light, and a telephone suffices."""
    schemes: tuple[Literal["dark", "light"], ...] = ("dark", "light")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        assert serious_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]


def test_two_people_play_a_game_with_keyboard_and_mouse(table: Table) -> None:
    first, second = table.first, table.second
    check(first)
    first.get_by_label("Reasoning").fill("not yet")
    first.get_by_label("Reasoning").press("Enter")  # which sends nothing
    first.get_by_label("Claim").fill("99 99")
    first.get_by_role("button", name="answer", exact=True).click()
    expect(first.get_by_role("alert")).to_contain_text("the plot lies outside the grid", timeout=PATIENCE)
    check(first)
    assert first.get_by_label("Claim").input_value() == "99 99"
    first.get_by_label("Claim").fill("0 0")
    first.get_by_label("Claim").press("Tab")
    first.get_by_role("button", name="answer", exact=True).press("Enter")
    expect(first.get_by_role("status")).to_contain_text("You are not asked anything now", timeout=PATIENCE)
    check(first)
    second.get_by_text("write the whole answer as text").click()
    check(second)
    second.get_by_label("the answer, a JSON object").fill('{"claim": [[9, 9]]}')
    second.get_by_role("button", name="answer with this text").click()
    for page in (first, second):  # they look again by themselves until the turn is played
        expect(page.get_by_role("heading", level=1)).to_contain_text("turn 1", timeout=PATIENCE)
        page.get_by_role("button", name="answer", exact=True).click()
    for page in (first, second):
        expect(page.get_by_text("The game is over")).to_be_visible(timeout=PATIENCE)


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
