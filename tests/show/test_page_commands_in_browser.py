"""Commands are copied from the pages in Chromium."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from hobbes.show.web.server import server
from hobbes.store.home import open_store
from hobbes.wire.recorder import run_server
from tests.browser import chromium
from tests.small_runs import mining

NARROW = ViewportSize(width=400, height=800)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one run."""
    home = tmp_path_factory.mktemp("doing")
    with open_store(home) as store:
        mining(store, name="story")
    return home


@pytest.fixture(scope="module")
def page(home: Path) -> Iterator[Page]:
    """A narrow page of the home, which may use the clipboard."""
    with run_server(server(home, "127.0.0.1")) as base, chromium() as browser:
        context = browser.new_context(
            viewport=NARROW, base_url=base, permissions=["clipboard-read", "clipboard-write"]
        )
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: pytest.fail(str(error)))
        yield page


def test_a_button_copies_the_command_of_the_page_and_of_the_turn_that_is_shown(
    page: Page, home: Path
) -> None:
    for address, command in (("/story/2/miner-02", "2 miner-02"), ("/story#1", "1")):
        page.goto(address)
        expect(page.locator(".command code")).to_contain_text(f" {command} --home {home}")
        page.locator(".command [data-copy]").click()
        expect(page.locator(".command [data-copy]")).to_have_text("copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert re.fullmatch(rf"hobbes trace \S+ {command} --home {home}", copied)
