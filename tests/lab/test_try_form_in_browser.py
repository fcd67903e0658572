"""`Try another prompt` in Chromium: type, see what changes, ask, and see answers as they come."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from hobbes.lab.play.playing import RunOptions
from hobbes.lab.show.viewing import server
from hobbes.lab.store.home import open_store
from hobbes.lab.wire.recording import run_server
from tests.lab.browsing import axe_findings, chromium
from tests.lab.play import played
from tests.lab.probing import MODEL, heeding

WIDE, NARROW = ViewportSize(width=1400, height=900), ViewportSize(width=400, height=800)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """A wide page of a home with a duel, whose model heeds a word of its prompt."""
    monkeypatch.chdir(tmp_path)
    with heeding():
        with open_store(tmp_path / "home") as store:
            played(store, RunOptions("trust", 2, models=MODEL, values={"rounds": 4}, name="duel"))
        with run_server(server(tmp_path / "home", "127.0.0.1")) as base, chromium() as browser:
            page = browser.new_page(viewport=WIDE, base_url=base)
            page.set_default_timeout(60_000)
            page.on("pageerror", lambda error: pytest.fail(str(error)))
            page.on("console", lambda told: pytest.fail(told.text) if told.type == "error" else None)
            yield page


def test_a_sentence_is_typed_its_change_is_seen_and_answers_come_while_the_next_is_typed(
    page: Page, tmp_path: Path
) -> None:
    page.goto("/duel/2/unit-a")
    page.keyboard.press("e")
    page.wait_for_url("**/try?turn=2&agent=unit-a")
    preview, answers = page.locator("#preview"), page.locator("#answers")
    system = page.locator("textarea").first
    expect(preview).to_contain_text("Nothing yet: this is the prompt that was sent in the game.")
    system.press("Control+End")
    page.keyboard.type("\nBe peaceful.")
    expect(preview.locator("ins").first).to_contain_text("Be peaceful.")
    page.get_by_label("folder").fill("./mine")
    page.keyboard.press("Enter")  # it sends nothing
    page.get_by_label("times").fill("2")
    expect(preview).to_contain_text("4 answers to ask")
    page.get_by_role("button", name="ask").click()
    page.wait_for_url("**#answers")
    system.press("Control+End")
    page.keyboard.type("{{")
    for column in ("recorded", "./mine"):
        of_column = answers.locator(".beside section", has_text=column)
        expect(of_column.locator("li")).to_have_count(2, timeout=60_000)
    expect(answers).not_to_contain_text("Answers arrive", timeout=60_000)
    assert system.input_value().endswith("Be peaceful.{{")
    expect(preview.locator(".warning")).to_contain_text("system.en.md, line", timeout=60_000)
    assert (tmp_path / "mine" / "system.en.md").read_text().endswith("\nBe peaceful.")
    for size, scheme in ((WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark")):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        assert axe_findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
