"""The command that improves prompts: `improve`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hobbes.lab.commands import options
from hobbes.lab.commands.groups import CHANGE
from hobbes.lab.commands.playing import MaxCalls, MaxUsd
from hobbes.lab.errors import LabError, UsageError

if TYPE_CHECKING:
    from hobbes.lab.improve.improving import Asked, Improved
    from hobbes.lab.store.home import Store

app = typer.Typer()

REPORT = "report.md"
"""The file of a result folder with the report."""


@app.command(context_settings=options.ENV, rich_help_panel=CHANGE)
def improve(  # noqa: PLR0913, PLR0917  a parameter per option
    file: Annotated[Path, typer.Argument(help="a TOML file (docs/improve.md)")],
    to: Annotated[
        Path | None, typer.Option(help="the folder of the result; by default one with the name in the file")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="say what would be asked and played; ask nothing")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask before it costs money")] = False,
    max_calls: MaxCalls = None,
    max_usd: MaxUsd = None,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Search for better advice in a prompt, within a budget, and let games with fresh seeds decide.

    A model proposes advice, recorded situations screen it, and one candidate plays against the baseline. It
    is accepted only if the games support that it is better than the baseline and than a second replicate of
    the baseline. Called again, the command goes on where it stopped. The caps replace those of the file. The
    exit code is 1 if nothing better was found.

    Example: hobbes improve calmer.toml --dry-run
    """
    from hobbes.lab.experiment.games import missing
    from hobbes.lab.files import check_path
    from hobbes.lab.improve.file import read_improve_file
    from hobbes.lab.improve.improving import Improvement, check
    from hobbes.lab.show.improving import told_candidate
    from hobbes.lab.show.terminal import remark
    from hobbes.lab.show.watching import show_experiment_progress

    read, content = read_improve_file(file)
    budget = {"max_calls": max_calls, "max_usd": max_usd}
    asked_file = read.model_copy(update={key: value for key, value in budget.items() if value is not None})
    folder = check_path(to or Path(read.name), "--to")
    with options.open_home(home, writes=not dry_run) as store:
        asked = check(store, file, asked_file, content, folder)
        if dry_run:
            _tell_plan(asked, as_json=as_json)
            return
        remark(_in_words(asked))
        if asked.games.may_cost and not yes:
            _agree()
        try:
            improvement = Improvement(store, asked, lambda one: remark(told_candidate(one)))
            improvement.search()
            left = len(missing(store, improvement.plan)) if improvement.plan else 0
            cells = len(improvement.plan.cells) if improvement.plan else 0
            with show_experiment_progress(cells, left) as progress:
                improved = improvement.decide(progress)
        except KeyboardInterrupt:
            remark("stopped; the same command goes on with the improvement")
            sys.exit(130)
        _show(store, improved, as_json=as_json)
        if not improved.is_accepted:
            sys.exit(1)


def _agree() -> None:
    """Ask whether to spend the money. Raise LabError if the answer is no."""
    try:
        agreed = typer.confirm("Begin?", err=True)
    except typer.Abort as error:
        raise UsageError("this costs money, or an unknown sum; --yes begins without a question") from error
    if not agreed:
        raise LabError("nothing was asked")


def _in_words(asked: "Asked") -> str:
    """Return what an improvement will take, in one line."""
    from hobbes.engine.telling import counted

    limits = [counted(asked.file.max_calls, "call")] if asked.file.max_calls is not None else []
    limits += [f"{asked.file.max_usd:,.2f} dollars"] if asked.file.max_usd is not None else []
    return (
        f"{counted(len(asked.situations), 'situation')}, up to {counted(asked.answers, 'answer')} per "
        f"candidate; games with the seeds {asked.seeds[0]} to {asked.seeds[-1]}: up to "
        f"{counted(asked.calls_of_games, 'call')}; the budget is {' and '.join(limits)}"
    )


def _tell_plan(asked: "Asked", *, as_json: bool) -> None:
    """Print what an improvement would take."""
    from hobbes.lab.show.terminal import print_json, say

    if as_json:
        print_json(
            {
                "improvement": asked.file.name,
                "situations": len(asked.situations),
                "answers": asked.answers,
                "seeds": asked.seeds,
                "calls_of_games": asked.calls_of_games,
                "max_calls": asked.file.max_calls,
                "max_usd": asked.file.max_usd,
            }
        )
    else:
        say(_in_words(asked))


def _show(store: "Store", improved: "Improved", *, as_json: bool) -> None:
    """Print a result, and write its report."""
    from hobbes.lab.show import improving
    from hobbes.lab.show.documents import printed
    from hobbes.lab.show.terminal import OUT, next_step, print_json

    report = improved.asked.folder / REPORT
    try:
        report.write_text(improving.markdown(store, improved), encoding="utf-8")
    except OSError as error:
        raise LabError(f"cannot write {report}: {error.strerror}") from error
    if as_json:
        print_json(improving.to_json(improved))
        return
    OUT.print(printed(improving.document(improved)))
    if improved.games is not None:
        next_step(store.command("report", improved.asked.file.name))
