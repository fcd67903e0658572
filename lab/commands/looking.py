"""The commands that show runs: `runs`, `trace`, `compare`, `export`, `view`, `datasette`."""

from collections.abc import Collection
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hobbes.lab.commands import options
from hobbes.lab.commands.groups import CHANGE, DATA, LOOK
from hobbes.lab.errors import UsageError

if TYPE_CHECKING:
    from hobbes.lab.store.home import Store
    from hobbes.lab.store.run import Run

app = typer.Typer()


class Form(StrEnum):
    """The formats of `hobbes export`."""

    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"
    html = "html"
    inspect = "inspect"


@app.command(context_settings=options.ENV, rich_help_panel=LOOK)
def runs(home: options.Home = options.HOME, as_json: options.AsJson = False) -> None:
    """List all runs, the newest first.

    Example: hobbes runs
    """
    from hobbes.lab.show.run_list import show
    from hobbes.lab.show.terminal import OUT, plain, print_json, remark

    with options.open_home(home) as store:
        rows, hint = store.figures.of_all_runs(), store.command("run", "mining")
    if as_json:
        print_json(rows)
        return
    OUT.print(show(rows) if rows else plain(f"no runs yet; try: {hint}"), soft_wrap=not rows)
    for run in rows:
        if run["damage"]:
            remark(f"hobbes: {run['damage']}")


@app.command(context_settings=options.ENV, rich_help_panel=LOOK)
def trace(  # noqa: PLR0913, PLR0917  its arguments and options
    run: options.RunName,
    turn: Annotated[int | None, typer.Argument(help="a turn, counted from 0")] = None,
    agent: Annotated[str | None, typer.Argument(help="an agent, or observer")] = None,
    event: Annotated[
        list[str] | None, typer.Option(help="list the events of this type; may be repeated")
    ] = None,
    only_agents: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            envvar="HOBBES_AGENT",
            help="show only what this agent did and what names it; may be repeated",
        ),
    ] = None,
    grep: Annotated[
        str | None,
        typer.Option(
            help="list where this regular expression is found in answers, reasoning, messages and events"
        ),
    ] = None,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Show a run, a turn, or one agent's turn.

    A run is shown turn by turn, a turn agent by agent, and an agent's turn in full. --event, --agent and
    --grep choose what to show of a run.

    Example: hobbes trace last 3 miner-01
    """
    if turn is not None and (event or only_agents or grep is not None):
        raise UsageError("--event, --agent and --grep search a whole run; leave out the turn")
    with options.open_home(home) as store, store.as_of_now():
        stored = store.runs.find(run)
        if turn is None:
            _trace_run(store, stored, event or (), only_agents or (), grep, as_json=as_json)
        elif agent is None:
            _trace_turn(store, stored, turn, as_json=as_json)
        else:
            _trace_agent(store, stored, turn, agent, as_json=as_json)


def _trace_run(  # noqa: PLR0913  its options
    store: "Store",
    run: "Run",
    events: Collection[str],
    agents: Collection[str],
    grep: str | None,
    *,
    as_json: bool,
) -> None:
    """Show a run turn by turn or, with types of events or a pattern, what they find in it."""
    from hobbes.lab.show import cards, searching, tracing
    from hobbes.lab.show.palette import looks_in
    from hobbes.lab.show.terminal import print_json

    search = searching.search_for(store, run, events, agents, grep)
    if events or grep is not None:
        matches = searching.search_run(store, run, search)
        if as_json:
            print_json(list(matches))
        else:
            cards.show_found(matches, search.pattern, looks_in(store, run))
    elif as_json:
        print_json(tracing.overview(store, run, agents))
    else:
        turns = tracing.turns_so_far(store, run, agents)
        cards.show_overview(turns, looks_in(store, run), run.world.causes)


def _trace_turn(store: "Store", run: "Run", turn: int, *, as_json: bool) -> None:
    """Show a turn agent by agent, and the world after it."""
    from hobbes.lab.show import boards, cards, tracing
    from hobbes.lab.show.palette import looks_in, words_of
    from hobbes.lab.show.terminal import OUT, picture, plain, print_json
    from hobbes.lab.store.history import state_before

    full = tracing.full_turn(store, run, turn)
    card = tracing.turn_card(store, run, turn, lambda *_: full)
    if as_json:
        print_json(card)
        return
    looks, board = looks_in(store, run), tracing.board_in(run, full)
    after = run.world.picture(state_before(store, run, min(turn + 1, run.turns)))
    cards.show_turn(card, looks)
    OUT.print(picture(after, words_of(run, looks)), end="")
    OUT.print(plain("\n".join(boards.text(board)) if board else ""))


def _trace_agent(store: "Store", run: "Run", turn: int, agent: str, *, as_json: bool) -> None:
    """Show everything about one agent in one turn."""
    from hobbes.lab.show import cards, tracing
    from hobbes.lab.show.palette import looks_in
    from hobbes.lab.show.terminal import print_json

    card = tracing.agent_card(store, run, turn, agent)
    if as_json:
        print_json(card)
    else:
        cards.show_card(card, looks_in(store, run))


@app.command(context_settings=options.ENV, rich_help_panel=CHANGE)
def compare(
    a: options.RunName, b: options.RunName, home: options.Home = options.HOME, as_json: options.AsJson = False
) -> None:
    """Show two runs of one world side by side.

    It shows the settings that differ, where the runs first differ, the first decision that differs, failed
    calls, measures and ratings.

    Example: hobbes compare baseline last
    """
    from hobbes.lab.proof.comparing import compare
    from hobbes.lab.show.comparison_table import show
    from hobbes.lab.show.palette import looks_of
    from hobbes.lab.show.terminal import OUT, print_json

    with options.open_home(home) as store, store.as_of_now():
        one, other = store.runs.find(a), store.runs.find(b)
        comparison = compare(store, one, other)
    if as_json:
        print_json(comparison)
    else:
        OUT.print(show(comparison, looks_of([*one.setting.agents, *other.setting.agents])))


@app.command(context_settings=options.ENV, rich_help_panel=DATA)
def export(
    run: options.RunName,
    form: Annotated[
        Form, typer.Option("--format", envvar="HOBBES_FORMAT", help="the format of the files")
    ] = Form.jsonl,
    to: Annotated[
        Path | None,
        typer.Option(
            help="the folder to create, or with --format inspect the file; by default exports/RUN-FORMAT or "
            "exports/RUN.eval in the home folder"
        ),
    ] = None,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Export a run as tables, web pages or a log for inspect.

    The new folder has one file per table, which docs/data.md describes, or the pages of `hobbes view`. With
    --format inspect, it writes one file, a log that `inspect view` opens.

    Example: hobbes export last --format parquet --to tables
    """
    from hobbes.lab.show.exporting import LOG
    from hobbes.lab.show.exporting import export as exported
    from hobbes.lab.show.terminal import OUT, print_json, table

    with options.open_home(home) as store, store.as_of_now():
        stored = store.runs.find(run)
        usual = f"{stored.id}{LOG}" if form is Form.inspect else f"{stored.id}-{form.value}"
        folder = to or home / "exports" / usual
        files = exported(store, stored, form.value, folder)
    if as_json:
        print_json({"run": stored.id, "folder": str(folder), "files": files})
    else:
        size = {Form.html: "pages", Form.inspect: "samples"}.get(form, "rows")
        OUT.print(table(f"{folder}", ("file", size), list(files.items())))


@app.command(context_settings=options.ENV, rich_help_panel=LOOK)
def view(
    host: Annotated[str, typer.Option(help="the address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="the port; 0 picks a free one")] = 8766,
    home: options.Home = options.HOME,
) -> None:
    """Serve all runs as web pages on this machine.

    The page of a run that is being played updates by itself. If other machines can reach --host, the pages
    need the token in the printed address.

    Example: hobbes view
    """
    from hobbes.lab.show.viewing import view as viewed

    viewed(home, host, port)


@app.command(context_settings=options.ENV, rich_help_panel=DATA)
def datasette(home: options.Home = options.HOME, as_json: options.AsJson = False) -> None:
    """Print the command that shows all runs in Datasette.

    It first writes datasette.json into the home: descriptions of all tables and columns, and queries.

    Example: eval "$(hobbes datasette)"
    """
    from hobbes.lab.show.for_datasette import FILE, prepare
    from hobbes.lab.show.terminal import print_json, say
    from hobbes.lab.store.home import read_store

    read_store(home).close()
    command = prepare(home)
    if as_json:
        print_json({"command": command, "metadata": str(home / FILE)})
    else:
        say(command)
