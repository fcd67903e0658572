"""The command `hobbes`: all commands in one, and what is wrong said in one line."""

import errno
import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import typer
from rich.text import Text

from lab.commands import looking, playing, prompts, proving, tools
from lab.errors import LabError, UsageError
from lab.show.terminal import ERR, plain

app = typer.Typer(
    name="hobbes",
    help="Language models play small societies without a state; see what happens and why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)
for group in (playing, proving, looking, tools, prompts):
    app.add_typer(group.app)


def main() -> None:
    """Run a command; what is wrong is said in one line."""
    try:
        _check_typed()
        try:
            app()
        finally:
            sys.stdout.flush()
    except UsageError as error:
        _complain(error)
        sys.exit(2)
    except LabError as error:
        _complain(error)
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise  # a bug of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the rest of it goes nowhere
        _complain(LabError(f"cannot write the output: {error.strerror}; make room, or write it elsewhere"))
        sys.exit(1)


def _nowhere() -> TextIO:
    """Give a place for words that nobody will read."""
    return Path(os.devnull).open("w", encoding="utf-8")


def _check_typed() -> None:
    """Refuse words that are no text; make what a terminal cannot show readable on it."""
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()  # closed by who started us
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        "".join(sys.argv).encode()
    except UnicodeEncodeError as error:
        raise UsageError("what is typed must be text in UTF-8") from error


def _complain(error: LabError) -> None:
    ERR.print(Text("hobbes: ", style="bold").append_text(plain(str(error))), soft_wrap=True)


if __name__ == "__main__":
    main()
