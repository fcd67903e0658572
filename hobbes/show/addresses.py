"""What the address of a page asks for."""

import re
from collections.abc import Mapping
from typing import Any

from hobbes.errors import UsageError


def number_in(at: Mapping[str, Any], name: str) -> int | None:
    """Return a number that an address asks for, None if it asks for none; UsageError for any but from 0."""
    if name not in at:
        return None
    asked = str(at[name])
    if not re.fullmatch("[0-9]{1,9}", asked):
        raise UsageError(f"`{name}` in the address is not a number from 0")
    return int(asked)
