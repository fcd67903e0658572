"""How often Python searches for garbage: each search takes time, and what is not found takes memory."""

import atexit
import gc

WHILE_STARTING, FOR_LONG = 300_000, 10_000
"""How many new objects are searched at once. All imports of a run together make fewer than the first."""


def seldom() -> None:
    """Search for garbage seldom, because most commands end soon, and not at the end."""
    gc.set_threshold(WHILE_STARTING)
    atexit.register(gc.freeze)  # else Python searches all objects for garbage, thrice, only to end


def more_often() -> None:
    """Search for garbage more often, in a process that goes on for long."""
    gc.set_threshold(FOR_LONG)
