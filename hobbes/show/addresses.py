"""What the address of a page asks for."""

from collections.abc import Mapping
from typing import Any

from hobbes.errors import UsageError


def number_in(at: Mapping[str, Any], name: str) -> int:
    """Return a number from 0 that an address asks for, 0 if it does not say. Raise UsageError."""
    try:
        number = int(at.get(name, 0))
    except ValueError:
        number = -1
    if not 0 <= number < 2**31:
        raise UsageError(f"`{name}` in the address is not a number from 0")
    return number
