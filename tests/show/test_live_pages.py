"""The page of a run that is being played, in Chromium: who is thinking, and each answer as it arrives."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from hobbes.engine.answer import FoundAs, Outcome
from hobbes.nodes.journal import Address, Call, Prompt, Reply
from hobbes.play.start import RunOptions, begin
from hobbes.show.web.server import server
from hobbes.store.home import Store, open_store
from hobbes.store.policy_games import with_turns
from hobbes.store.recorded_run import Run
from hobbes.store.run_journal import RunJournal
from hobbes.wire.recorder import run_server
from tests.browser import axe_findings, chromium


@pytest.fixture(scope="module")
def browser(small_experiment: Path) -> Iterator[Browser]:
    """A browser, which is started after what is to be seen has been played."""
    assert small_experiment.exists()
    with chromium() as found:
        yield found


def arrives(store: Store, run: Run, agent: str, text: str) -> None:
    """Store an answer in the turn that is being played."""
    reply = Reply(text, "m", milliseconds=1500)
    call = Call(Address(run.turns, agent), Prompt("", agent), reply, Outcome.ANSWERED, FoundAs.JSON)
    with store.db.conn:
        RunJournal(store, run).insert([call])


def told(page: Page) -> str:
    """What the page tells of the turn that is being played."""
    return page.locator("#now").inner_text()


def test_the_page_of_a_run_shows_who_is_thinking_and_each_answer_as_it_arrives(
    opened: Store, home: Path, browser: Browser
) -> None:
    run = begin(opened, RunOptions("mining", 3))
    with run_server(server(home, "127.0.0.1")) as url, opened.playing(run.id):
        page = browser.new_page()
        page.goto(f"{url}/{run.id}")
        assert page.locator(".thinking span").count() == 3
        page.evaluate("window.same = true")
        for arrived, agent in enumerate(("miner-02", "miner-01"), 1):
            arrives(opened, run, agent, f"<b>mine</b> as {agent}")
            expect(page.locator("#now li")).to_have_count(arrived, timeout=60_000)
            expect(page.locator("#now li", has_text=agent)).to_contain_text(f"<b>mine</b> as {agent}")
        assert page.locator(".thinking").inner_text().endswith("miner-03")
        assert "1.5 s" in told(page)
        assert page.evaluate("window.same")
        assert axe_findings(page) == []
        page.locator("#now li a").first.click()
        page.wait_for_url("**/0/miner-01")
        page.close()


def test_a_page_that_listens_does_not_keep_its_server_from_stopping(
    opened: Store, home: Path, browser: Browser
) -> None:
    run = begin(opened, RunOptions("mining", 2))
    page = browser.new_page()
    with opened.playing(run.id), run_server(server(home, "127.0.0.1")) as url:
        with page.expect_request("**/now"):
            page.goto(f"{url}/{run.id}")
        assert httpx2.get(f"{url}/nothing/now").status_code == 404
    page.close()


def test_the_page_of_an_experiment_shows_all_runs_that_are_played_at_once(
    small_experiment: Path, tmp_path: Path, browser: Browser
) -> None:
    home = tmp_path / "home"
    shutil.copytree(small_experiment, home)
    with open_store(home) as store, ExitStack() as locks:
        ids = [row["id"] for row in store.figures.of_all_runs()][:3]
        runs = [with_turns(store, store.runs.find(run)) for run in ids]
        for run in runs:
            store.runs.update(run.id, status="unfinished")
            locks.enter_context(store.playing(run.id))
        with run_server(server(home, "127.0.0.1")) as url:
            page = browser.new_page()
            page.goto(f"{url}/experiments/small")
            assert page.locator("#now h2").count() == len(runs)
            for run in runs:
                arrives(store, run, run.setting.agents[0], f"as in {run.id}")
                expect(page.locator("#now")).to_contain_text(f"as in {run.id}", timeout=60_000)
            page.close()
