"""Search, messages, judgements and experiments in Chromium."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize

from hobbes.lab.play.playing import RunOptions
from hobbes.lab.show.exporting import export
from hobbes.lab.show.viewing import server
from hobbes.lab.store.home import open_store
from hobbes.lab.wire.recording import running
from tests.lab.browsing import chromium
from tests.lab.play import played

NARROW = ViewportSize(width=400, height=800)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the home lies, and the pages of the war that was exported."""
    return tmp_path_factory.mktemp("talk")


@pytest.fixture(scope="module")
def page(folder: Path, small_experiment: Path) -> Iterator[Page]:
    """A narrow page of a home with a war and an experiment."""
    home = folder / "home"
    shutil.copytree(small_experiment, home)
    with open_store(home) as store:
        models = "policy:random*3,policy:militarist*1"
        war = played(store, RunOptions("nations", 4, 3, models, values={"rounds": 5}, name="war"))
        export(store, war, "html", folder / "pages")
    with running(server(home, "127.0.0.1")) as base, chromium() as browser:
        page = browser.new_page(viewport=NARROW, base_url=base)
        page.on("pageerror", lambda error: pytest.fail(str(error)))
        yield page


@pytest.mark.parametrize("place", ["served", "on disk"])
def test_who_broke_its_word_is_found_by_clicking(page: Page, folder: Path, place: str) -> None:
    """From the run to the attacks, from an attack to what both said, from there to the card and back."""
    page.goto("/war" if place == "served" else (folder / "pages" / "index.html").as_uri())
    page.get_by_role("link", name="judgements and deeds").click()
    page.locator("table", has=page.get_by_text("attack: mils")).locator("td a").first.click()
    assert page.locator("h1").inner_text().startswith("Between ")
    attack = page.locator(".done", has=page.locator("b", has_text="attack")).first
    turn = page.locator(".talk", has=attack).get_by_role("link", name="turn").first.inner_text()
    attack.get_by_role("link").first.click()
    assert page.locator("h1").inner_text().endswith(turn)
    said = page.locator("p", has_text="what was said before and after").get_by_role("link").first
    said.click()
    assert page.locator("h1").inner_text().startswith("Between ")
    assert page.locator(".talk:target h2").inner_text() == turn
    page.get_by_role("link", name="messages", exact=True).click()
    page.locator(".said a").first.click()
    assert "turn" in page.locator("h1").inner_text()
