"""What the address of a page asks for."""

from collections.abc import Mapping
from typing import Any

from hobbes.errors import UsageError


def number_in(at: Mapping[str, Any], name: str) -> int | None:
    """Return a number that an address asks for, None if it asks for none; UsageError for any but from 0."""
    if name not in at:
        return None
    try:
        number = int(at[name])
    except ValueError:
        number = -1
    if not 0 <= number < 2**31:
        raise UsageError(f"`{name}` in the address is not a number from 0")
    return number
