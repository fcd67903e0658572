"""What an experiment keeps of the runs that have finished."""

from enum import StrEnum


class Keep(StrEnum):
    """Which finished runs keep their turns and calls."""

    all = "all"
    summary = "summary"
    failures = "failures"

    def keeps_traces(self, *, tainted: bool) -> bool:
        """Return whether a finished run keeps its turns and calls."""
        return self is Keep.all or (self is Keep.failures and tainted)
