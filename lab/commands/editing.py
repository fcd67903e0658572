"""The command for people who edit a prompt: `watch`."""

from typing import Annotated

import typer

from hobbes.lab.commands import options
from hobbes.lab.commands.groups import CHANGE
from hobbes.lab.commands.playing import MaxCalls, MaxSeconds, MaxTokens, MaxUsd
from hobbes.lab.commands.prompts import AtTurn, InRun, OfAgent, RunsLang, find_question

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
    ask: Annotated[
        bool, typer.Option("--ask", help="ask the agent's model whenever the prompt has changed")
    ] = False,
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
    the approximate tokens, and what `prompts check` finds. If the prompt cannot be rendered, one line says
    why. The options are those of `prompts render`.

    With --ask, the model that plays the agent is asked at once and again whenever the prompt has changed. Its
    answer is printed beside the one before, or below it. Answers are not kept, and nothing is played. The
    caps count the calls from the start of this command.

    Example: hobbes watch mining --prompts ./mine --turn 3 --agent miner-01
    """
    from contextlib import suppress

    from hobbes.lab.loop import play_out
    from hobbes.lab.play.asking import Asker
    from hobbes.lab.show.prompt_edits import Edits, Terminal, saves, show_json
    from hobbes.nodes.caps import Caps
    from hobbes.nodes.prompting import languages

    own = {"agents": agents, "seed": seed, "models": model}
    values = options.parse_settings(settings, rounds=rounds, observer=observer)
    with suppress(KeyboardInterrupt), options.open_home(home) as store:
        question = find_question(
            store, world, turn, agent, run=run, variant=prompts, lang=lang, settings=values, **own
        )
        if question.lang not in languages(question.world.name, question.variant):
            question.load_prompts()  # raises UsageError: there is nothing to watch
        caps = Caps(max_calls, max_tokens, max_usd, max_seconds)
        asker = Asker(store, question, caps) if ask else None
        edits = Edits(question, show_json if as_json else Terminal().show, asker.ask if asker else None)
        play_out(edits.follow(saves(question)))
