"""The event loop on which runs are played: uvloop, which is quicker than Python's own; Windows has none."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

from langchain_core.tracers.langchain import wait_for_all_tracers
from langsmith import tracing_context

T = TypeVar("T")

if sys.platform == "win32":
    new_event_loop = asyncio.new_event_loop
else:
    from uvloop import new_event_loop


def play_out(main: Coroutine[Any, Any, T], *, traced: bool = False) -> T:
    """Run a coroutine to its end on a new event loop, and return its result.

    LangGraph and LangChain upload all states, prompts and answers to LangSmith if it is `traced`, and nothing
    otherwise, whatever LANGSMITH_TRACING says.
    """
    with tracing_context(enabled=traced), asyncio.Runner(loop_factory=new_event_loop) as runner:
        try:
            return runner.run(main)
        finally:
            if traced:
                wait_for_all_tracers()
