"""The commands that change something and compare: `fork`, `compare`, `improve`, `watch`."""

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hobbes.commands import options
from hobbes.commands.experiments import ask_whether_to_play
from hobbes.commands.groups import CHANGE
from hobbes.commands.play import MaxCalls, MaxSeconds, MaxTokens, MaxUsd, TraceLangSmith
from hobbes.commands.prompts import AtTurn, InRun, OfAgent, RunsLang, find_question
from hobbes.errors import UsageError, needs_extra
from hobbes.files import read_text

if TYPE_CHECKING:
    from hobbes.probe.situations import ProbeFile

app = typer.Typer()

MAX_TIMES = 1_000
"""More forks than this are a slip of the keyboard."""


@app.command(context_settings=options.ENV, rich_help_panel=CHANGE)
def fork(  # noqa: PLR0913, PLR0917  the options that interfaces.md names
    run: options.RunName,
    turn: Annotated[int, typer.Option(min=0, help="the first turn that is played anew")],
    model: options.Model = None,
    prompts: options.Prompts = None,
    lang: options.Lang = None,
    settings: options.Settings = None,
    answers: Annotated[
        list[str] | None,
        typer.Option(
            "--answer",
            envvar="HOBBES_ANSWER",
            metavar="AGENT=TEXT|@FILE",
            help="what an agent answers in this turn in place of its player; may be repeated",
        ),
    ] = None,
    times: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_TIMES,
            help="play this many forks; models answer anew in each, scripted policies do not differ",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="a name for the fork; with --times, NAME-1, NAME-2 and so on")
    ] = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    max_seconds: MaxSeconds = None,
    trace_langsmith: TraceLangSmith = False,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Play a run again from one of its turns, with or without changes.

    The fork is a new run. Its turns before --turn are those of RUN, and cost nothing. Everything else
    stays as it was in RUN, including the caps, which count the calls of the fork alone.

    Example: hobbes fork baseline --turn 20 --set immunity=20
    """
    from hobbes.play.fork import ForkOptions, forks
    from hobbes.show.run_result import play_run, play_runs_side_by_side
    from hobbes.show.terminal import remark
    from hobbes.store.policy_games import with_turns

    caps = options.given(calls=max_calls, tokens=max_tokens, usd=max_usd, seconds=max_seconds)
    changes = ForkOptions(
        turn, model, prompts, lang, options.parse_settings(settings), _parse_answers(answers or ()), name
    )
    with options.open_home(home, writes=True) as store:
        parent = with_turns(store, store.runs.find(run))
        begun = forks(store, parent, changes, replace(parent.caps, **caps), times)
        for forked in begun:
            remark(f"run {forked.label}, forked from {parent.label} at turn {turn}")
        if times:
            tainted = play_runs_side_by_side(store, begun, as_json=as_json, traced=trace_langsmith)
        else:
            tainted = play_run(store, begun[0], as_json=as_json, traced=trace_langsmith)
        if tainted:
            sys.exit(1)


def _parse_answers(answers: Iterable[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for argument in answers:
        agent, equals, text = argument.partition("=")
        if not equals or not agent:
            raise UsageError(f"--answer {argument[:60]!r}: write AGENT=TEXT, or AGENT=@FILE")
        if agent in texts:
            raise UsageError(f"--answer {agent}: this agent is given two answers; give it one")
        texts[agent] = read_text(Path(text[1:])) if text.startswith("@") else text
    return texts


@app.command(context_settings=options.ENV, rich_help_panel=CHANGE)
def compare(
    a: options.RunName, b: options.RunName, home: options.Home = options.HOME, as_json: options.AsJson = False
) -> None:
    """Show two runs of one world side by side.

    It shows the settings that differ, where the runs first differ, the first decision that differs, failed
    calls, measures and ratings.

    Example: hobbes compare baseline last
    """
    from hobbes.prove.run_comparison import compare
    from hobbes.show.both_runs import show
    from hobbes.show.palette import looks_of
    from hobbes.show.terminal import OUT, print_json
    from hobbes.store.policy_games import with_turns

    with options.open_home(home) as store, store.as_of_now():
        runs = [with_turns(store, store.runs.find(reference)) for reference in (a, b)]
        comparison = compare(store, *runs)
    if as_json:
        print_json(comparison)
    else:
        OUT.print(show(comparison, looks_of([agent for run in runs for agent in run.setting.agents])))


@app.command(context_settings=options.ENV, rich_help_panel=CHANGE)
def improve(
    file: Annotated[Path, typer.Argument(help="a TOML file (docs/improve.md)")],
    yes: Annotated[bool, typer.Option("--yes", help="do not ask before it costs money")] = False,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Search for better advice in a prompt, and let games with fresh seeds decide.

    gepa searches, and a probe of recorded situations scores. The best candidate plays against the baseline.
    It is accepted only if the games support that it is better than the baseline and than a second replicate
    of it. Called again, the command goes on where it stopped. The exit code is 1 if nothing is accepted.

    Example: hobbes improve calmer.toml
    """
    with needs_extra("gepa", "searches"):
        from hobbes.improve.adapter import ProbeAdapter
    from hobbes.improve.improvement import decide, is_accepted, read_improvement
    from hobbes.show.improvement_report import show
    from hobbes.show.progress import show_experiment_progress
    from hobbes.show.terminal import remark

    with options.open_home(home, writes=True) as store:
        plan = read_improvement(store, file)
        adapter, games = ProbeAdapter(store, plan), None
        if plan.cost_of_games.may_cost and not yes:
            ask_whether_to_play(plan.cost_of_games)
        remark(f"gepa searches; {plan.search / 'run_log.txt'} says what it does")
        result = adapter.search()
        if result.best_idx:
            best = result.candidates[result.best_idx]["advice"]
            games = decide(store, file, plan, best, show_experiment_progress)
        show(plan, result, games, as_json=as_json)
        if not is_accepted(games):
            sys.exit(1)


@app.command(context_settings=options.ENV, rich_help_panel=CHANGE)
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
    """Render the prompt of a turn again whenever one of its files is saved, until you press Ctrl-C.

    First, the whole prompt is printed, then after each save the lines that changed, with their words marked,
    the approximate tokens, and what `prompts check` finds. If the prompt cannot be rendered, one line says
    why. The options are those of `prompts render`.

    With --probe, recorded situations are asked about at once and again after each save, several times each.
    Each version of the prompt is a column beside the prompt of the run itself, and nothing is asked twice.
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
    from hobbes.show.prompt_edits import Edits, Probed, saves, show, show_json

    own = {"agents": agents, "seed": seed, "models": model}
    values = options.parse_settings(settings, rounds=rounds, observer=observer)
    situations = None
    if probe is not None:
        if run or turn or agent or agents or seed is not None or values:
            raise UsageError("--probe takes situations from its file; leave out --run, --turn, ...")
        situations, own = _probe_file(probe, prompts, model, lang), {}
        run, turn, agent, prompts = *situations.situation[0].place, situations.prompts[0]
    caps = Caps(max_calls, max_tokens, max_usd, max_seconds)
    show_news = show_json if as_json else show
    with options.open_home(home, writes=probe is not None) as store:
        question = find_question(
            store, world, turn, agent, run=run, variant=prompts, lang=lang, settings=values, **own
        )
        if question.lang not in languages(question.world.name, question.variant):
            question.load_prompts()  # raises UsageError: there is nothing to watch
        session = Session(store, situations, caps, watched_answers) if situations else None
        edits = Edits(question, show_news, session.ask if session else None)
        with suppress(KeyboardInterrupt):
            play_out(edits.follow(saves(question)))
        if session and (news := session.news()):
            show_news(Probed(edits.last, Tried(news)))


def _probe_file(file: Path, prompts: str | None, model: str | None, lang: str | None) -> "ProbeFile":
    """Return what a file of situations asks about a prompt that is edited."""
    from hobbes.probe.situations import read_probe_file, with_options

    read = read_probe_file(file)
    given = {
        "prompts": options.split_list(prompts),
        "model": options.split_list(model),
        "lang": options.split_list(lang),
    }
    edited = with_options([read], {**given, "name": read.name or file.stem}, [])
    if not edited.situation:
        raise UsageError(f"{file} has no situation; `hobbes probe add RUN TURN AGENT --to {file}` adds one")
    if len(edited.prompts) != 1:
        raise UsageError("--probe needs the one prompt that you edit; write --prompts ./FOLDER")
    return edited
