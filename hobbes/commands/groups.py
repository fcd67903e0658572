"""The groups of commands, as `hobbes --help` shows them."""

from collections.abc import Mapping
from typing import Any

from typer.core import TyperGroup

PLAY, LOOK, CHANGE = "Play", "Look", "Change and compare"
PROVE, DATA, HELP = "Prove", "Data", "Help"

GROUPS = PLAY, LOOK, CHANGE, PROVE, DATA, HELP
"""The groups in their order in the help. A command names its own as typer's `rich_help_panel`."""


class InGroups(TyperGroup):
    """The program `hobbes`, whose help lists the commands by group, without waiting for rich."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002  typer does not export the types
        """Write a section per group, with each command and what it does."""
        commands: Mapping[str, Any] = self.commands
        longest = max(map(len, commands))
        for group in GROUPS:
            with formatter.section(group):
                formatter.write_dl(
                    [
                        (name.ljust(longest), command.get_short_help_str(formatter.width - 6 - longest))
                        for name, command in commands.items()
                        if command.rich_help_panel == group
                    ]
                )
