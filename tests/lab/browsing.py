"""Chromium for tests that use pages as a person does. One browser serves a whole module."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from axe_playwright_python.sync_playwright import Axe
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


AXE = Axe().axe_script


def serious_findings(page: Page) -> list[tuple[str, str, str]]:
    """Return what axe finds serious or critical on a page: its address, the rule, the first element.

    Where axe is in the page already, it stays: loading it again takes as long as looking for findings.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        (page.url, one["id"], one["nodes"][0]["html"])
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
    ]
