"""The commands about experiments: `experiment`, `experiments`, `report`, `tournament`."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hobbes.commands import options
from hobbes.commands.groups import CHANGE, PLAY
from hobbes.commands.play import MaxCalls, MaxTokens, MaxUsd
from hobbes.errors import INTERRUPTED, HobbesError, UsageError, needs_extra

if TYPE_CHECKING:
    from hobbes.experiment.cost_estimate import Estimate
    from hobbes.experiment.games import Play, Ways
    from hobbes.experiment.plan import Plan
    from hobbes.experiment.report import Report
    from hobbes.store.home import Store

app = typer.Typer()


Form = Literal["html", "md"]
"""The formats of `hobbes report`."""


@app.command(context_settings=options.ENV, rich_help_panel=CHANGE)
def experiment(  # noqa: PLR0913, PLR0917  a parameter per option
    file: Annotated[Path, typer.Argument(help="a TOML file (docs/experiments.md)")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="say what would be played and what it would cost; play nothing")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask before it costs money")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="how many processes play scripted policies; by default one per core"),
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="how many runs with other players are played at once; by default as many as the `parallel` "
            "of a model allows",
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(help="where: `ray` starts Ray here, `auto` and ray://HOST:PORT join a cluster"),
    ] = None,
    keep: Annotated[
        Literal["all"] | None,
        typer.Option(
            help="`all`: runs of scripted policies keep their turns and calls, too; without it, they are "
            "played again when you open them"
        ),
    ] = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Play an experiment: each of its arms with each of its seeds.

    Each run is an ordinary run, named EXPERIMENT.ARM.SEED. Called again, the command plays what is missing.
    The plan is kept at the first run. The caps hold over all runs together. The exit code is 1 if a run is
    tainted.

    Example: hobbes experiment experiments/mining-protection.toml --dry-run
    """
    from hobbes.engine.telling import counted
    from hobbes.experiment.worker_processes import get_ready

    if not dry_run and not on and (jobs or os.cpu_count()) != 1:
        get_ready()  # while this process imports the same

    from hobbes.experiment.cost_estimate import estimate
    from hobbes.experiment.experiment_file import read_experiment_file
    from hobbes.experiment.frozen import frozen_plan
    from hobbes.experiment.origins import with_bases
    from hobbes.experiment.plan import missing, plan, tainted_cells
    from hobbes.nodes.caps import Caps
    from hobbes.show.terminal import next_step, print_json, remark, say

    caps = Caps(max_calls, max_tokens, max_usd)
    asked, content = read_experiment_file(file)
    with options.open_home(home, writes=not dry_run) as store:
        asked, content = with_bases(store, file, asked, content)
        for line in asked.origin.left_out if asked.origin else ():
            remark(f"left out: {line}")
        made = plan(store, file, asked, caps)
        cells = missing(store, made)
        cost = estimate(store, cells)
        if dry_run:
            from hobbes.show.plan_text import show_plan

            show_plan(made, cost, as_json=as_json)
            return
        from hobbes.experiment.games import Ways, check_can_be_played
        from hobbes.experiment.sentences import tainted_of

        play = _where(on)
        check_can_be_played(cells)
        if cost.may_cost and not yes:
            ask_whether_to_play(cost)
        ways = Ways(jobs, at_once, caps, keep is not None)
        try:
            _play(store, made, content, ways, play)
        except KeyboardInterrupt:
            remark(f"stopped; `{store.command('experiment', file)}` goes on from here")
            sys.exit(INTERRUPTED)
        tainted = tainted_cells(store, made)
        if as_json:
            told = {"experiment": asked.name, "runs": len(made.cells), "played": len(cells)}
            print_json({**told, "tainted": tainted})
        else:
            say(f"{asked.name}: {counted(len(made.cells), 'run')}, {len(cells)} of them played now")
            if (frozen := frozen_plan(store, made.file)) and frozen.changes:
                say(f"not as planned: {'; '.join(frozen.changes)}")
            if tainted:
                say(f"{tainted_of(tainted, len(made.cells))}: too many calls failed")
            next_step(store.command("report", asked.name))
        if tainted:
            sys.exit(1)


def _play(store: "Store", made: "Plan", content: dict[str, Any], ways: "Ways", play: "Play") -> None:
    from hobbes.experiment.games import play_experiment
    from hobbes.experiment.plan import missing
    from hobbes.show.progress import show_experiment_progress

    with show_experiment_progress(len(made.cells), len(missing(store, made))) as watch:
        play_experiment(store, made, content, watch, ways, play)


@app.command(context_settings=options.ENV, rich_help_panel=PLAY)
def tournament(  # noqa: PLR0913, PLR0917  a parameter per option
    games: Annotated[int, typer.Option(min=1, max=1_000, help="the number of games of each pair")] = 20,
    seed: Annotated[int, typer.Option(help="the seed of the first game of each pair; the others follow")] = 1,
    settings: options.Settings = None,
    name: Annotated[str, typer.Option(help="the name of the experiment")] = "tournament",
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Rank the scripted policies of trust: everybody plays against everybody.

    This is short for an experiment with the design `pairs` (docs/experiments.md). It ranks the policies by
    wins and by sats. 20 games of each pair take half a minute of processor time; a bar on stderr shows
    the progress.

    Example: hobbes tournament --games 100 --set miss=5
    """
    from hobbes.engine.telling import counted
    from hobbes.experiment.cost_estimate import estimate
    from hobbes.experiment.experiment_file import parse
    from hobbes.experiment.games import Ways, play_here
    from hobbes.experiment.plan import missing, plan
    from hobbes.experiment.report import report
    from hobbes.experiment.statistics import check_installed, to_json
    from hobbes.experiment.tournament import tournament_file
    from hobbes.show.documents import Document
    from hobbes.show.report_text import rankings
    from hobbes.show.terminal import OUT, next_step, print_json

    check_installed()
    content = tournament_file(name, games, seed, options.parse_settings(settings))
    try:
        file = parse(content)
    except ValueError as error:
        raise UsageError(str(error)) from error
    with options.open_home(home, writes=True) as store:
        made = plan(store, Path(name), file)
        if (cost := estimate(store, missing(store, made))).may_cost:
            ask_whether_to_play(cost)
        _play(store, made, content, Ways(jobs=None), play_here)
        ranking = report(store, name).rankings
        if as_json:
            print_json(to_json(ranking))
            return
        played = f"{counted(len(made.file.arms), 'pair')}, {counted(games, 'game')} each"
        title = f"{name} in {made.world.name}: {played}"
        OUT.print(Document(title, [*rankings(ranking, made.world.measures.score)]))
        next_step(store.command("report", name))


CLUSTERS, CLIENT = ("ray", "auto"), "ray://"
"""Names of clusters, and how the address of one begins."""


def _where(on: str | None) -> "Play":
    """Return what plays runs: this machine or a Ray cluster; raise UsageError if there is no such one."""
    from hobbes.experiment.games import play_here

    if on is None:
        return play_here
    if on not in CLUSTERS and not on.startswith(CLIENT):
        raise UsageError(f"--on {on}: write {', '.join(CLUSTERS)} or {CLIENT}HOST:PORT")
    with needs_extra("ray", "runs on a cluster"):
        from hobbes.experiment.cluster import play_on
    return partial(play_on, on)


def ask_whether_to_play(cost: "Estimate") -> None:
    """Ask whether to play games that cost money. Raise HobbesError if the answer is no."""
    from hobbes.show.plan_text import cost_rows
    from hobbes.show.terminal import ERR, table

    ERR.print(table("", ("", ""), cost_rows(cost)))
    options.agree("Play it?", "nothing was played")


@app.command(context_settings=options.ENV, rich_help_panel=CHANGE)
def experiments(home: options.Home = options.HOME, as_json: options.AsJson = False) -> None:
    """List the experiments, the newest first.

    Example: hobbes experiments
    """
    from hobbes.experiment.experiment_file import overview
    from hobbes.show.terminal import OUT, print_json, say, table

    with options.open_home(home) as store:
        found = overview(store)
    if as_json:
        print_json(found)
    elif found:
        columns = ("experiment", "world", "arms", "seeds", "played", "of")
        rows = [
            (one["experiment"], one["world"], " ".join(one["arms"]), one["seeds"], one["played"], one["runs"])
            for one in found
            if "damage" not in one
        ]
        OUT.print(table("", columns, rows))
        for one in found:
            if "damage" in one:
                say(one["damage"])
    else:
        say("no experiments yet; docs/experiments.md shows one")


@app.command(context_settings=options.ENV, rich_help_panel=CHANGE)
def report(
    experiment: Annotated[str, typer.Argument(help="the name of an experiment")],
    form: Annotated[
        Form | None, typer.Option("--format", envvar="HOBBES_FORMAT", help="the format of the report")
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", "-o", help="the file to write, by default stdout")
    ] = None,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Report what an experiment found: each arm against the baseline, with intervals and tests.

    Example: hobbes report protection --format html --to report.html
    """
    from hobbes.experiment.report import report as reported
    from hobbes.show.terminal import print_json, remark

    if form is not None and as_json:
        raise UsageError("write --json or --format, not both")
    if to is not None and form is None:
        raise UsageError("--to needs --format html or md")
    with options.open_home(home) as store:
        found = reported(store, experiment)
        for line in found.left_out:
            remark(f"hobbes: {line}")
        if as_json:
            print_json(found.to_json())
            return
        _write_report(store, found, form, to)


def _write_report(store: "Store", found: "Report", form: Form | None, to: Path | None) -> None:
    """Print a report, or write it to a file; Markdown has its pictures beside it."""
    from hobbes.show.report_text import html, report_document
    from hobbes.show.terminal import OUT

    document = report_document(store, found)
    if form is None:
        OUT.print(document)
    elif form == "html":
        _write(html(document, found.left_out), to)
    elif to is None:
        _write(document.markdown(), None)
    else:
        text, pictures = document.files(to.stem)
        _write(text, to)
        for name, picture in pictures.items():
            _write(picture, to.with_name(name))


def _write(text: str, to: Path | None) -> None:
    if to is None:
        print(text)  # noqa: T201  rich would wrap it
        return
    try:
        to.write_text(text, encoding="utf-8")
    except OSError as error:
        raise HobbesError(f"cannot write {to}: {error.strerror}; choose another file with --to") from error
