"""The command `hobbes`: all commands in one, and what is wrong said in one line."""

import sys

import typer
from rich.text import Text

from lab.commands import looking, playing, prompts, proving, tools
from lab.errors import LabError, UsageError
from lab.show import ERR, plain

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
        app()
    except UsageError as error:
        _complain(error)
        sys.exit(2)
    except LabError as error:
        _complain(error)
        sys.exit(1)


def _complain(error: LabError) -> None:
    ERR.print(Text("hobbes: ", style="bold").append_text(plain(str(error))), soft_wrap=True)


if __name__ == "__main__":
    main()
