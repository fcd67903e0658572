"""The command for people who edit a prompt: `watch`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hobbes.commands import options
from hobbes.commands.groups import CHANGE
from hobbes.commands.play import MaxCalls, MaxSeconds, MaxTokens, MaxUsd
from hobbes.commands.prompts import AtTurn, InRun, OfAgent, RunsLang, find_question
from hobbes.errors import UsageError

if TYPE_CHECKING:
    from hobbes.probe.situations import ProbeFile

app = typer.Typer()


@app.command(context_settings=options.ENV, cls=options.NamesWorlds, rich_help_panel=CHANGE)
def watch(  # noqa: PLR0913, PLR0917  a parameter per option
    world: options.WorldName,
    turn: AtTurn = 0,
    agent: OfAgent = None,
    run: InRun = None,
    agents: options.Agents = None,
    rounds: options.Rounds = None,
    seed: options.Seed = None,
    model: options.Model = None,
    prompts: options.Prompts = None,
    lang: RunsLang = None,
    observer: options.ObserverSpec = None,
    settings: options.Settings = None,
    probe: Annotated[
        Path | None,
        typer.Option(help="ask about the situations in this file after each save, as `hobbes probe` does"),
    ] = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    max_seconds: MaxSeconds = None,
    home: options.Home = options.HOME,
    as_json: Annotated[
        bool, typer.Option("--json", envvar="HOBBES_JSON", help="print one JSON document per line on stdout")
    ] = False,
) -> None:
    """Print the prompt of a turn again whenever one of its files is saved, until you press Ctrl-C.

    Each time, the whole prompt is printed with the words that changed marked, then the lines that changed,
    the approximate tokens, and what `prompts check` finds; with --probe, without the whole prompt. If the
    prompt cannot be rendered, one line says why. The options are those of `prompts render`.

    With --probe, recorded situations are asked about at once and again after each save, several times each.
    Each version of the prompt is a column beside the prompt of the game itself, and nothing is asked twice.
    The answers are kept, and `hobbes probe show` shows them later. The caps count the calls from the start of
    this command.

    Example: hobbes watch mining --prompts ./mine --turn 3 --agent miner-01
    """
    from contextlib import suppress

    from hobbes.loop import play_out
    from hobbes.nodes.caps import Caps
    from hobbes.nodes.prompting import languages
    from hobbes.probe.versions import Session, Tried
    from hobbes.show.progress import watched_answers
    from hobbes.show.prompt_edits import Edits, Probed, Terminal, saves, show_json

    own = {"agents": agents, "seed": seed, "models": model}
    values = options.parse_settings(settings, rounds=rounds, observer=observer)
    asked = None
    if probe is not None:
        if run or turn or agent or agents or seed is not None or values:
            raise UsageError("--probe takes situations from its file; leave out --run, --turn, ...")
        asked, own = _probe_file(probe, prompts, model, lang), {}
        run, turn, agent, prompts = *asked.situation[0].place, asked.prompts[0]
    caps = Caps(max_calls, max_tokens, max_usd, max_seconds)
    show = show_json if as_json else Terminal(has_table=probe is not None).show
    with options.open_home(home, writes=probe is not None) as store:
        question = find_question(
            store, world, turn, agent, run=run, variant=prompts, lang=lang, settings=values, **own
        )
        if question.lang not in languages(question.world.name, question.variant):
            question.load_prompts()  # raises UsageError: there is nothing to watch
        session = Session(store, asked, caps, watched_answers) if asked else None
        edits = Edits(question, show, session.ask if session else None)
        with suppress(KeyboardInterrupt):
            play_out(edits.follow(saves(question)))
        if session and (told := session.not_told_yet()):
            show(Probed(edits.last, Tried(told)))


def _probe_file(file: Path, prompts: str | None, model: str | None, lang: str | None) -> "ProbeFile":
    """Return what a file of situations asks about a prompt that is edited."""
    from hobbes.probe.situations import read_probe_file, with_options

    read = read_probe_file(file)
    given = {
        "prompts": options.split_list(prompts),
        "model": options.split_list(model),
        "lang": options.split_list(lang),
    }
    asked = with_options([read], {**given, "name": read.name or file.stem}, [])
    if len(asked.prompts) != 1:
        raise UsageError("--probe needs the one prompt that you edit; write --prompts ./FOLDER")
    return asked
