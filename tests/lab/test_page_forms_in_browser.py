"""Forks, tests and commands from the pages in Chromium, by keyboard alone."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from hobbes.lab.show.viewing import server
from hobbes.lab.store.home import open_store
from hobbes.lab.wire.recording import run_server
from tests.lab.browsing import chromium
from tests.lab.play import mining
from tests.lab.test_fork import PASSING

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


def tab_to(page: Page, what: str) -> None:
    """Press Tab until an element has the focus."""
    while not page.locator(what).evaluate("one => one === document.activeElement"):
        page.keyboard.press("Tab")


def test_a_fork_with_another_answer_is_played_and_its_page_reloads_until_it_ends(
    page: Page, home: Path
) -> None:
    page.goto("/story/2/miner-02")
    page.keyboard.press("f")
    page.wait_for_url("**/fork?turn=2&agent=miner-02")
    expect(page.locator("dd").first).to_have_text("none")
    tab_to(page, "#answer")
    page.keyboard.press("Control+a")
    page.keyboard.type(PASSING)  # its letters are keys of the page elsewhere
    expect(page.locator("#answer")).to_have_value(PASSING)
    tab_to(page, "form[method=post] button")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "fork" not in url)
    expect(page.locator("main")).to_contain_text(re.compile("forked from .* at turn 2"))
    expect(page.locator(".about").first).to_contain_text("finished", timeout=60_000)
    with open_store(home) as store:
        fork = store.runs.find(page.url.rpartition("/")[2])
        assert store.calls.attempts(fork.id, 2, "miner-02")["miner-02"][-1].reply.text == PASSING


def test_a_turn_is_pinned(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page.goto("/story#1")
    expect(page.locator("#moment h2")).to_contain_text("Turn 1 ")
    page.keyboard.press("t")
    page.wait_for_url("**/pin?turn=1")
    tab_to(page, "[name=name]")
    page.keyboard.press("Enter")
    expect(page.locator("[role=status]")).to_contain_text("tests/test_story_1.py")
    assert (tmp_path / "tests" / "story_1.json").exists()
    page.get_by_role("button", name="write the test").click()
    expect(page.get_by_role("alert")).to_contain_text("already exists")


def test_c_copies_the_command_of_the_page_and_of_the_turn_that_is_shown(page: Page, home: Path) -> None:
    for address, command in (("/story/2/miner-02", "2 miner-02"), ("/story#1", "1")):
        page.goto(address)
        expect(page.locator(".command code")).to_contain_text(f" {command} --home {home}")
        page.keyboard.press("c")
        expect(page.locator("[data-copy]")).to_have_text("copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert re.fullmatch(rf"hobbes trace \S+ {command} --home {home}", copied)


def test_a_recorded_answer_goes_when_another_prompt_is_chosen(page: Page) -> None:
    page.goto("/story/fork?turn=2&agent=miner-02")
    recorded = page.locator("#answer").input_value()
    assert recorded
    page.locator("[name=settings]").fill("immunity=3")
    expect(page.locator("#answer")).to_have_value("")
    page.locator("[name=settings]").fill("")
    expect(page.locator("#answer")).to_have_value(recorded)
    page.locator("#answer").fill(PASSING)
    page.locator("[name=lang]").select_option("zh")
    expect(page.locator("#answer")).to_have_value(PASSING)
