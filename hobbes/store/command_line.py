"""Commands that hobbes prints, so that they can be typed as they stand."""

import os
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path


def usual_home() -> Path:
    """Return the home folder of those who name no other."""
    return Path(os.environ.get("HOBBES_HOME") or ".hobbes")


@cache
def _program() -> str:
    """Return how a shell finds hobbes: by its name, or where it is not on PATH, as it was called."""
    called = Path(sys.argv[0])
    return str(called) if called.name == "hobbes" and not shutil.which("hobbes") else "hobbes"


def command(home: Path, *words: object) -> str:
    """Return a `hobbes` command line for a home folder, quoted for a shell."""
    place = [] if home == usual_home() else ["--home", home]
    return shlex.join(str(word) for word in (_program(), *words, *place))
