"""What people see while a run is played: a progress bar, and in a terminal the picture of the world.

The bar has the time left; a line below it says whose answers are awaited and what the run has cost so far.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich import progress
from rich.console import Group, RenderableType
from rich.live import Live

from hobbes.nodes.caps import Meter
from hobbes.nodes.turn_state import TurnState
from hobbes.play import side_by_side
from hobbes.show.palette import looks_now, words_of
from hobbes.show.terminal import ERR, picture, plain
from hobbes.store.recorded_run import Run

NAMED = 4
"""How many of the agents that are waited for are named."""

PERIOD = 3600
"""How many seconds back turns count for the time left."""


class Watch:
    """Follows a run while it is played, and shows where it stands."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._bar = _progress(*_time_left())
        self._task = self._bar.add_task(run.world.name, total=run.setting.config.rounds, completed=run.turns)
        self._meter: Meter | None = None
        self._world: dict[str, Any] | None = None

    def on_meter(self, meter: Meter) -> None:
        """Take the meter that counts the run's calls."""
        self._meter = meter

    def on_turn(self, state: TurnState) -> None:
        """Take the state that the run starts from, and then the state after each turn."""
        self._bar.update(self._task, completed=state["turn"])
        self._world = state["world"]

    def screen(self) -> RenderableType:
        """Return what is shown now."""
        line = plain(" · ".join(costs(self._meter) if self._meter else ()))
        if not self._world:
            return Group(self._bar, line)
        state = self._run.world.state.load(self._run.setting, self._world)
        words = words_of(self._run, looks_now(self._run, state))
        return Group(picture(self._run.world.picture.rows(state), words), self._bar, line)


def costs(meter: Meter) -> Iterator[str]:
    """Yield who is waited for, and what a run has cost so far if it asks models."""
    waiting = list(meter.waiting)
    if waiting:
        more = f" and {len(waiting) - NAMED} more" if len(waiting) > NAMED else ""
        yield f"waiting for {', '.join(waiting[:NAMED])}{more}"
    yield from spent(meter)


def spent(meter: Meter) -> Iterator[str]:
    """Yield the tokens and dollars that calls have cost so far, if they cost any."""
    total = meter.spent
    if total.tokens != 0:
        yield "tokens unknown" if total.tokens is None else f"{total.tokens:,} tokens"
        yield "price unknown" if total.usd is None else f"${total.usd:,.2f}"


class CellsWatch(side_by_side.Progress):
    """Follows an experiment while it is played: a bar of its runs, and one for each run under way."""

    def __init__(self, bar: progress.Progress, runs: int, played: int) -> None:
        self._bar = bar
        self._runs = bar.add_task("runs", total=runs, completed=played)
        self._turns: dict[str, progress.TaskID] = {}

    def on_cell(self, run: Run) -> None:
        """Take a run that is played now."""
        rounds = run.setting.config.rounds
        self._turns[run.id] = self._bar.add_task(run.label, total=rounds, completed=run.turns)

    def on_turn(self, run: str, turns: int) -> None:
        """Take how many turns of a run have been played."""
        self._bar.update(self._turns[run], completed=turns)

    def on_ended(self, run: str) -> None:
        """Take that a run has ended."""
        self._bar.remove_task(self._turns.pop(run))
        self._bar.advance(self._runs)


@contextmanager
def show_experiment_progress(runs: int, missing: int) -> Iterator[CellsWatch]:
    """Show the progress of an experiment on stderr; yield what has to be told about it."""
    with _progress(*_time_left()) as bar:
        yield CellsWatch(bar, runs, runs - missing)


@contextmanager
def watched_answers(meter: Meter, answers: int) -> Iterator[Callable[[], None]]:
    """Show the progress of a probe on stderr; yield what is called for each answer."""
    with _progress(progress.TextColumn("{task.fields[cost]}")) as bar:
        task = bar.add_task("answers", total=answers, cost="")

        def on_answer() -> None:
            bar.update(task, advance=1, cost=" · ".join(spent(meter)))

        yield on_answer


def _time_left() -> tuple[progress.ProgressColumn, ...]:
    return progress.TextColumn("left"), progress.TimeRemainingColumn()


def _progress(*more: progress.ProgressColumn) -> progress.Progress:
    """Return a progress bar on stderr, with more columns if they are given."""
    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        *more,
        console=ERR,
        transient=True,
        speed_estimate_period=PERIOD,
    )


@contextmanager
def show_run_progress(run: Run) -> Iterator[Watch]:
    """Show the progress of a run on stderr while it is played; yield what has to be told about it."""
    watch = Watch(run)
    with Live(get_renderable=watch.screen, console=ERR, refresh_per_second=8, transient=True):
        yield watch
