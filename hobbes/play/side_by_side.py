"""Play several runs side by side in one event loop, as far as the limits of their models allow."""

import asyncio
import math
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from hobbes.errors import HaltedRunError, HobbesError
from hobbes.graphs.run import create_checkpoints, open_checkpoints, remove_checkpoints
from hobbes.loop import play_out
from hobbes.play.playthrough import Shared, go_on
from hobbes.play.start import Beginning, chats_of
from hobbes.store.checked_connection import DAMAGE, may_be_damage
from hobbes.store.home import CHECKPOINTS, Store
from hobbes.store.recorded_run import Run

T = TypeVar("T")


class Progress:
    """Is told about runs while they are played. This one makes nothing of it."""

    def on_cell(self, run: Run, /) -> None:
        """Take a run that is played now."""

    def on_turn(self, run: str, turns: int, /) -> None:
        """Take how many turns of a run have been played, unless a process plays it."""

    def on_ended(self, run: str, /) -> None:
        """Take that a run has ended."""


def play_runs(  # noqa: PLR0913, PLR0917  how they are played is no part of what is played
    store: Store,
    runs: Iterable[Run],
    at_once: int,
    shared: Shared,
    progress: Progress,
    on_end: Callable[[Run], None] = lambda _: None,
    *,
    traced: bool = False,
) -> None:
    """Play runs side by side in a new event loop; `on_end` takes each as it is at its end.

    If they are `traced`, what is played is uploaded to LangSmith. Raise the error of the first one that
    halts, with its name.
    """

    async def play(shared: Shared, run: Run) -> None:
        progress.on_cell(run)
        try:
            await go_on(store, run, lambda state: progress.on_turn(run.id, state["turn"]), shared=shared)
        except HaltedRunError as error:
            raise HaltedRunError(f"{run.name}: {error}" if run.name else str(error)) from error
        on_end(store.runs.find(run.id))
        progress.on_ended(run.id)

    async def play_all() -> None:
        path = store.home / CHECKPOINTS
        try:
            create_checkpoints(path)
        except DAMAGE as error:
            if not may_be_damage(error):
                raise
            remove_checkpoints(path)
        async with open_checkpoints(path) as checkpoints:
            with_checkpoints = replace(shared, checkpoints=checkpoints)
            await play_side_by_side(runs, at_once, partial(play, with_checkpoints))

    play_out(play_all(), traced=traced)


async def play_side_by_side(games: Iterable[T], at_once: int, play: Callable[[T], Awaitable[None]]) -> None:
    """Play games in their order, so many at once. Each begins when there is room for it.

    After an error no further game begins, and those under way are played to their end, since their answers
    may have been paid for. Then the first error is raised.
    """
    waiting = iter(games)
    errors: list[HobbesError] = []

    async def one_after_another() -> None:
        while not errors and (game := next(waiting, None)) is not None:
            try:
                await play(game)
            except HobbesError as error:
                errors.append(error)

    try:
        # Unlike gather, a group waits until all games have closed what they opened, before a bug is raised.
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(one_after_another())
    except ExceptionGroup as bugs:
        raise bugs.exceptions[0] from None
    if errors:
        raise errors[0]


def most_at_once(runs: Iterable[Run | Beginning]) -> int:
    """Return how many of these runs are played at once, unless somebody says otherwise.

    It is the number whose agents may use up `parallel` of one of their models, or of processors where no
    model is asked.
    """
    return max((_until_used_up(run) for run in runs), default=1)


def _until_used_up(run: Run | Beginning) -> int:
    """Return how many runs like this one may make as many requests at once as one of its models allows."""
    specs, chats = [*run.models.values()], chats_of(run)
    rooms = [math.ceil(chats[spec].parallel / max(1, specs.count(spec))) for spec in chats]
    return max(rooms, default=os.cpu_count() or 1)
