"""The long tests: `make soak` runs them, and says what they tried."""

import os

from hypothesis import settings

SHARE = float(os.environ.get("SOAK", "1"))
"""The size of the soak: `make soak SOAK=0.01` plays about a hundredth of it, to see that it works."""


def times(number: int) -> int:
    """Return how often something is tried, of the number of times in the whole soak."""
    return max(1, round(number * SHARE))


def in_soak() -> bool:
    """Return whether the soak is running, in which tests try all that they can."""
    return settings.get_current_profile_name() == "soak"


def examples(suite: int, soak: int) -> int:
    """Return how many examples of a law are tried: in the test suite, or of the number in the whole soak."""
    return max(10, times(soak)) if in_soak() else suite
