"""The commands of codes: `code` and `codes`."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hobbes.lab.commands import completion, options
from hobbes.lab.commands.groups import LOOK
from hobbes.lab.commands.playing import MaxCalls, MaxTokens, MaxUsd
from hobbes.lab.commands.probing import Agents, Turns, Where, agree, turn_numbers
from hobbes.lab.errors import UsageError

if TYPE_CHECKING:
    from hobbes.lab.store.codings import Codebook, Decision
    from hobbes.lab.store.home import Store
    from hobbes.lab.store.run import Run

app = typer.Typer()

PERSON = re.compile(r"[A-Za-z0-9][\w.-]{0,59}")
"""The name of a person who codes."""

Runs = Annotated[
    list[str] | None,
    typer.Argument(metavar="RUN...", autocompletion=completion.runs, help="ids or names of runs, or `last`"),
]
Experiment = Annotated[
    str | None, typer.Option(callback=options.not_empty, help="all runs of this experiment that have ended")
]


@app.command(context_settings=options.ENV, rich_help_panel=LOOK)
def code(  # noqa: PLR0913, PLR0917  a parameter per option
    runs: Runs = None,
    codes: Annotated[Path | None, typer.Option(help="the codebook, a TOML file (docs/codes.md)")] = None,
    experiment: Experiment = None,
    model: Annotated[
        str | None,
        typer.Option(
            callback=options.not_empty, autocompletion=completion.models, help="a chat model that codes"
        ),
    ] = None,
    times: Annotated[int, typer.Option(min=1, max=100, help="how often the model codes each decision")] = 1,
    person: Annotated[
        str | None,
        typer.Option("--as", envvar="HOBBES_AS", callback=options.not_empty, help="your name, if you code"),
    ] = None,
    give_up: Annotated[
        bool,
        typer.Option("--give-up", help="with --as alone: take what you have not coded out of your queue"),
    ] = False,
    turns: Turns = None,
    agents: Agents = None,
    where: Where = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="say what would be asked and what it would cost; ask nothing")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask before it costs money")] = False,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Code decisions by a codebook: with a model, or on a page of your own.

    A coder is shown what the agent was told, its reasoning and its answer. Codings are kept in notes.db in
    the home; a run stays as it was. The caps hold over all codings of a model by this codebook.

    Example: hobbes code last --codes codes.toml --model openai:gpt-6-luna --times 2
    """
    from hobbes.engine.telling import counted
    from hobbes.lab.coding.asking import Asker, cost, kept_codings, missing, plan
    from hobbes.lab.coding.questions import decisions_of, read_codebook
    from hobbes.lab.loop import play_out
    from hobbes.lab.show.probes import cost_in_words
    from hobbes.lab.show.terminal import print_json, remark, say
    from hobbes.lab.show.watching import watched_answers
    from hobbes.lab.store.codings import keep_codebook
    from hobbes.nodes.caps import Caps

    if (model is None) == (person is None):
        raise UsageError("name who codes: a model with --model, or yourself with --as")
    if give_up:
        if person is None or codes or runs or experiment:
            raise UsageError("--give-up empties the whole queue of a person: give --as alone with it")
        with options.open_home(home) as store:
            _give_up(store, person, as_json=as_json)
        return
    if codes is None:
        raise UsageError("name the codebook with --codes; docs/codes.md says how to write one")
    caps, codebook = Caps(max_calls, max_tokens, max_usd), read_codebook(codes)
    with options.open_home(home, writes=not dry_run) as store:
        found = _runs(store, runs, experiment)
        decisions = dict(
            decisions_of(
                store, found, turn_numbers(turns) if turns else None, options.split_list(agents), where
            )
        )
        if person is not None:
            _queue(store, codebook, person, list(decisions), as_json=as_json)
            return
        planned = plan(store, codebook, str(model), decisions, times, caps)
        kept = kept_codings(store, planned)
        expected = cost(store, planned, kept)
        if dry_run:
            if as_json:
                tokens = {"in": expected.tokens_in, "out": expected.tokens_out}
                told = {"decisions": len(decisions), "calls": expected.calls, "tokens": tokens}
                print_json({"codebook": codebook.hash, "coder": model, **told, "usd": expected.usd})
            else:
                say(f"{counted(len(decisions), 'decision')}, {cost_in_words(expected)}")
            return
        remark(f"{counted(len(decisions), 'decision')}, {cost_in_words(expected)}")
        if expected.calls and expected.usd != 0 and not yes:
            agree()
        keep_codebook(store, codebook)
        asker = Asker(store, planned, kept, caps)
        try:
            with watched_answers(asker.meter, len(missing(planned, kept))) as on_answer:
                play_out(asker.ask_all(on_answer))
        except KeyboardInterrupt:
            remark("stopped; the same command goes on with the coding")
            sys.exit(130)
        _show(store, [run.id for run in found], codebook, as_json=as_json)


def _runs(store: "Store", names: list[str] | None, experiment: str | None) -> "list[Run]":
    """Return the runs that are named, and those of an experiment, each once."""
    from hobbes.lab.experiment.report import stored_file
    from hobbes.lab.store.experiments import played_cells

    found = [store.runs.find(name) for name in names or ()]
    if experiment is not None:
        stored_file(store, experiment)
        found += [store.runs.find(cell.id) for cell in played_cells(store, experiment)]
    return list({run.id: run for run in found}.values())


def _queue(
    store: "Store", codebook: "Codebook", person: str, decisions: "list[Decision]", *, as_json: bool
) -> None:
    """Keep what a person is to code, and say where."""
    from hobbes.engine.telling import counted
    from hobbes.lab.show.terminal import next_step, print_json, say
    from hobbes.lab.store.codings import keep_codebook, keep_queue

    if PERSON.fullmatch(person) is None:
        raise UsageError(f"--as {person!r}: write letters, digits, dots, hyphens and underscores, at most 60")
    if not decisions:
        raise UsageError("there is no such decision; choose other runs, --turns, --agents or --where")
    keep_codebook(store, codebook)
    keep_queue(store, codebook, person, decisions)
    if as_json:
        print_json(
            {
                "codebook": codebook.hash,
                "coder": person,
                "decisions": len(decisions),
                "page": f"/codes/{person}",
            }
        )
    else:
        found = counted(len(decisions), "decision")
        say(f"{found} for {person}, on the page /codes/{person} of `hobbes view`")
        next_step(store.command("view"))


def _give_up(store: "Store", person: str, *, as_json: bool) -> None:
    """Take what a person has not coded out of their queue, and say how much it was."""
    from hobbes.engine.telling import counted
    from hobbes.lab.show.terminal import print_json, say
    from hobbes.lab.store.codings import give_up

    decisions = give_up(store, person)
    if as_json:
        print_json({"coder": person, "decisions": decisions})
    else:
        taken = counted(decisions, "decision")
        say(f"{taken} taken out of the queue of {person}; what was coded is kept")


@app.command(context_settings=options.ENV, rich_help_panel=LOOK)
def codes(
    runs: Runs = None,
    experiment: Experiment = None,
    codes: Annotated[
        Path | None, typer.Option(help="the codebook; by default the newest that was used")
    ] = None,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Show how often codes apply, how far coders agree (Krippendorff's alpha), and where they do not.

    Without runs, it shows all runs that have been coded.

    Example: hobbes codes last
    """
    from hobbes.lab.coding.questions import read_codebook

    with options.open_home(home) as store:
        found = [run.id for run in _runs(store, runs, experiment)]
        _show(store, found, read_codebook(codes) if codes else None, as_json=as_json)


def _show(store: "Store", runs: list[str], codebook: "Codebook | None", *, as_json: bool) -> None:
    """Print what codings say."""
    from hobbes.lab.coding.telling import tell
    from hobbes.lab.show import coding, reports
    from hobbes.lab.show.terminal import OUT, print_json

    told = tell(store, runs, codebook)
    if as_json:
        print_json(told.to_json())
    else:
        shown = [*coding.sections(told), coding.disagreements(told)]
        OUT.print(reports.renderable(coding.title_of(told), shown))
