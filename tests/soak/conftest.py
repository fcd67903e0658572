"""What the soak tried, and how often."""

from collections.abc import Callable

import pytest

TRIED = "tried"


@pytest.fixture
def tried(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Take what a test has tried, and how often, for the summary."""
    return lambda told: record_property(TRIED, told)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print a line for each soak that passed; pytest names those that failed."""
    for report in terminalreporter.stats.get("passed", ()):
        if report.when == "call" and TRIED in (told := dict(report.user_properties)):
            terminalreporter.write_line(f"{report.nodeid.partition('::')[2]}: {told[TRIED]}")
