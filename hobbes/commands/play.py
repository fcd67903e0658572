"""The commands that play a run: `run`, `resume`, `fork`, `answer`."""

import math
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hobbes.commands import completion, options
from hobbes.commands.groups import CHANGE, PLAY
from hobbes.errors import HaltedRunError, HobbesError, LateError, UsageError
from hobbes.files import read_text

if TYPE_CHECKING:
    from hobbes.store.home import Store
    from hobbes.store.recorded_run import Run

app = typer.Typer()

MAX_TIMES = 1_000
"""More runs than this are a slip of the keyboard."""


def _finite(value: float | None) -> float | None:
    """Return a number that is finite; refuse infinity and NaN."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter("give a number")
    return value


MaxCalls = Annotated[int | None, typer.Option(min=1, help="stop before making more calls than this")]
MaxTokens = Annotated[
    int | None, typer.Option(min=1, help="stop once this many tokens are spent, in and out")
]
MaxUsd = Annotated[
    float | None,
    typer.Option(
        min=0, callback=_finite, help="stop once this many dollars are spent (docs/models.md#prices)"
    ),
]
MaxSeconds = Annotated[
    float | None, typer.Option(min=0, callback=_finite, help="stop after this many seconds, over all resumes")
]
TraceLangSmith = Annotated[
    bool,
    typer.Option(
        "--trace-langsmith",
        envvar="HOBBES_TRACE_LANGSMITH",
        help="upload states, prompts and answers to LangSmith, with the key in LANGSMITH_API_KEY",
    ),
]


@app.command(context_settings=options.ENV, cls=options.NamesWorlds, rich_help_panel=PLAY)
def run(  # noqa: PLR0913, PLR0917  the options that interfaces.md names
    world: Annotated[
        str, typer.Argument(autocompletion=completion.worlds, help=f"{options.A_WORLD}, or a FILE.toml")
    ],
    agents: options.Agents = None,
    rounds: options.Rounds = None,
    seed: options.Seed = None,
    model: options.Model = None,
    models: options.ModelsFile = None,
    prompts: options.Prompts = None,
    lang: options.Lang = None,
    observer: options.ObserverSpec = None,
    settings: options.Settings = None,
    name: Annotated[
        str | None, typer.Option(help="a name for the run; with --times, NAME-1, NAME-2 and so on")
    ] = None,
    times: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_TIMES, help="play this many such runs side by side; models may answer differently"
        ),
    ] = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    max_seconds: MaxSeconds = None,
    seconds_per_turn: options.SecondsPerTurn = None,
    trace_langsmith: TraceLangSmith = False,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Play a run. If a person plays, it waits for the answers; a single person is asked in the terminal.

    Example: hobbes run mining --agents 10 --rounds 50 --model 'policy:guided?noise=0.1'
    """
    from rich.text import Text

    from hobbes.nodes.caps import Caps
    from hobbes.play.start import begin, names_of
    from hobbes.show.terminal import ERR

    values = options.parse_settings(
        settings, rounds=rounds, observer=observer, seconds_per_turn=seconds_per_turn
    )
    asked = options.run_options(
        world, values, agents=agents, seed=seed, models=model, prompts=prompts, lang=lang, name=name
    )
    caps = Caps(max_calls, max_tokens, max_usd, max_seconds)
    with options.open_home(home, writes=True) as store:
        begun = [begin(store, replace(asked, name=one), caps, models) for one in names_of(store, name, times)]
        for one in begun:
            ERR.print(Text(f"run {one.id}"))
        if times:
            tainted = _play_side_by_side(store, begun, as_json=as_json, traced=trace_langsmith)
        else:
            tainted = _play_and_ask(store, begun[0], as_json=as_json, traced=trace_langsmith)
        _exit(tainted=tainted)


@app.command(context_settings=options.ENV, rich_help_panel=PLAY)
def resume(  # noqa: PLR0913, PLR0917  a cap each
    run: options.RunName,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    max_seconds: MaxSeconds = None,
    trace_langsmith: TraceLangSmith = False,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Continue a run that stopped for any reason. A cap that is given here replaces the run's own.

    Example: hobbes resume last --max-calls 1000
    """
    from hobbes.play.start import recap

    caps = _caps_from_options(calls=max_calls, tokens=max_tokens, usd=max_usd, seconds=max_seconds)
    with options.open_home(home, writes=True) as store:
        stored = store.runs.find(run)
        stored.check_versions()
        stored = recap(store, stored, caps)
        _exit(tainted=_play_and_ask(store, stored, as_json=as_json, traced=trace_langsmith))


@app.command(context_settings=options.ENV, rich_help_panel=CHANGE)
def fork(  # noqa: PLR0913, PLR0917  the options that interfaces.md names
    run: options.RunName,
    turn: Annotated[int, typer.Option(min=0, help="the first turn that is played anew")],
    model: options.Model = None,
    models: options.ModelsFile = None,
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
    stays as it was in RUN, including the caps, which count the calls of the fork alone. With --times and
    --name, the same command goes on with forks that were stopped, and begins those that are missing.

    Example: hobbes fork baseline --turn 20 --set immunity=20
    """
    from rich.text import Text

    from hobbes.play.fork import ForkOptions, forks
    from hobbes.show.terminal import ERR
    from hobbes.store.policy_games import with_turns

    caps = _caps_from_options(calls=max_calls, tokens=max_tokens, usd=max_usd, seconds=max_seconds)
    asked = ForkOptions(
        turn, model, prompts, lang, options.parse_settings(settings), _parse_answers(answers or ()), name
    )
    with options.open_home(home, writes=True) as store:
        found = with_turns(store, store.runs.find(run))
        begun = forks(store, found, asked, replace(found.caps, **caps), models, times)
        for one in begun:
            ERR.print(Text(f"run {one.id}, forked from {found.id} at turn {turn}"))
        if times:
            tainted = _play_side_by_side(store, begun, as_json=as_json, traced=trace_langsmith)
        else:
            tainted = _play(store, begun[0], as_json=as_json, traced=trace_langsmith)
        _exit(tainted=tainted)


def _caps_from_options(**caps: float | None) -> dict[str, Any]:
    """Return the caps that are given, which replace a run's own."""
    return {name: cap for name, cap in caps.items() if cap is not None}


def _parse_answers(answers: Iterable[str]) -> dict[str, str]:
    """Return the text of each agent's answer from AGENT=TEXT or AGENT=@FILE."""
    texts: dict[str, str] = {}
    for argument in answers:
        agent, equals, text = argument.partition("=")
        if not equals or not agent:
            raise UsageError(f"--answer {argument[:60]!r}: write AGENT=TEXT, or AGENT=@FILE")
        if agent in texts:
            raise UsageError(f"--answer {agent}: this agent is given two answers; give it one")
        texts[agent] = read_text(Path(text[1:])) if text.startswith("@") else text
    return texts


@app.command(context_settings=options.ENV, rich_help_panel=PLAY)
def answer(
    run: options.RunName,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE|@FILE.json", help="a field of the answer, or a file with all of it"
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="the agent to answer for; needed if several people are asked")
    ] = None,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Answer for a person whom a run waits for; without an answer, ask in the terminal.

    The run goes on once all have answered. VALUE is JSON or text, and a KEY with dots leads into objects. A
    field that is not written has its default. With --json and without an answer, the question is shown.

    Example: hobbes answer last rulings.unit-b.grant=5
    """
    from hobbes.play.people import checked_answer, keep_answer, the_question, written_answer
    from hobbes.show.questions import answer_in_terminal
    from hobbes.show.terminal import print_json

    with options.open_home(home, writes=True) as store:
        stored = store.runs.find(run)
        stored.check_versions()
        question = the_question(stored, agent)
        if as_json and not words:
            print_json(_open_questions(stored))
            return
        try:
            if words:
                said = checked_answer(stored, question, written_answer(words))
                keep_answer(store, stored, question, said)
            else:
                answer_in_terminal(store, stored, question)
        except LateError:
            _play(store, stored, as_json=as_json)  # the call has failed
            raise
        _exit(tainted=_play(store, stored, as_json=as_json))


def _exit(*, tainted: bool) -> None:
    """Exit with 1 if a run that was played is tainted."""
    if tainted:
        sys.exit(1)


def _play(store: "Store", run: "Run", *, as_json: bool, asks: bool = False, traced: bool = False) -> bool:
    """Play a run with a progress bar until it ends or asks a person, and print the result.

    Return whether the run is tainted. With `asks`, the caller asks the person, so that nothing is printed of
    it.
    """
    from hobbes.loop import play_out
    from hobbes.play.start import go_on
    from hobbes.show.progress import show_run_progress
    from hobbes.show.terminal import print_json, remark

    try:
        with show_run_progress(run) as watch:
            play_out(go_on(store, run, watch.on_turn, watch.on_meter), traced=traced)
    except KeyboardInterrupt:
        hint = store.command("resume", run.id)
        remark(f"stopped; `{hint}` goes on from here")
        sys.exit(130)
    except HaltedRunError:
        if as_json:
            print_json(_result(store, run))
        raise
    if as_json:
        print_json(_result(store, run))
    else:
        _show_result(store, store.runs.find(run.id), asks=asks)
    return bool(store.figures.about(run.id)["tainted"])


def _play_side_by_side(store: "Store", runs: "list[Run]", *, as_json: bool, traced: bool) -> bool:
    """Play runs side by side until each ends or asks a person, and print all results and their tally.

    Return whether one of them is tainted.
    """
    from hobbes.nodes.limits import RateLimiter
    from hobbes.play.side_by_side import most_at_once, play_runs
    from hobbes.play.start import Shared
    from hobbes.show.progress import show_experiment_progress
    from hobbes.show.tally import tally
    from hobbes.show.terminal import OUT, print_json, remark

    try:
        with show_experiment_progress(len(runs), len(runs)) as watch:
            shared = Shared(limiter=RateLimiter())
            play_runs(store, runs, most_at_once(runs), shared, watch, traced=traced)
    except KeyboardInterrupt:
        hint = store.command("resume", runs[0].id)
        remark(f"stopped; `{hint}` goes on with the first, and so on")
        sys.exit(130)
    finally:
        if as_json:
            print_json([_result(store, run) for run in runs])
    if not as_json:
        for run in runs:
            _show_result(store, store.runs.find(run.id), asks=False)
        OUT.print(tally(store, runs))
    return any(store.figures.about(run.id)["tainted"] for run in runs)


def _result(store: "Store", run: "Run") -> dict[str, Any]:
    """Return the result of a run that was played, or what it waits for, as JSON."""
    ended = store.runs.find(run.id)
    return _open_questions(ended) if ended.questions else store.figures.result(ended)


def _show_result(store: "Store", run: "Run", *, asks: bool) -> None:
    """Show how a run ended, or what it asks a person unless the caller asks."""
    from hobbes.show.palette import looks_in, words_of
    from hobbes.show.terminal import OUT, next_step, picture, summary
    from hobbes.store.history import state_before

    if run.questions:
        if not asks:
            _show_question(store, run)
        return
    rows = run.world.picture.rows(state_before(store, run, run.turns))
    OUT.print(picture(rows, words_of(run, looks_in(store, run))))
    OUT.print(summary(store.figures.result(run), store.figures.measures(run.id)))
    name = run.name or run.id
    trace, replay = store.command("trace", name, run.turns - 1), store.command("replay", name)
    next_step(f"{trace}   {replay}")


def _play_and_ask(store: "Store", run: "Run", *, as_json: bool, traced: bool) -> bool:
    """Play a run like `_play`. If only one person plays, ask in the terminal where there is one."""
    from hobbes.play.people import people_in
    from hobbes.show.questions import answer_in_terminal
    from hobbes.show.terminal import remark

    alone = len(people_in(run)) == 1 and not as_json and in_terminal()
    tainted = _play(store, run, as_json=as_json, asks=alone, traced=traced)
    while alone and (stored := store.runs.find(run.id)).questions:
        question = stored.questions[0]  # whoever plays a unit of trust plays its clones, too
        try:
            answer_in_terminal(store, stored, question)
        except typer.Abort:
            hint = store.command("answer", run.id)
            remark(f"stopped; `{hint}` asks again")
            sys.exit(130)
        except HobbesError as error:
            remark(f"hobbes: {error}")
        tainted = _play(store, store.runs.find(run.id), as_json=as_json, asks=alone, traced=traced)
    return tainted


def in_terminal() -> bool:
    """Return whether somebody can be asked here."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _open_questions(run: "Run") -> dict[str, Any]:
    """Return what a run waits for, as JSON."""
    from hobbes.play.people import open_questions

    return {"run": run.id, "turn": run.turns, "waiting": open_questions(run)}


def _show_question(store: "Store", run: "Run") -> None:
    """Show whom a waiting run asks, and how to answer."""
    from hobbes.engine.world import OBSERVER
    from hobbes.play.people import requests
    from hobbes.show.questions import fields_table
    from hobbes.show.terminal import OUT, columns_and_rows, next_step, table

    first, *others = run.questions
    if first.agent == OBSERVER:
        OUT.print(table(f"turn {run.turns}: a person is asked", *columns_and_rows(requests(first))))
    else:
        how = [(one.agent, store.command("answer", run.id, "--agent", one.agent)) for one in run.questions]
        OUT.print(table(f"turn {run.turns}: people are asked", ("agent", "answers with"), how))
    OUT.print(fields_table(run, first))
    more = ("--agent", first.agent) if others else ()
    next_step(store.command("answer", run.name or run.id, *more))
