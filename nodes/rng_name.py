"""The name of a scripted policy's random numbers, as a part of its spec."""

import re


def without_rng(spec: str) -> str:
    """Return a spec without the name of its policy's random numbers."""
    return re.sub(r"(\?)rng=[\w-]+&|[?&]rng=[\w-]+", r"\1", spec)
