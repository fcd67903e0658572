"""What an experiment keeps of the runs that have finished."""

from enum import StrEnum


class Retention(StrEnum):
    """Which finished runs keep their turns and calls."""

    all = "all"
    summary = "summary"
    failures = "failures"

    def keeps_traces(self, *, tainted: bool) -> bool:
        """Return whether a finished run keeps its turns and calls."""
        return self is Retention.all or (self is Retention.failures and tainted)
