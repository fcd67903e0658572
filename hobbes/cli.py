"""The command line `hobbes`: all commands, and errors as one line."""

import errno
import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, TextIO

import typer

from hobbes.commands import (
    change,
    data,
    experiments,
    help,  # noqa: A004  as its group
    look,
    play,
    probe,
    prompts,
    prove,
)
from hobbes.commands.groups import CHANGE, InGroups
from hobbes.commands.options import ENVIRONMENT
from hobbes.errors import INTERRUPTED, HobbesError, UsageError

app = typer.Typer(
    cls=InGroups,
    name="hobbes",
    help="Let language models play small societies without a state, and see what happens and why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for group in (play, look, change, experiments, prove, data, help):
    app.add_typer(group.app)
app.add_typer(prompts.app, rich_help_panel=CHANGE)
app.add_typer(probe.app, rich_help_panel=CHANGE)


def _show_version(wanted: bool) -> None:  # noqa: FBT001  typer's
    """Print the version and exit."""
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415  help need not wait for it

        typer.echo(f"hobbes {version('hobbes')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="show the version and exit"),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run a command; print errors as one line, and exit with 1 or 2."""
    try:
        _prepare_streams()
        _check_arguments()
        try:
            code = app(prog_name="hobbes", standalone_mode=False)  # also for `python -m hobbes`
            if code == INTERRUPTED:  # typer has caught it
                raise KeyboardInterrupt
            sys.exit(code)
        finally:
            sys.stdout.flush()
    except typer.TyperException as error:
        _complain_of_arguments(error)
        sys.exit(2)
    except typer.Abort:  # Ctrl-C or Ctrl-D at a question
        typer.echo("Aborted!", err=True)
        sys.exit(1)
    except UsageError as error:
        _complain(error)
        sys.exit(2)
    except HobbesError as error:
        _complain(error)
        sys.exit(1)
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EPIPE}:
            raise  # a bug
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that Python's flush at exit works
        if error.errno == errno.ENOSPC:  # otherwise the reader, such as `head`, has all that it wants
            _complain(
                HobbesError(
                    f"cannot write the output: {error.strerror}; free disk space, or write it elsewhere"
                )
            )
        sys.exit(1)


def _null() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _prepare_streams() -> None:
    """Replace closed streams, and escape characters that the terminal cannot show."""
    sys.stdout, sys.stderr = sys.stdout or _null(), sys.stderr or _null()  # None if they were closed
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _check_arguments() -> None:
    """Raise UsageError for arguments that are not UTF-8, and for options in the environment that are not."""
    options = {name: value for name, value in os.environ.items() if name.startswith(f"{ENVIRONMENT}_")}
    for what, text in {"arguments": "".join(sys.argv), **options}.items():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{what} must be UTF-8 text") from error


def _complain(error: HobbesError) -> None:
    from rich.text import Text  # noqa: PLC0415  only where something is wrong

    from hobbes.show.terminal import ERR, plain  # noqa: PLC0415

    ERR.print(Text("hobbes: ", style="bold").append_text(plain(str(error))), soft_wrap=True)


def _complain_of_arguments(error: typer.TyperException) -> None:
    """Print what typer says of the arguments as one line, or the help if there were none."""
    message = error.format_message().replace("Value error, ", "")
    if "\n" in message:
        typer.echo(message, err=True)
        return
    stop = "" if message.endswith((".", "?")) else "."
    context = getattr(error, "ctx", None)  # typer has none for an option without a value
    command = context.command_path if context else "hobbes"
    _complain(UsageError(f"{message}{stop} See `{command} --help`"))
