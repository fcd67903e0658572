"""A task for other processes, which import this module to call it, and need not wait for those of tests."""

import os

from hobbes.errors import HobbesError


def half(number: int) -> int:
    """Return half of an even number; refuse 3, and die of any other odd one."""
    if number == 3:
        raise HobbesError("3 is refused")
    if number % 2:
        os._exit(1)
    return number // 2
