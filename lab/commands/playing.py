"""The commands that play a run: `run`, `resume`, `answer`."""

import asyncio
import math
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from engine.worlds import WORLDS
from lab.commands.options import (
    ENV,
    HOME,
    Agents,
    AsJson,
    Home,
    Lang,
    Model,
    ObserverSpec,
    Prompts,
    Rounds,
    RunName,
    Seed,
    Settings,
    opened,
    run_options,
    settings_asked,
)
from lab.errors import HaltedRunError
from lab.show.terminal import ERR, OUT, picture, print_json, summary, table

if TYPE_CHECKING:
    from lab.store.database import Run, Store

app = typer.Typer()


def _finite(value: float | None) -> float | None:
    """Refuse what is no amount."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter("give a number")
    return value


MaxCalls = Annotated[int | None, typer.Option(min=1, help="stop before more calls than this")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="stop once so many tokens, in and out, are spent")]
MaxUsd = Annotated[
    float | None, typer.Option(min=0, callback=_finite, help="stop once so much is spent (lab/prices.toml)")
]
MaxSeconds = Annotated[
    float | None, typer.Option(min=0, callback=_finite, help="stop after so much time, over all resumes")
]


@app.command(context_settings=ENV)
def run(  # noqa: PLR0913, PLR0917  the options that interfaces.md names
    world: Annotated[str, typer.Argument(help=f"{', '.join(WORLDS)}, or a FILE.toml")],
    agents: Agents = None,
    rounds: Rounds = None,
    seed: Seed = None,
    model: Model = None,
    prompts: Prompts = None,
    lang: Lang = None,
    observer: ObserverSpec = None,
    settings: Settings = None,
    name: Annotated[str | None, typer.Option(help="a name to call the run by")] = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    max_seconds: MaxSeconds = None,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Play a run.

    Example: hobbes run mining --agents 10 --rounds 50 --model 'policy:guided?noise=0.1'
    """
    from lab.play.playing import begin
    from nodes.caps import Caps

    values = settings_asked(settings, rounds=rounds, observer=observer)
    options = run_options(
        world, values, agents=agents, seed=seed, models=model, prompts=prompts, lang=lang, name=name
    )
    with opened(home) as store:
        begun = begin(store, options, Caps(max_calls, max_tokens, max_usd, max_seconds))
        ERR.print(Text(f"run {begun.id}"))
        _play(store, begun, as_json=as_json)


@app.command(context_settings=ENV)
def resume(  # noqa: PLR0913, PLR0917  a cap each
    run: RunName,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    max_seconds: MaxSeconds = None,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Go on where a run stopped, for whatever reason; a cap that is given takes the place of the run's own.

    Example: hobbes resume last --max-calls 1000
    """
    from lab.play.playing import recap

    caps = {"calls": max_calls, "tokens": max_tokens, "usd": max_usd, "seconds": max_seconds}
    with opened(home) as store:
        found = store.find(run)
        found.check_versions()
        found = recap(store, found, {k: v for k, v in caps.items() if v is not None})
        _play(store, found, as_json=as_json)


@app.command(context_settings=ENV)
def answer(
    run: RunName,
    grant: Annotated[
        list[str] | None, typer.Option(help="UNIT=AMOUNT, repeatable; who is not named is declined")
    ] = None,
    reason: Annotated[str, typer.Option(help="why; whoever asked reads it")] = "",
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Answer what a waiting run asks a person, and go on; without options it asks in the terminal.

    Example: hobbes answer last --grant unit-a=8 --reason 'you asked for little'
    """
    from lab.play.answering import as_told, asked_in_terminal, waiting

    with opened(home) as store:
        found = store.find(run)
        found.check_versions()
        requests = waiting(found)
        ERR.print(Text(f"turn {found.turns} of run {found.id}"))  # what was shown before may be answered
        interactive = grant is None and not reason
        said = asked_in_terminal(requests) if interactive else as_told(requests, grant or (), reason)
        _play(store, found, as_json=as_json, said=said)


def _play(store: "Store", run: "Run", *, as_json: bool, said: str | None = None) -> None:
    """Play a run to its end, or until a person is asked, watched, and tell what it came to."""
    from lab.play.playing import go_on
    from lab.show.watching import watched

    try:
        with watched(run) as on_turn:
            asyncio.run(go_on(store, run, on_turn, said))
    except KeyboardInterrupt:
        hint = store.command("resume", run.id)
        ERR.print(Text(f"stopped; `{hint}` goes on from here"), soft_wrap=True)
        sys.exit(130)
    except HaltedRunError:
        if as_json:
            print_json(store.result(store.find(run.id)))
        raise
    ended = store.find(run.id)
    if ended.question is not None:
        _tell_question(store, ended, as_json=as_json)
        return
    result = store.result(ended)
    if as_json:
        print_json(result)
    else:
        from lab.store.history import state_before

        OUT.print(picture(run.world.picture(state_before(store, ended, ended.turns))))
        OUT.print(summary(result, store.measures(run.id)))
        trace, replay = store.command("trace", run.id, ended.turns - 1), store.command("replay", run.id)
        OUT.print(Text(f"\nnext: {trace}   {replay}", style="dim"), soft_wrap=True)
    if result["tainted"]:
        sys.exit(1)


def _tell_question(store: "Store", run: "Run", *, as_json: bool) -> None:
    """Say what a waiting run asks, and how to answer."""
    from lab.play.answering import waiting

    requests = waiting(run)
    if as_json:
        print_json({"run": run.id, "turn": run.turns, "waiting": requests})
        return
    columns = sorted({column for request in requests for column in request})
    OUT.print(
        table(
            f"turn {run.turns}: a person is asked", columns, [[r.get(c) for c in columns] for r in requests]
        )
    )
    OUT.print(Text(f"\nnext: {store.command('answer', run.id)}", style="dim"), soft_wrap=True)
