"""The command `hobbes`, which `python -m hobbes` is as well."""

import atexit
import gc
import sys

COLLECT_AFTER = 300_000
"""How many new objects are searched for garbage at once. All imports of a run together make fewer."""


def main() -> None:
    """Run a command. Ctrl-C ends it with exit code 130, also while its modules are still being imported."""
    gc.set_threshold(COLLECT_AFTER)
    atexit.register(gc.freeze)  # else Python searches all objects for garbage, thrice, only to end
    try:
        from lab.cli import main as command  # noqa: PLC0415  most of the first second

        command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
