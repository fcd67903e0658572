"""The command `hobbes`, which `python -m hobbes` is as well."""

import sys

from hobbes.links import missing_links


def main() -> None:
    """Run a command. Ctrl-C ends it with exit code 130, also while its modules are still being imported."""
    if problem := missing_links():
        sys.exit(f"hobbes: {problem}")
    try:
        from hobbes.lab.cli import main as command  # noqa: PLC0415  most of the first second

        command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
