"""Many visits of the pages leave nothing behind."""

import gc
import tracemalloc
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hobbes.play.start import RunOptions
from hobbes.show.web.page_templates import SCRIPT_ADDRESS, STYLE_ADDRESS
from hobbes.show.web.server import PAGES, site
from hobbes.store.home import Store
from tests.small_runs import played

EXAMPLES = {
    "/": "/",
    "/compare": "/compare?a=one&b=other",
    "/search": "/search?q=AgentA&run=one",
    "/{run}": "/one",
    "/{run}/{turn:number}": "/one/1",
    "/{run}/diary": "/one/diary",
    "/{run}/{turn:number}/{agent}": "/one/1/AgentA",
    "/{run}/{turn:number}.svg": "/one/1.svg",
    "/{run}/{turn:number}.html": "/one/1.html",
    SCRIPT_ADDRESS: SCRIPT_ADDRESS,
    STYLE_ADDRESS: STYLE_ADDRESS,
}
"""A page of each kind."""

LEFT = 2_000
"""The most bytes that a visit may leave. A page that is kept has three times as many at least."""


@pytest.fixture
def two_runs(opened: Store) -> Store:
    for seed, name in enumerate(("one", "other")):
        models = "policy:random?noise=0.2"
        played(opened, RunOptions("nations", 2, seed, models, values={"rounds": 3}, name=name))
    return opened


def test_there_is_an_example_of_each_kind_of_page() -> None:
    of_runs = {address for address in PAGES if not address.startswith(("/experiments/", "/probes/"))}
    assert of_runs <= EXAMPLES.keys()


@pytest.mark.usefixtures("two_runs")
def test_visits_leave_nothing_in_the_process(home: Path) -> None:
    def left() -> tuple[int, int]:
        """Return how many bytes are in use, and how many files are open."""
        gc.collect()
        return tracemalloc.get_traced_memory()[0], len(list(Path("/proc/self/fd").iterdir()))

    with TestClient(site(home, "127.0.0.1"), base_url="http://127.0.0.1") as tab:

        def visit(times: int) -> None:
            for address in [*EXAMPLES.values()] * times:
                assert tab.get(address).status_code == 200, address

        visit(1)  # fills the caches
        tracemalloc.start()
        try:
            visit(1)
            used, open_files = left()
            visit(2)
            used_now, open_files_now = left()
        finally:
            tracemalloc.stop()
    assert used_now - used < 2 * len(EXAMPLES) * LEFT
    assert open_files_now <= open_files
