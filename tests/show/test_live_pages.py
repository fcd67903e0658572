"""The page of a run that is being played, in Chromium: who is thinking, and each answer as it arrives."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from hobbes.engine.answer import FoundAs, Outcome
from hobbes.nodes.journal import Address, Call, Prompt, Reply
from hobbes.play.start import RunOptions, begin
from hobbes.show.web.server import server
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.run_journal import RunJournal
from hobbes.wire.recorder import run_server
from tests.browser import axe_findings, chromium


@pytest.fixture
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def arrives(store: Store, run: Run, agent: str, text: str) -> None:
    """Store an answer in the turn that is being played."""
    reply = Reply(text, "m", milliseconds=1500)
    call = Call(Address(run.turns, agent), Prompt("", agent), reply, Outcome.ANSWERED, FoundAs.JSON)
    with store.db.conn:
        RunJournal(store, run).give([call])


def told(page: Page) -> str:
    """What the page tells of the turn that is being played."""
    return page.locator("#now").inner_text()


def test_the_page_of_a_run_shows_who_is_thinking_and_each_answer_as_it_arrives(
    opened: Store, home: Path, browser: Browser
) -> None:
    """The page is loaded again every two seconds."""
    run = begin(opened, RunOptions("mining", 3))
    with run_server(server(home, "127.0.0.1")) as url, opened.playing(run.id):
        page = browser.new_page()
        page.goto(f"{url}/{run.id}")
        assert page.locator(".thinking span").count() == 3
        for arrived, agent in enumerate(("miner-02", "miner-01"), 1):
            arrives(opened, run, agent, f"<b>mine</b> as {agent}")
            expect(page.locator("#now li")).to_have_count(arrived, timeout=60_000)
            expect(page.locator("#now li", has_text=agent)).to_contain_text(f"<b>mine</b> as {agent}")
        assert page.locator(".thinking").inner_text().endswith("miner-03")
        assert "1.5 s" in told(page)
        assert axe_findings(page) == []
        page.locator("#now li a").first.click()
        page.wait_for_url("**/0/miner-01")
        page.close()
