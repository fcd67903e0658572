"""Cards and comparisons in Chromium: what a stranger asks of a run is answered by clicks."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from hobbes.play.start import RunOptions
from hobbes.show.web.server import server
from hobbes.store.home import open_store
from hobbes.wire.recorder import run_server
from tests.browser import chromium
from tests.play.test_fork import forked
from tests.small_runs import go, played

WIDE = ViewportSize(width=1280, height=900)
TURNS = 8
PARTING = 3
"""The turn in which the fork differs from its parent."""


@dataclass(frozen=True)
class Shown:
    """A run of nations and its fork, where their pages are served."""

    browser: Browser
    url: str
    parent: str
    child: str

    def at(self, address: str, viewport: ViewportSize = WIDE) -> Page:
        """Open a page; what its script throws fails the test."""
        page = self.browser.new_page(viewport=viewport)
        page.on("pageerror", lambda error: pytest.fail(str(error)))
        page.goto(f"{self.url}/{address}")
        return page


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """Play a run in which AgentA answers badly, and a fork in which AgentB attacks it."""
    home = tmp_path_factory.mktemp("home")
    models = "policy:random?noise=0.9*1,policy:reciprocal-trader*2"
    with open_store(home) as opened:
        parent = played(opened, RunOptions("nations", 3, models=models, values={"rounds": TURNS}))
        attack = '{"purchase_mils": 1, "attacks": {"AgentA": 2, "AgentZ": 1}, "reasoning": "I try."}'
        child = go(opened, forked(opened, parent, PARTING, answers={"AgentB": attack}))
    expect.set_options(timeout=60_000)
    with run_server(server(home, "127.0.0.1")) as url, chromium() as browser:
        yield Shown(browser, url, parent.id, child.id)


def card_of(page: Page, agent: str, turn: int) -> None:
    """Wait until the page is the card of an agent and a turn."""
    page.wait_for_url(f"**/{turn}/{agent}")
    expect(page.locator("h1")).to_contain_text(f"{agent}, turn {turn}")


def test_clicks_lead_to_the_first_attack_and_to_what_was_said_before_and_after(shown: Shown) -> None:
    page = shown.at(f"{shown.child}#0")
    page.get_by_label("the kind of marks").select_option("attack")
    did = page.locator("#moment li", has_text="AgentB").locator(".did", has_text="attacked")
    turn = -1
    while turn < PARTING:
        before = page.locator("#moment h2").inner_text()
        page.locator("[data-jump='1']").click()
        expect(page.locator("#moment h2")).not_to_have_text(before)
        turn = int(page.locator("#moment h2").inner_text().split()[1])
        assert did.count() == (turn == PARTING)
    page.locator("#moment li a", has_text="AgentB").click()
    card_of(page, "AgentB", PARTING)
    expect(page.locator(".why")).to_contain_text("I try.")
    expect(page.locator(".lead")).to_contain_text("attacked")
    for way, to in (("prev", PARTING - 1), ("next", PARTING), ("next", PARTING + 1)):
        page.locator(f"[rel={way}]").click()
        card_of(page, "AgentB", to)
        expect(page.locator(".answer")).to_contain_text("reasoning")
    page.close()


def test_keys_lead_to_the_decision_in_which_two_runs_part(shown: Shown) -> None:
    page = shown.at("")
    first = page.locator("[name=a]").first
    while not first.evaluate("one => one === document.activeElement"):
        page.keyboard.press("Tab")
    for key in ("Space", "Tab", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url("**/compare?*")
    card = page.locator(f"dd + dt a, dt a[href*='/{PARTING}/']").first
    while not card.evaluate("one => one === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("details", has_text="prompt").first).to_be_attached()
    card_of(page, "AgentB", PARTING)
    page.close()
