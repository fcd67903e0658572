"""What people see while a run is played: a progress bar, and in a terminal the picture of the world."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from lab.play.playing import OnTurn
from lab.show.looks import looks_now, words_of
from lab.show.terminal import ERR, picture
from lab.store.database import Run
from nodes.state import TurnState


@contextmanager
def watched(run: Run) -> Iterator[OnTurn]:
    """Show the progress of a run on stderr; yield the function that each turn is reported to."""
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=ERR
    )
    task = bar.add_task(run.world.name, total=run.setting.config.rounds)
    last: list[dict[str, Any]] = []

    def on_turn(state: TurnState) -> None:
        bar.update(task, completed=state["turn"])
        last[:] = [state["world"]]

    def screen() -> RenderableType:
        if not last:
            return bar
        state = run.world.load(run.setting, last[0])
        return Group(picture(run.world.picture(state), words_of(run, looks_now(run, state))), bar)

    with Live(get_renderable=screen, console=ERR, refresh_per_second=8, transient=True):
        yield on_turn
