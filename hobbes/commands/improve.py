"""The command that improves prompts: `improve`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from hobbes.commands import options
from hobbes.commands.experiments import ask_whether_to_play
from hobbes.commands.groups import CHANGE
from hobbes.errors import HobbesError

app = typer.Typer()


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
    try:
        from hobbes.improve.adapter import ProbeAdapter
    except ModuleNotFoundError as error:
        hint = "install it in the checkout: pip install -e '.[improve]'"
        raise HobbesError(f"hobbes improve needs gepa; {hint}") from error
    from hobbes.experiment.experiment_file import parse
    from hobbes.experiment.games import missing, play_experiment
    from hobbes.experiment.plan import plan
    from hobbes.experiment.report import report
    from hobbes.improve.advice import write_candidate
    from hobbes.improve.improvement import is_accepted, read_improvement
    from hobbes.show.improvement_report import show
    from hobbes.show.progress import show_experiment_progress
    from hobbes.show.terminal import remark

    with options.open_home(home, writes=True) as store:
        asked = read_improvement(store, file)
        adapter, games = ProbeAdapter(store, asked), None
        if asked.cost_of_games.may_cost and not yes:
            ask_whether_to_play(asked.cost_of_games)
        remark(f"gepa searches; {asked.search / 'run_log.txt'} says what it does")
        found = adapter.search()
        if found.best_idx:
            best = found.candidates[found.best_idx]["advice"]
            content = asked.experiment(best)
            made = plan(store, file, parse(content))
            with show_experiment_progress(len(made.cells), len(missing(store, made))) as progress:
                play_experiment(store, made, content, progress)
            games = report(store, asked.file.name)
            if is_accepted(games):
                write_candidate(asked.baseline, best, Path(asked.file.name, "prompts"))
        show(asked, found, games, as_json=as_json)
        if not is_accepted(games):
            sys.exit(1)
