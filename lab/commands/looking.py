"""The commands that show runs: `runs`, `trace`, `compare`, `export`, `view`, `datasette`."""

import re
from collections.abc import Collection
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hobbes.lab.commands import options
from hobbes.lab.commands.groups import CHANGE, DATA, LOOK
from hobbes.lab.errors import UsageError

if TYPE_CHECKING:
    from hobbes.lab.show.searching import Search
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

    with options.opened(home) as store:
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
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TURN] [AGENT]...",
            help="a turn, counted from 0; an agent or observer in it; or, without a turn, agents, or all",
        ),
    ] = None,
    event: Annotated[
        list[str] | None, typer.Option(help="list the events of this type; may be repeated")
    ] = None,
    of: Annotated[
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
    """Show a run, a turn, one agent's turn, or the diary of agents.

    A run is shown turn by turn, a turn agent by agent, and an agent's turn in full. A diary has what agents
    thought, said and did: one, several or all of them. --event, --agent and --grep choose what to show of a
    run or of a diary.

    Example: hobbes trace last 3 miner-01
    """
    from hobbes.lab.show import boards, cards, searching, tracing
    from hobbes.lab.show.palette import looks_in, words_of
    from hobbes.lab.show.terminal import OUT, picture, plain, print_json
    from hobbes.lab.show.told import told
    from hobbes.lab.store.history import state_before

    turn, agents = _turn_and_agents(words or [])
    agent = next(iter(agents), None)
    with options.opened(home) as store, store.as_of_now():
        stored = store.runs.find(run)
        if turn is None and agents:
            _show_diary(store, stored, [*agents, *(of or ())], event or (), grep, as_json=as_json)
            return
        if turn is None:
            _show_run(
                store,
                stored,
                searching.search_for(store, stored, event or (), of or (), grep),
                as_json=as_json,
            )
            return
        if event or of or grep is not None:
            raise UsageError("--event, --agent and --grep search a whole run; leave out the turn")
        full, board = tracing.full_turn(store, stored, turn), None
        if agent is None:
            shown: Any = tracing.turn_card(store, stored, turn, lambda *_: full)
            board = tracing.board_in(stored, full)
        else:
            shown = tracing.agent_card(store, stored, turn, agent, lambda *_: full)
        looks, last = looks_in(store, stored), min(turn + 1, stored.turns)
        after = stored.world.picture(state_before(store, stored, last))
    if as_json:
        print_json(shown)
    elif agent is None:
        cards.show_turn(shown, looks)
        OUT.print(picture(after, words_of(stored, looks)), end="")
        OUT.print(plain("\n".join(boards.text(board)) if board else ""))
    else:
        cards.show_card(shown, told(stored, full, shown), looks)


def _show_run(store: "Store", run: "Run", search: "Search", *, as_json: bool) -> None:
    """Print a run turn by turn, or what is looked for in it."""
    from hobbes.lab.show import cards, searching, tracing
    from hobbes.lab.show.palette import looks_in
    from hobbes.lab.show.terminal import print_json

    if search.events or search.pattern is not None:
        matches = searching.found(store, run, search)
        if as_json:
            print_json(list(matches))
        else:
            cards.show_found(matches, search.pattern, looks_in(store, run))
    elif as_json:
        print_json(tracing.overview(store, run, search.agents))
    else:
        turns = tracing.turns_so_far(store, run, search.agents)
        cards.show_overview(turns, looks_in(store, run), run.world.causes)


def _show_diary(  # noqa: PLR0913  what is asked for
    store: "Store", run: "Run", agents: list[str], events: Collection[str], grep: str | None, *, as_json: bool
) -> None:
    """Print the diary of these agents."""
    from hobbes.lab.show import cards, diary, searching
    from hobbes.lab.show.palette import looks_in
    from hobbes.lab.show.terminal import print_json
    from hobbes.lab.store.timelines import marks_in

    search = searching.search_for(store, run, events, (), grep)
    looks = looks_in(store, run)
    chosen = diary.chosen(looks, agents)
    choice = diary.Choice(chosen, events=search.events, words=search.pattern)
    entries = diary.diary(store, run, choice)
    if as_json:
        print_json([entry.to_json() for entry in entries])
    else:
        cards.show_diary(entries, diary.firsts(marks_in(store, run).landmarks, chosen), search.pattern, looks)


def _turn_and_agents(words: list[str]) -> tuple[int | None, list[str]]:
    """Return the turn and the agents that were typed; raise UsageError for several agents of a turn."""
    turn, agents = (
        (int(words[0]), words[1:]) if words and re.fullmatch("[0-9]{1,4000}", words[0]) else (None, words)
    )
    if turn is not None and len(agents) > 1:
        raise UsageError("a turn has the card of one agent; leave out the turn for the diary of several")
    return turn, agents


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

    with options.opened(home) as store, store.as_of_now():
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
            help="the folder to create, or the file as inspect; by default exports/RUN-FORMAT or "
            "exports/RUN.eval in the home folder"
        ),
    ] = None,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Export a run as tables, web pages or a log for inspect.

    The new folder has one file per table, which docs/data.md describes, or the pages of `hobbes view`. As
    inspect, one new file is a log that `inspect view` opens.

    Example: hobbes export last --format parquet --to tables
    """
    from hobbes.lab.show.exporting import LOG
    from hobbes.lab.show.exporting import export as exported
    from hobbes.lab.show.terminal import OUT, print_json, table

    with options.opened(home) as store, store.as_of_now():
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
