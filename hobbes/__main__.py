"""The command `hobbes`, which `python -m hobbes` is as well."""

import os
import sys
import threading

from hobbes.errors import INTERRUPTED
from hobbes.links import missing_links


def main() -> None:
    """Run a command. Ctrl-C ends it with exit code 130, also while its modules are still being imported."""
    if problem := missing_links():
        sys.exit(f"hobbes: {problem}")
    try:
        from hobbes.cli import main as command  # noqa: PLC0415  most of the first second

        command()
    except KeyboardInterrupt:
        sys.stderr.write("hobbes: stopped\n")
        _leave(INTERRUPTED)
    except SystemExit as end:
        _leave(end.code)


def _leave(code: str | int | None) -> None:
    """End this process, without waiting for threads that a person's own code has left behind."""
    if threading.active_count() == 1:
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else bool(code))


if __name__ == "__main__":
    main()
