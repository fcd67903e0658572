"""The command `hobbes`, which `python -m hobbes` is as well."""

import gc
import sys

COLLECT_AFTER = 10_000
"""How many new objects are searched for garbage at once. With Python's 700, an import is searched often."""


def main() -> None:
    """Run a command. Ctrl-C ends it with exit code 130, also while its modules are still being imported."""
    gc.set_threshold(COLLECT_AFTER)
    try:
        from lab.cli import main as command  # noqa: PLC0415  most of the first second

        command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
