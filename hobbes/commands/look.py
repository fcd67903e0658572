"""The commands that show runs: `runs`, `trace`, `search`, `view`, and notes on them: `note`, `notes`."""

import re
from typing import Annotated, Literal

import typer

from hobbes.commands import options
from hobbes.commands.groups import LOOK
from hobbes.errors import UsageError

app = typer.Typer()


@app.command(context_settings=options.ENV, rich_help_panel=LOOK)
def runs(
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="only runs that meet this condition: a setting, a measure or a fact, then =, !=, <, >, <=, "
            ">= or ~ (contains), and a value; may be repeated"
        ),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(help="a setting, a measure or a fact, such as score; -score shows the highest first"),
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="how many rows to print; JSON has all runs")] = 100,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """List runs, the newest first.

    The runs of experiments are left out unless --where or --sort is given. Settings are shown where they
    differ from the defaults. Facts are name, world, players, status, turns, seed, agents, prompts, lang,
    score (the highest of a run), ending (in words), failed (the share of calls), rejected and corrected
    (parts of answers), experiment, arm, parent, tainted, seconds, started, digest, tags of notes, and notes
    (how many).

    Example: hobbes runs --where world=mining --where immunity=0 --sort -score
    """
    from hobbes.engine.telling import counted
    from hobbes.show.run_list import entries, show
    from hobbes.show.terminal import OUT, plain, print_json, remark
    from hobbes.store.run_rows import Selection, listed, shown

    selection = Selection(tuple(where or ()), sort or "")
    with options.open_home(home) as store:
        rows = listed(store, selection)
        none = "no run is like that" if where else f"no runs yet; try: {store.command('run', 'mining')}"
    if as_json:
        print_json(rows)
        return
    in_rows = entries(shown(rows, selection))
    if in_rows or not rows:
        OUT.print(show(in_rows[:most]) if rows else plain(none), soft_wrap=not rows)
    if len(in_rows) > most:
        remark(f"hobbes: {counted(len(in_rows) - most, 'more row')}; --most {len(in_rows)} prints all")
    if left_out := len(rows) - len(in_rows):
        remark(
            f"hobbes: {counted(left_out, 'run')} of experiments left out; --where experiment=NAME lists them"
        )
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
        str | None,
        typer.Option(
            help="choose decisions with an event of this type, a `failed call`, `rejection` or `correction`"
        ),
    ] = None,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="also show all figures of the run, or all of an agent's turn: prompt, view, answer, tokens",
        ),
    ] = False,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Show a run, a turn, one agent's turn, or the diary of agents.

    A run is told in a few sentences and then turn by turn, a turn agent by agent, and an agent's turn as a
    card: why, what it did, and what followed. A diary shows what one, several or all agents thought, said
    and did. `--event` chooses from a diary, that of all if no agent is named.

    Example: hobbes trace last 3 miner-01
    """
    from hobbes.show import trace_text
    from hobbes.store.policy_games import with_turns

    turn, agents = _turn_and_agents(words or [])
    if turn is not None and event is not None:
        raise UsageError("--event chooses from a diary; leave out the turn")
    if raw and (event is not None or (turn is None) != (not agents)):
        raise UsageError("--raw shows all of a run, or all of one agent's turn: name the turn and the agent")
    with options.open_home(home) as store, store.as_of_now():
        stored = with_turns(store, store.runs.find(run))
        if turn is not None and agents:
            trace_text.trace_card(store, stored, turn, *agents, raw=raw, as_json=as_json)
        elif turn is not None:
            trace_text.trace_turn(store, stored, turn, as_json=as_json)
        elif agents or event is not None:
            trace_text.trace_diary(store, stored, agents, event, as_json=as_json)
        else:
            trace_text.trace_run(store, stored, raw=raw, as_json=as_json)


def _turn_and_agents(words: list[str]) -> tuple[int | None, list[str]]:
    """Return the turn and the agents that were typed; raise UsageError for several agents of a turn."""
    turn, agents = (
        (int(words[0]), words[1:]) if words and re.fullmatch("[0-9]{1,4000}", words[0]) else (None, words)
    )
    if turn is not None and len(agents) > 1:
        raise UsageError("a turn has the card of one agent; leave out the turn for the diary of several")
    return turn, agents


@app.command(context_settings=options.ENV, rich_help_panel=LOOK)
def search(  # noqa: PLR0913, PLR0917  its arguments and options
    words: Annotated[
        list[str] | None, typer.Argument(help="words, or a phrase in quotes: '\"share the gold\"'")
    ] = None,
    kind: Annotated[
        Literal["reasoning", "messages", "answers", "prompts", "memories"] | None,
        typer.Option("--in", envvar="HOBBES_IN", help="only in texts of this kind"),
    ] = None,
    run: Annotated[str | None, typer.Option(help="only in this run")] = None,
    agent: Annotated[str | None, typer.Option(help="only in the texts of this agent")] = None,
    most: Annotated[int, typer.Option(min=1, help="how many texts to print")] = 20,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Find words in all prompts, answers, reasoning, messages and memories.

    A word finds all that begins with it: retaliat finds retaliate and retaliation. All words must be in a
    text. The first search makes an index, search.db in the home.

    Example: hobbes search retaliat --in reasoning --agent miner-01
    """
    from dataclasses import asdict

    from hobbes.engine.telling import counted
    from hobbes.show import text_search
    from hobbes.show.terminal import ERR, print_json, remark
    from hobbes.store.text_index import Filters

    filters = Filters(run or "", agent or "", text_search.KIND_NAMED[kind] if kind else "")
    query = " ".join(words or ())
    with options.open_home(home) as store:
        with ERR.status("searching"):  # the first search reads all texts
            found = text_search.find(store, query, filters, 0, most)
        if not as_json:
            text_search.show(store, found)
    if as_json:
        print_json({"q": query, **asdict(found)})
        return
    if found.total > len(found.hits):
        more = counted(found.total - len(found.hits), "more text")
        remark(f"hobbes: {more}; --most {found.total} prints all")
    if found.without_texts:
        runs, holds = ("runs", "hold") if found.without_texts > 1 else ("run", "holds")
        remark(
            f"hobbes: {found.without_texts} {runs} of experiments {holds} no texts until opened, for example "
            "by `hobbes trace RUN`"
        )


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
    from hobbes.show.web.server import view as viewed

    viewed(home, host, port)


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
        if text is None and not tag and not untag:
            raise UsageError("there is nothing to note: write a text, or give --tag")
        written = annotations.change_note(store, place, text, tag or (), untag or ())
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
