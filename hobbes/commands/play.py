"""The commands that play: `run`, `resume`, `answer`, and the stand-in server, `serve`."""

import math
import sys
from pathlib import Path
from typing import Annotated

import typer

from hobbes.commands import options
from hobbes.commands.groups import PLAY
from hobbes.errors import LateError

app = typer.Typer()


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


@app.command(context_settings=options.ENV, rich_help_panel=PLAY)
def demo(home: options.Home = options.HOME) -> None:
    """Show a broken promise in a recorded run of language models, and play a run of scripted policies.

    The recorded runs are unpacked into the folder `demo` of the home, and the run is played there, once.
    No model is asked.

    Example: hobbes demo
    """
    from hobbes.show.demonstration import PLAYED, play_and_show, show_broken_promise, unpack_recorded
    from hobbes.show.terminal import say

    recorded = home / "demo"
    unpack_recorded(recorded)
    with options.open_home(recorded, writes=True) as store:
        show_broken_promise(store)
        play_and_show(store)
    say(
        f"\nWhat one sentence of a prompt changed:  {store.command('probe', 'show', 'effect')}"
        f"\nWhy the language models did so:         {store.command('view')}"
        "\nPin turns of the run of policies:       "
        + store.command("make-test", PLAYED, "--turns", "1-3", "--name", "raids")
    )


@app.command(context_settings=options.ENV, rich_help_panel=PLAY)
def run(  # noqa: PLR0913, PLR0917  the options that interfaces.md names
    world: Annotated[str, typer.Argument(help=f"{options.A_WORLD}, or a FILE.toml")],
    agents: options.Agents = None,
    rounds: options.Rounds = None,
    seed: options.Seed = None,
    model: options.Model = None,
    prompts: options.Prompts = None,
    lang: options.Lang = None,
    observer: options.ObserverSpec = None,
    settings: options.Settings = None,
    name: Annotated[str | None, typer.Option(help="a name for the run")] = None,
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
    from hobbes.nodes.caps import Caps
    from hobbes.play.start import begin
    from hobbes.show.run_result import play_run_and_ask
    from hobbes.show.terminal import remark

    values = options.parse_settings(
        settings, rounds=rounds, observer=observer, seconds_per_turn=seconds_per_turn
    )
    request = options.run_options(
        world, values, agents=agents, seed=seed, models=model, prompts=prompts, lang=lang, name=name
    )
    caps = Caps(max_calls, max_tokens, max_usd, max_seconds)
    with options.open_home(home, writes=True) as store:
        begun = begin(store, request, caps)
        remark(f"run {begun.label}")
        if play_run_and_ask(store, begun, as_json=as_json, traced=trace_langsmith):
            sys.exit(1)


@app.command(context_settings=options.ENV, rich_help_panel=PLAY)
def resume(  # noqa: PLR0913, PLR0917  a parameter per option
    run: options.RunName,
    model: options.Model = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    max_seconds: MaxSeconds = None,
    trace_langsmith: TraceLangSmith = False,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Continue a run that stopped for any reason. A cap that is given here replaces the run's own.

    With --model, others play a run that has halted in its first turn.

    Example: hobbes resume last --max-calls 1000
    """
    from hobbes.play.start import change_players, recap
    from hobbes.show.run_result import play_run_and_ask

    caps = options.given(calls=max_calls, tokens=max_tokens, usd=max_usd, seconds=max_seconds)
    with options.open_home(home, writes=True) as store:
        stored = store.runs.find(run)
        stored.check_versions()
        if model is not None:
            stored = change_players(store, stored, model)
        stored = recap(store, stored, caps)
        if play_run_and_ask(store, stored, as_json=as_json, traced=trace_langsmith):
            sys.exit(1)


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
    from hobbes.show.run_result import play_run, result_of
    from hobbes.show.terminal import print_json

    with options.open_home(home, writes=True) as store:
        stored = store.runs.find(run)
        stored.check_versions()
        question = the_question(stored, agent)
        if as_json and not words:
            print_json(result_of(store, stored))
            return
        try:
            if words:
                text = checked_answer(stored, question, written_answer(words))
                keep_answer(store, stored, question, text)
            else:
                answer_in_terminal(store, stored, question)
        except LateError:
            play_run(store, stored, as_json=as_json)  # the call has failed
            raise
        if play_run(store, stored, as_json=as_json):
            sys.exit(1)


@app.command(context_settings=options.ENV, rich_help_panel=PLAY)
def serve(
    host: Annotated[str, typer.Option(help="the address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="the port; 0 picks a free one")] = 8765,
    delay: Annotated[float, typer.Option(min=0, help="how many seconds each answer of a policy takes")] = 0.0,
    gguf: Annotated[Path | None, typer.Option(metavar="FILE", help="the language model that answers")] = None,
) -> None:
    """Run a server for chat completions on this machine.

    Scripted policies answer the requests or, with --gguf, a language model. For that, install hobbes[local].

    Example: hobbes serve --port 8765, then
    OPENAI_BASE_URL=http://127.0.0.1:8765/v1 hobbes run mining --model openai:policy/guided
    """
    if gguf is None:
        from hobbes.wire.stand_in import listen

        listen(host, port, delay)
    else:
        from hobbes.wire.local_model import serve_model

        serve_model(gguf, host, port)
