"""Runs in Python, to play and to read: `hobbes.play("mining")`, `hobbes.open().run("last").turn(3)`.

docs/python.md has examples. Whatever is not there (a home, a run, a turn, an agent, a table) raises
`MissingError`, which is a `LookupError`, with the line that a command would print.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hobbes.errors import HobbesError, MissingError
from hobbes.links import missing_links

if TYPE_CHECKING:
    from hobbes.api import AgentTurn, Home, Run, Turn, aplay, graph, open, play  # noqa: A004  as in gzip.open
    from hobbes.nodes.journal import Prompt

__all__ = [
    "AgentTurn",
    "HobbesError",
    "Home",
    "MissingError",
    "Prompt",
    "Run",
    "Turn",
    "__version__",
    "aplay",
    "graph",
    "open",
    "play",
]

# Importing a package makes it an attribute of ours, once: from here on, `hobbes.play` is the function.
import_module("hobbes.play")
del globals()["play"]


def __getattr__(name: str) -> Any:  # noqa: ANN401  whatever has that name
    """Import a name when it is first asked for: the command `hobbes` is in this package and need not wait."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415  it takes as long to import as the help

        return version("hobbes")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if problem := missing_links():
        raise ImportError(problem)
    return getattr(import_module("hobbes.api"), name)


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return __all__
