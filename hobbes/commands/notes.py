"""The commands of notes: `note` and `notes`."""

from typing import Annotated

import typer

from hobbes.commands import options
from hobbes.commands.groups import LOOK
from hobbes.errors import UsageError

app = typer.Typer()

ALL = "all"
"""Stands for all turns of a run, or for all agents of a turn."""


@app.command(context_settings=options.ENV, rich_help_panel=LOOK)
def note(  # noqa: PLR0913, PLR0917  its arguments and options
    run: options.RunName,
    turn: Annotated[str, typer.Argument(help="a turn, or all: the whole run")] = ALL,
    agent: Annotated[str, typer.Argument(help="an agent, or all: the whole turn")] = ALL,
    text: Annotated[str | None, typer.Argument(help="what to note; it replaces the text before")] = None,
    event: Annotated[
        int | None, typer.Option(min=0, help="the number of an event of the turn, as in the table events")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="add this tag; may be repeated")] = None,
    untag: Annotated[list[str] | None, typer.Option(help="take this tag away; may be repeated")] = None,
    star: Annotated[bool | None, typer.Option("--star/--no-star", help="add a star, or take it away")] = None,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Note something about an agent's turn, a whole turn, an event or a whole run.

    Notes are kept in notes.db in the home; a run stays as it was. What is not given stays as it is.

    Example: hobbes note last 3 miner-01 --tag promise-broken "It had promised not to raid."
    """
    from hobbes.show import annotations
    from hobbes.show.terminal import print_json

    if turn != ALL and not turn.isdecimal():
        raise UsageError(f"turn {turn!r}: write the number of a turn, or all")
    if turn == ALL and (agent != ALL or event is not None):
        raise UsageError("name the turn of the agent or of the event")
    if event is not None and agent != ALL:
        raise UsageError("a note is about an agent or about an event; write all in place of the agent")
    with options.open_home(home) as store:
        whole = None if turn == ALL else int(turn)
        place = annotations.place_of(store, run, whole, None if agent == ALL else agent, event)
        change = annotations.Change(text, star, tag or (), untag or ())
        if change == annotations.Change():
            raise UsageError("there is nothing to note: write a text, or give --tag or --star")
        written = annotations.change_note(store, place, change)
        if as_json:
            print_json(written.to_json())
        else:
            annotations.show(store, [written])


@app.command(context_settings=options.ENV, rich_help_panel=LOOK)
def notes(
    run: Annotated[str | None, typer.Option(help="only the notes of this run")] = None,
    tag: Annotated[str | None, typer.Option(help="only notes with this tag")] = None,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """List what people have noted.

    Example: hobbes notes --tag promise-broken
    """
    from hobbes.show import annotations
    from hobbes.show.terminal import print_json, remark

    with options.open_home(home) as store:
        found = store.notes.of(store.runs.find(run).id if run else None, tag or "")
        if as_json:
            print_json([one.to_json() for one in found])
        elif found:
            annotations.show(store, found)
        else:
            remark("hobbes: no notes; `hobbes note RUN TURN AGENT TEXT` writes one")
