"""The commands about data: `export`, `rename`, `delete`, `migrate`, `step`."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from hobbes.commands import options
from hobbes.commands.groups import DATA

app = typer.Typer()


@app.command(context_settings=options.ENV, rich_help_panel=DATA)
def export(  # noqa: PLR0913, PLR0917  options of a command
    run: options.RunName,
    form: Annotated[
        Literal["jsonl", "csv", "parquet", "inspect", "page", "svg"],
        typer.Option("--format", envvar="HOBBES_FORMAT", help="the format of the files"),
    ] = "jsonl",
    to: Annotated[
        Path | None,
        typer.Option(
            help="the folder to create, or with --format inspect, page or svg the file; by default "
            "exports/RUN-FORMAT, or exports/RUN.eval, .html or .svg, in the home folder"
        ),
    ] = None,
    turns: Annotated[
        str | None,
        typer.Option(metavar="A-B", help="the turns of a page or an svg, such as 40-60; by default all"),
    ] = None,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Export a run as tables, a log for inspect, one web page or a moving picture.

    The new folder has one file per table, which docs/data.md describes. With --format inspect, it writes one
    file, a log that `inspect view` opens; with page, the pages of `hobbes view` as one HTML file to hand on;
    with svg, the boards of its turns, one after another, as a picture that moves in a README.

    Example: hobbes export last --format page --turns 40-60 --to fight.html
    """
    from hobbes.show.exports import FILES
    from hobbes.show.exports import export as exported
    from hobbes.show.terminal import OUT, print_json, table
    from hobbes.store.policy_games import with_turns

    with options.open_home(home) as store, store.as_of_now():
        stored = with_turns(store, store.runs.find(run))
        folder = to or home / "exports" / f"{stored.id}{FILES.get(form, f'-{form}')}"
        numbers = None if turns is None else options.turn_numbers(turns)
        files = exported(store, stored, form, folder, numbers)
    if as_json:
        print_json({"run": stored.id, "folder": str(folder), "files": files})
    else:
        sizes = {"inspect": "samples", "page": "turns and cards", "svg": "frames"}
        size = sizes.get(form, "rows")
        OUT.print(table(f"{folder}", ("file", size), list(files.items())))


@app.command(context_settings=options.ENV, rich_help_panel=DATA)
def migrate(home: options.Home = options.HOME, as_json: options.AsJson = False) -> None:
    """Carry the runs of a home over from the tables of an earlier hobbes, where they stand.

    Nobody may be playing runs of the home meanwhile. If it is killed, the home is as it was.

    Example: hobbes migrate --home .hobbes
    """
    from hobbes.engine.telling import counted
    from hobbes.show.terminal import print_json, say
    from hobbes.store.command_line import command
    from hobbes.store.migration import migrate as carry_over
    from hobbes.store.schema import SCHEMA_VERSION

    runs = carry_over(home)
    if as_json:
        print_json({"runs": runs, "schema": SCHEMA_VERSION})
    else:
        measure = command(home, "measure", "RUN")
        say(f"{counted(runs, 'run')} carried over to schema {SCHEMA_VERSION}; `{measure}` measures one anew")


@app.command(context_settings=options.ENV, rich_help_panel=DATA)
def rename(
    run: options.RunName,
    name: Annotated[str, typer.Argument(help="the new name")],
    home: options.Home = options.HOME,
) -> None:
    """Give a run another name. Its id stays the same.

    Example: hobbes rename last baseline
    """
    from hobbes.show.terminal import say

    with options.open_home(home, writes=True) as store:
        stored = store.runs.find(run)
        store.runs.check_name(name)
        store.runs.update(stored.id, name=name)
    say(f"run {stored.label} is now called {name}")


@app.command(context_settings=options.ENV, rich_help_panel=DATA)
def delete(
    run: options.RunName,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask before it is deleted")] = False,
    home: options.Home = options.HOME,
) -> None:
    """Delete a run, with its calls, notes and checkpoints.

    A run stays as long as a fork, an experiment or a probe needs it.

    Example: hobbes delete 20261127-0145
    """
    from hobbes.engine.telling import counted
    from hobbes.loop import play_out
    from hobbes.show.terminal import say
    from hobbes.store.removal import removable, remove

    with options.open_home(home, writes=True) as store:
        stored = removable(store, run)
        about = f"{stored.label} ({stored.world.name}, {counted(stored.turns, 'turn')}, {stored.status})"
        if not yes:
            options.agree(f"Delete run {about}?", "nothing was deleted", "what is deleted is gone")
        play_out(remove(store, stored))
    say(f"deleted run {about}")


class StepCommand(TyperCommand):
    """The command `step`; its help lists the events of every world, which are imported only for that."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  typer does not export the types
        """Write the help text with all events."""
        from hobbes.worlds import WORLDS

        events = (
            f"Events of {world.name}:\n\n\b\n"
            + "\n".join(f"{kind}: {meaning}" for kind, meaning in world.telling.events.items())
            for world in WORLDS.values()
        )
        self.help = "\n\n".join([self.help or "", *events])
        super().format_help_text(ctx, formatter)


@app.command(context_settings=options.ENV, cls=StepCommand, rich_help_panel=DATA)
def step(world: options.WorldName) -> None:
    """Run the engine alone, with JSON Lines in and out.

    It reads one request per line, writes one result per line, and touches no file.

    Example: echo '{"agents": ["A"], "answers": {"A": {"claim": [[0, 0]]}}}' | hobbes step mining
    """
    from hobbes.play.step import step_lines

    for line in step_lines(options.find_world(world), sys.stdin.buffer):
        print(line, flush=True)  # noqa: T201  JSON Lines
