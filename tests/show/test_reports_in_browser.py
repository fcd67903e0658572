"""A report in Chromium: what is to be seen before the methods, and the methods unfolded."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, ViewportSize

from hobbes.experiment.report import report
from hobbes.show.report_text import html, report_document
from hobbes.show.web.server import server
from hobbes.store.home import open_store
from hobbes.wire.recorder import run_server
from tests.browser import axe_findings, chromium
from tests.small_experiment import play_all, written

THREE = """
name = "three"
question = "Does longer immunity, or advice, change how miners play?"
world = "mining"
rounds = 2
agents = 3
seeds = 3
model = "policy:guided?noise=0.3*2,policy:random*1"
set = { rows = 4, cols = 4 }

[arms.open]

[arms.immune]
set = { immunity = 3 }

[arms.unadvised]
prompts = "unguided"
set = { mine_cap = 5 }

[compare]
measures = ["efficiency", "raid_rate", "plots_hhi"]

[[hypothesis]]
text = "Immunity lowers raids"
measure = "raid_rate"
arm = "immune"
direction = "lower"
"""

MAX_HEIGHT = 2_500
"""Pixels: how much may stand before the methods where the page is 1,400 pixels wide."""


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """The page of an experiment of three arms and three measures, and the report as a file."""
    folder = tmp_path_factory.mktemp("three")
    with open_store(folder / "home") as store:
        play_all(store, written(folder, THREE))
        (folder / "report.html").write_text(
            html(report_document(store, report(store, "three")), ()), encoding="utf-8"
        )
    with run_server(server(folder / "home", "127.0.0.1")) as base:
        yield f"{base}/experiments/three", (folder / "report.html").as_uri()


@pytest.fixture(scope="module")
def page(addresses: tuple[str, ...]) -> Iterator[Page]:
    """A page; the addresses are made before the browser is started."""
    assert addresses
    with chromium() as browser:
        yield browser.new_page()


RIGHT_OF_CHARTS = (
    "Math.max(...[...document.querySelectorAll('p > .wide svg')]"
    ".map((one) => one.getBoundingClientRect().right))"
)
"""Where the charts end on the right, in pixels."""

TOP_OF_METHODS = "document.querySelector('details').getBoundingClientRect().top + scrollY"


@pytest.mark.parametrize("place", [0, 1], ids=["served", "as a file"])
def test_the_answers_stand_first_and_the_methods_below_few_pixels(
    page: Page, addresses: tuple[str, ...], place: int
) -> None:
    page.set_viewport_size(ViewportSize(width=1400, height=900))
    page.goto(addresses[place])
    assert 500 < page.evaluate(TOP_OF_METHODS) <= MAX_HEIGHT
    assert page.locator("details[open]").count() == 0
    for words in ("Immunity lowers raids", "mine_cap", "# Advice", "raid_rate, “unadvised” minus “open”"):
        assert page.get_by_text(words).first.is_visible()
    assert not page.get_by_text("Holm's method corrects").is_visible()
    page.get_by_text("Methods").click()
    assert page.get_by_text("Holm's method corrects").is_visible()


@pytest.mark.parametrize(("place", "dark"), [(0, True), (1, False)], ids=["served", "as a file"])
def test_unfolded_methods_can_be_used_by_everybody(
    page: Page, addresses: tuple[str, ...], place: int, *, dark: bool
) -> None:
    page.emulate_media(color_scheme="dark" if dark else "light")
    page.goto(addresses[place])
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for width in (1000, 400):
        page.set_viewport_size(ViewportSize(width=width, height=900))
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert 100 < page.evaluate(RIGHT_OF_CHARTS) <= width
    assert axe_findings(page) == []


def test_a_chart_has_the_colours_of_the_page_and_its_points_lead_to_pairs(
    page: Page, addresses: tuple[str, ...]
) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(addresses[0])
    dot = page.locator(".chart a").last
    assert dot.evaluate("(one) => getComputedStyle(one).color") == "rgb(230, 230, 230)"
    dot.click()
    assert "/compare?a=" in page.url
