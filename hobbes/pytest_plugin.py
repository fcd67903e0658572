"""The plugin that pytest loads where hobbes is installed: fixtures for the tests of `hobbes make-test`.

It is loaded in every session of pytest, so it imports the rest of hobbes only once the fixture is used.
"""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

TOLD = "hobbes"
"""The property of a test's report with a line about its file, which stands in the summary."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this plugin."""
    group = parser.getgroup("hobbes")
    group.addoption(
        "--hobbes-update",
        action="store_true",
        help="rewrite what tests of `hobbes make-test` expect, so that they expect what happens now",
    )


@pytest.fixture
def hobbes_replay(request: pytest.FixtureRequest) -> Callable[..., None]:
    """A function that plays pinned turns again: `hobbes_replay("story.json")`.

    The file lies in the folder of the test. Everything in it is compared, with `ignore="prompts"` all but the
    prompts. With --hobbes-update, the file is rewritten so that it expects what happens now.
    """

    def check(file: str, *, ignore: Literal["", "prompts"] = "") -> None:
        from hobbes.prove.pin_failure import failure
        from hobbes.prove.pin_replay import replay_pin
        from hobbes.prove.pinned_turns import accept_changes
        from hobbes.prove.pins import TurnsPin, read_pin, save
        from hobbes.show.pinned_files import failure_text

        path = request.path.parent / file
        with _errors_in_one_line():
            pin = read_pin(path, TurnsPin)
            played = replay_pin(pin, path.parent, prompts=ignore != "prompts")
            if request.config.getoption("hobbes_update"):
                now = accept_changes(pin, played)
                if now != pin:
                    save(now, path)
                    request.node.user_properties.append((TOLD, f"{_shown(path)} was updated"))
            elif failed := failure(pin, played):
                pytest.fail(failure_text(failed, path, shlex.quote(_shown(request.path))), pytrace=False)

    return check


@pytest.fixture
def hobbes_expects(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """A function that judges the answers of a file to a probe: `hobbes_expects("peaceful.json")`."""

    def check(file: str) -> None:
        from hobbes.prove.pinned_frequencies import has_other_prompts, judge
        from hobbes.prove.pins import FrequencyPin, read_pin
        from hobbes.show.pinned_files import unexpected_text

        path = request.path.parent / file
        with _errors_in_one_line():
            pin = read_pin(path, FrequencyPin)
            if has_other_prompts(pin, path.parent):
                line = "has answers to another prompt than today's; ask a new probe, and pin that"
                request.node.user_properties.append((TOLD, f"{_shown(path)} {line}"))
            if problems := judge(pin):
                pytest.fail(unexpected_text(problems, path), pytrace=False)

    return check


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """Let a test fail with the words of an error for people, and without a traceback."""
    from hobbes.errors import HobbesError

    try:
        yield
    except HobbesError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


def pytest_terminal_summary(terminalreporter: Any) -> None:  # noqa: ANN401  pytest does not export its type
    """Say which files were rewritten, or have answers to other prompts."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.getreports(outcome)]
    found = (value for report in reports for name, value in report.user_properties if name == TOLD)
    for line in sorted(set(found)):
        terminalreporter.write_line(f"hobbes: {line}")


def _shown(path: Path) -> str:
    """Return a path from the working directory, if it lies in it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
