"""The commands that show runs: `runs`, `trace`, `compare`, `export`, `view`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from lab.commands.options import ENV, HOME, AsJson, Home, RunName, opened
from lab.show.terminal import OUT, percent, picture, print_json, table

app = typer.Typer()


class Form(StrEnum):
    """The formats of `hobbes export`."""

    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"
    html = "html"


@app.command(context_settings=ENV)
def runs(home: Home = HOME, as_json: AsJson = False) -> None:
    """List all runs, the newest first.

    Example: hobbes runs
    """
    with opened(home) as store:
        rows = store.runs()
    if as_json:
        print_json(rows)
        return
    columns = ("id", "name", "world", "status", "turns", "failed", "digest")
    shown = [
        (
            row["id"],
            row["name"],
            row["world"],
            "tainted" if row["tainted"] else row["status"],
            row["turns"],
            percent(row["failures"]["share"]),
            (row["digest"] or "")[:8],
        )
        for row in rows
    ]
    OUT.print(table("", columns, shown) if rows else Text("no runs yet; try: hobbes run mining"))


@app.command(context_settings=ENV)
def trace(
    run: RunName,
    turn: Annotated[int | None, typer.Argument(help="a turn, counted from 0")] = None,
    agent: Annotated[str | None, typer.Argument(help="an agent, or observer")] = None,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Show a run, a turn, or one agent's turn.

    A run is shown turn by turn, a turn agent by agent, and an agent's turn in full.

    Example: hobbes trace last 3 miner-01
    """
    from lab.show import cards, tracing
    from lab.store.history import state_before

    with opened(home) as store, store.as_of_now():
        found = store.find(run)
        if turn is None:
            shown: Any = tracing.overview(store, found)
        elif agent is None:
            shown = tracing.turn_card(store, found, turn)
        else:
            shown = tracing.agent_card(store, found, turn, agent)
        after = None if turn is None else state_before(store, found, min(turn + 1, found.turns))
    if as_json:
        print_json(shown)
    elif turn is None:
        cards.show_overview(shown)
    elif agent is None:
        cards.show_turn(shown)
        OUT.print(picture(found.world.picture(after)))
    else:
        cards.show_card(shown)


@app.command(context_settings=ENV)
def compare(a: RunName, b: RunName, home: Home = HOME, as_json: AsJson = False) -> None:
    """Show two runs of one world side by side.

    Settings that differ, first divergence, failed calls, measures and reports are shown.

    Example: hobbes compare baseline last
    """
    from lab.proof.comparing import compare
    from lab.show.comparison_table import show

    with opened(home) as store, store.as_of_now():
        found = compare(store, store.find(a), store.find(b))
    if as_json:
        print_json(found)
    else:
        OUT.print(show(found))


@app.command(context_settings=ENV)
def export(
    run: RunName,
    form: Annotated[
        Form, typer.Option("--format", envvar="HOBBES_FORMAT", help="the format of the files")
    ] = Form.jsonl,
    to: Annotated[
        Path | None,
        typer.Option(help="the folder to create; by default exports/RUN-FORMAT in the home folder"),
    ] = None,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Export a run as tables or web pages.

    The new folder has one file per table, which docs/data.md describes, or the pages of `hobbes view`.

    Example: hobbes export last --format parquet --to tables
    """
    from lab.show.exporting import export as exported

    with opened(home) as store, store.as_of_now():
        found = store.find(run)
        folder = to or home / "exports" / f"{found.id}-{form.value}"
        files = exported(store, found, form.value, folder)
    if as_json:
        print_json({"run": found.id, "folder": str(folder), "files": files})
    else:
        OUT.print(
            table(f"{folder}", ("file", "rows" if form is not Form.html else "pages"), list(files.items()))
        )


@app.command(context_settings=ENV)
def view(
    host: Annotated[str, typer.Option(help="the address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="the port; 0 picks a free one")] = 8766,
    home: Home = HOME,
) -> None:
    """Serve all runs as web pages on this machine.

    The page of a run that is being played updates by itself.

    Example: hobbes view
    """
    from lab.show.viewing import view as viewed

    viewed(home, host, port)
