"""Search, messages, judgements and experiments in Chromium."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, ViewportSize

from lab.play.playing import RunOptions
from lab.show.viewing import server
from lab.store.database import open_store
from lab.wire.recording import running
from tests.lab.browsing import chromium, serious_findings
from tests.lab.play import played
from tests.lab.test_experiments import play_all, written

NARROW = ViewportSize(width=400, height=800)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A narrow page of a home with a war and an experiment."""
    folder = tmp_path_factory.mktemp("talk")
    home = folder / "home"
    with open_store(home) as store:
        models = "policy:random*3,policy:militarist*1"
        played(store, RunOptions("nations", 4, 3, models, values={"rounds": 5}, name="war"))
        play_all(store, written(folder))
    with running(server(home, "127.0.0.1")) as base, chromium() as browser:
        yield browser.new_page(viewport=NARROW, base_url=base)


def test_who_broke_its_word_is_found_by_clicking(page: Page) -> None:
    """From the run to the attacks, from an attack to what both said, from there to the card."""
    page.goto("/war")
    page.get_by_role("link", name="judgements and deeds").click()
    page.locator("table", has=page.get_by_text("attack: mils")).locator("td a").first.click()
    assert page.locator("h1").inner_text().startswith("Between ")
    assert page.locator(".done b", has_text="attack").count()
    page.get_by_role("link", name="messages", exact=True).click()
    page.locator(".said a").first.click()
    assert "turn" in page.locator("h1").inner_text()


def test_axe_finds_nothing_serious_and_a_telephone_suffices(page: Page) -> None:
    addresses = (
        "/war/judgements",
        "/war/messages",
        "/war/messages?between=AgentA,AgentB",
        "/search?q=attack",
        "/experiments",
        "/experiments/small",
    )
    for place, address in enumerate(addresses):
        page.emulate_media(color_scheme="dark" if place % 2 else "light")
        page.goto(address)
        assert serious_findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"], address
