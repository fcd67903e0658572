"""The plugin that pytest loads where hobbes is installed: the fixture `hobbes_replay`, `--hobbes-update`.

It is loaded in every session of pytest, so it imports the rest of hobbes only once the fixture is used.
"""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

UPDATED = "hobbes_updated"
"""The property of a test's report that names the file which the test has rewritten."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of this plugin."""
    parser.getgroup("hobbes").addoption(
        "--hobbes-update",
        action="store_true",
        help="rewrite what tests of `hobbes make-test` expect, so that they expect what happens now",
    )


@pytest.fixture
def hobbes_replay(request: pytest.FixtureRequest) -> Callable[..., None]:
    """A function that plays pinned turns again: `hobbes_replay("story.json", agent="miner-03")`.

    The file lies in the folder of the test. Without `agent`, everything in it is compared.
    """

    def check(file: str, *, agent: str | None = None) -> None:
        if problem := _problem(request, request.path.parent / file, agent):
            pytest.fail(problem, pytrace=False)

    return check


def _problem(request: pytest.FixtureRequest, path: Path, agent: str | None) -> str | None:
    """Play the turns of a file, and return what is wrong, if anything; with --hobbes-update, rewrite it."""
    from hobbes.lab.errors import LabError
    from hobbes.lab.proof.pin_file import read_pin, save
    from hobbes.lab.proof.pinning import accept_changes, failure, play_pin
    from hobbes.lab.show.pinned import failure_text

    try:
        pin = read_pin(path)
        if agent is not None:
            pin.check_agent(agent)
        played = play_pin(pin, path.parent)
        if not request.config.getoption("hobbes_update"):
            failed = failure(pin, played, agent)
            return failed and failure_text(failed, path, shlex.quote(_shown(request.path)))
        now = accept_changes(pin, played)
        if now != pin:
            save(now, path)
            request.node.user_properties.append((UPDATED, _shown(path)))
    except LabError as error:
        return str(error)
    return None


def pytest_terminal_summary(terminalreporter: Any) -> None:  # noqa: ANN401  pytest does not export its type
    """Name the files that were rewritten."""
    reports = terminalreporter.getreports("passed")
    found = (value for report in reports for name, value in report.user_properties if name == UPDATED)
    for path in sorted(set(found)):
        terminalreporter.write_line(f"hobbes: {path} was updated")


def _shown(path: Path) -> str:
    """Return a path from the working directory, if it lies in it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
