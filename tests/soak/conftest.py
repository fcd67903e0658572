"""The table at the end of a soak: what was tried, how often, and what was lost."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import PurePath

import pytest

TRIED = "tried"


@pytest.fixture
def tried(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Take what a test has tried, and how often, for the table."""
    return lambda told: record_property(TRIED, told)


def rows_of(reports: Iterable[pytest.TestReport]) -> list[tuple[str, str, str]]:
    """Return a row for each soak, and one for all laws of a world: what, how often, what was lost.

    A soak that lost something failed. One that failed before it could tell how often it tried has no number.
    """
    laws, broken, rows = Counter[str](), Counter[str](), list[tuple[str, str, str]]()
    for report in reports:
        path, _, test = report.nodeid.partition("::")
        if PurePath(path).name == "test_laws.py":
            world = PurePath(path).parent.name
            laws[world] += 1
            broken[world] += report.failed
        elif (told := dict(report.user_properties).get(TRIED, "")) or report.failed:
            what = test.removeprefix("test_").replace("_", " ")
            rows.append((what, str(told), "FAILED" if report.failed else "nothing"))
    for world, count in laws.items():
        rows.append(
            (f"laws of {world}", f"{count} laws", f"{broken[world]} BROKEN" if broken[world] else "nothing")
        )
    return sorted(rows)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table."""
    stats = terminalreporter.stats
    rows = rows_of(
        report for kind in ("passed", "failed") for report in stats.get(kind, ()) if report.when == "call"
    )
    if all(what.startswith("laws of") for what, *_ in rows):  # the usual suite
        return
    table = [("what was tried", "how often", "lost"), *rows]
    widths = [max(len(row[column]) for row in table) for column in range(2)]
    terminalreporter.section("soak")
    for what, often, lost in table:
        terminalreporter.write_line(f"{what:<{widths[0]}}  {often:<{widths[1]}}  {lost}")
