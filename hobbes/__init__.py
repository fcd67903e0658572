"""Recorded runs in Python, to read: `hobbes.open().run("last").turn(3).agent("miner-01").prompt`.

docs/python.md has examples. Whatever is not there (a home, a run, a turn, an agent, a table) raises
`MissingError`, which is a `LookupError`, with the line that a command would print.
"""

from hobbes.reading import AgentTurn, Home, Run, Turn, open  # noqa: A004  as in gzip.open
from lab.errors import LabError, MissingError
from lab.store.database import HOBBES
from nodes.journal import Prompt

__all__ = ["AgentTurn", "Home", "LabError", "MissingError", "Prompt", "Run", "Turn", "__version__", "open"]

__version__ = HOBBES
