"""The event loop on which runs are played: uvloop, which is quicker than Python's own; Windows has none."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

if sys.platform == "win32":
    new_event_loop = asyncio.new_event_loop
else:
    from uvloop import new_event_loop


def play_out(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a new event loop, and return its result."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)
