"""Chromium for tests that use pages as a person does. One browser serves a whole module."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, sync_playwright

from tests.conftest import missing

NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium. Play what is to be seen before: while it runs, this thread has an event loop."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        missing("there is no Chromium; install the package chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


AXE = """axe.run({resultTypes: ["violations"]}).then((found) =>
    found.violations.map((one) => [one.id, one.nodes[0].html]))"""
"""Returns what axe finds on a page: the rule and the first element."""


def axe_findings(page: Page) -> list[tuple[str, str, str]]:
    """Return what axe finds on a page: its address, the rule, the first element. It is loaded once a page."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    return [(page.url, rule, element) for rule, element in page.evaluate(AXE)]
