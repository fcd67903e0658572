"""The commands that show what was played: `runs`, `trace`, `compare`, `export`, `view`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from lab.commands.options import ENV, HOME, AsJson, Home, RunName, opened
from lab.show.terminal import OUT, percent, picture, print_json, table

app = typer.Typer()


class Form(StrEnum):
    """What `hobbes export` writes."""

    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"
    html = "html"


@app.command(context_settings=ENV)
def runs(home: Home = HOME, as_json: AsJson = False) -> None:
    """List the runs; --json tells all that is known of each.

    Example: hobbes runs
    """
    with opened(home) as store:
        rows = store.runs()
    if as_json:
        print_json(rows)
        return
    columns = ("id", "name", "world", "status", "turns", "nobody's", "digest")
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
    turn: Annotated[int | None, typer.Argument(help="a turn, from 0")] = None,
    agent: Annotated[str | None, typer.Argument(help="an agent that acted in it")] = None,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Show a run turn by turn, a turn agent by agent, or one agent's turn as a card.

    Example: hobbes trace last 3 miner-01
    """
    from lab.show import cards, tracing
    from lab.store.history import state_before

    with opened(home) as store, store.as_of_now():
        found = store.find(run)
        if turn is None:
            told: Any = tracing.overview(store, found)
        elif agent is None:
            told = tracing.turn_card(store, found, turn)
        else:
            told = tracing.agent_card(store, found, turn, agent)
        after = None if turn is None else state_before(store, found, min(turn + 1, found.turns))
    if as_json:
        print_json(told)
    elif turn is None:
        cards.show_overview(told)
    elif agent is None:
        cards.show_turn(told)
        OUT.print(picture(found.world.picture(after)))
    else:
        cards.show_card(told)


@app.command(context_settings=ENV)
def compare(a: RunName, b: RunName, home: Home = HOME, as_json: AsJson = False) -> None:
    """Show two runs of one world side by side: settings, first divergence, failures, measures, reports.

    Example: hobbes compare baseline last
    """
    from lab.proof.comparing import compare
    from lab.show.comparison_table import show

    with opened(home) as store, store.as_of_now():
        told = compare(store, store.find(a), store.find(b))
    if as_json:
        print_json(told)
    else:
        OUT.print(show(told))


@app.command(context_settings=ENV)
def export(
    run: RunName,
    form: Annotated[Form, typer.Option("--format", help="what the files are")] = Form.jsonl,
    to: Annotated[
        Path | None, typer.Option(help="a folder that is made; exports/RUN-FORMAT in the home, if not said")
    ] = None,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Write a run into a folder: a file a table, or pages; docs/data.md tells what is in them.

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
    host: Annotated[str, typer.Option(help="the address to listen at")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="the port; 0 takes a free one")] = 8766,
    home: Home = HOME,
) -> None:
    """Show the runs as web pages on this machine, those that are being played, too.

    Example: hobbes view
    """
    from lab.show.viewing import view as viewed

    viewed(home, host, port)
