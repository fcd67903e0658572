"""Make the pictures of README.md and docs/pages.md again: one run per world, its page and its board.

It needs Chromium. Scripted policies play the runs, so they are the same everywhere.
"""

import asyncio
import tempfile
from pathlib import Path

from playwright.sync_api import ViewportSize

from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.show.web.server import server
from hobbes.store.home import open_store
from hobbes.wire.recorder import run_server
from tests.browser import chromium
from tests.conftest import ROOT

FOLDER = ROOT / "docs" / "pictures"

SIZE = ViewportSize(width=1200, height=1050)
"""The window, in pixels."""

GUIDED = "policy:guided*7,policy:tit-for-tat-raid*2,policy:random"
WAR = "policy:militarist*2,policy:reciprocal-trader*2,policy:appeaser"
TEAMS = "policy:grudger*2,policy:detective*2,policy:always-high-five*2"

RUNS = {
    8: RunOptions("mining", 10, models=GUIDED, values={"rounds": 30}, name="mining"),
    6: RunOptions("nations", 5, models=WAR, values={"rounds": 20}, name="nations"),
    7: RunOptions("trust", 6, models=TEAMS, values={"rounds": 20}, name="trust"),
}
"""The runs, by the turn that their picture shows."""


def main() -> None:
    """Play the runs, and save a picture of each page."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with open_store(home) as store:
            for options in RUNS.values():
                asyncio.run(go_on(store, begin(store, options), lambda _: None))
        with run_server(server(home, "127.0.0.1")) as url, chromium() as browser:
            page = browser.new_page(viewport=SIZE)
            for turn, options in RUNS.items():
                page.goto(f"{url}/{options.name}#{turn}", wait_until="networkidle")
                page.screenshot(path=FOLDER / f"{options.world}.png")
                board = page.request.get(f"{url}/{options.name}/{turn}.svg").body()
                (FOLDER / f"{options.world}.svg").write_bytes(board)


if __name__ == "__main__":
    main()
