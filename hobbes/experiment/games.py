"""Play the cells of an experiment, each as an ordinary run: what `hobbes experiment` does.

Runs whose players wait, such as models, are played side by side in one event loop. Those of scripted policies
keep a core busy, so they are played by processes.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from hobbes.errors import HaltedRunError
from hobbes.experiment.plan import Cell, Plan, missing
from hobbes.experiment.worker_processes import in_processes
from hobbes.graphs.database import transaction
from hobbes.loop import play_out
from hobbes.nodes.caps import NO_CAPS, Budget, Caps, Spent
from hobbes.nodes.rate_limits import RateLimiter
from hobbes.play.fork import write_fork
from hobbes.play.playthrough import Shared, go_on
from hobbes.play.side_by_side import Progress, most_at_once, play_runs
from hobbes.play.start import check_players_can_be_asked, specs_of, write
from hobbes.store.experiment_tables import add_cell, cells_of, keep_experiment, keep_plan
from hobbes.store.home import Store, open_store
from hobbes.store.policy_games import is_pure, play_purely
from hobbes.store.recorded_run import Run
from hobbes.store.reported import keep_figures


@dataclass(frozen=True, slots=True)
class Ways:
    """How an experiment is played, which is no part of what is played."""

    jobs: int | None = 1
    """How many processes play scripted policies; None for one per processor."""
    at_once: int | None = None
    """How many runs are played at once in the event loop; None for as many as the limits of models allow."""
    caps: Caps = NO_CAPS
    """What all cells may cost together, with what those have cost that were played before."""
    keep_all: bool = False
    """Whether the runs of scripted policies keep their turns and calls."""


Play: TypeAlias = Callable[[Store, Sequence[Cell], Budget, Ways, Progress], None]
"""Plays cells: `play_here` on this machine, hobbes/experiment/cluster.py beyond it."""


def check_can_be_played(cells: Sequence[Cell]) -> None:
    """Raise UsageError if a player of these cells cannot be asked."""
    for new in {cell.arm: cell.new for cell in cells}.values():
        check_players_can_be_asked(specs_of(new))


def play_here(store: Store, cells: Sequence[Cell], budget: Budget, ways: Ways, progress: Progress) -> None:
    """Play cells on this machine, those of scripted policies first, unless their calls are to be counted."""
    uncapped = ways.caps == NO_CAPS
    pure = {c.name for c in cells if uncapped and is_pure(c.new.world, c.new.setting, c.new.models)}
    policies = [*_longest_first([cell for cell in cells if cell.name in pure])]
    others = [cell for cell in cells if cell.name not in pure]
    count = min(ways.jobs or os.cpu_count() or 1, len(policies))
    play_policies(store, runs_of(store, policies), count, ways, progress)
    at_once = ways.at_once or most_at_once(cell.new for cell in others)
    shared = Shared(budget if ways.caps != NO_CAPS else None, RateLimiter())
    play_runs(store, runs_of(store, others), at_once, shared, progress, partial(keep_figures, store))


def play_experiment(  # noqa: PLR0913, PLR0917  what is played, and how
    store: Store,
    made: Plan,
    content: dict[str, Any],
    progress: Progress,
    ways: Ways = Ways(),
    play: Play = play_here,
) -> None:
    """Play the cells that are missing, each from where it stands, and keep what reports need of them.

    The limits of models hold over all cells that are played now. Raise HaltedRunError if a run halts or a cap
    is reached, HobbesError if another process plays the experiment now; the cells played so far are kept.
    """
    # Otherwise, each of two processes would stop at the first run that the other one plays.
    name = made.file.name
    with store.locked(f"experiment-{name}", f"experiment {name} is being played"):
        keep_experiment(store, made.file.name, made.world.name, content)
        freeze(store, made, content)
        cells = missing(store, made)
        budget = Budget(ways.caps, Spent() if ways.caps == NO_CAPS else spent_so_far(store, made))
        try:
            if cells:
                play(store, cells, budget, ways, progress)
        except HaltedRunError as error:
            if reason := budget.reached_cap():
                raise HaltedRunError(
                    f"{reason} by the experiment; play it again with a higher cap to go on"
                ) from error
            raise HaltedRunError(f"{error}; then play the experiment again") from error


def freeze(store: Store, made: Plan, content: dict[str, Any]) -> None:
    """Keep the plan of an experiment, unless a game of it has begun."""
    if cells_of(store, made.file.name):
        return
    of_arms = {cell.arm: cell.new for cell in made.cells}
    plan = {
        "file": content,
        "prompts": {arm: new.prompts.hash for arm, new in of_arms.items()},
        "models": {arm: sorted({*new.models.values()}) for arm, new in of_arms.items()},
    }
    keep_plan(store, made.file.name, plan)


def spent_so_far(store: Store, made: Plan) -> Spent:
    """Return what the cells have cost so far. Those of scripted policies that kept no calls cost nothing."""
    total = Spent()
    for cell in cells_of(store, made.file.name).values():
        one = store.figures.spent(store.runs.find(cell.id))
        total.calls += one.calls
        total.add(one.tokens, one.usd)
    return total


def play_policies(store: Store, runs: Iterable[Run], count: int, ways: Ways, progress: Progress) -> None:
    """Play runs of scripted policies in so many processes. Each begins when a process has room for it."""

    def begun() -> Iterator[str]:
        for run in runs:
            progress.on_cell(run)
            yield run.id

    for run in in_processes(partial(_play_by_policies, store.home, keep_all=ways.keep_all), begun(), count):
        progress.on_ended(run)


def _play_by_policies(home: Path, run: str, *, keep_all: bool) -> str:
    """Play a run of scripted policies to its end, and return its id.

    It is played on the graph if it keeps its turns and calls, as a fork does, or if it was begun so.
    """
    with open_store(home) as store:
        begun = store.runs.find(run)
        if keep_all or begun.parent or begun.turns or store.calls.attempts_since(run, 0):
            play_out(go_on(store, begun, lambda _: None))
            keep_figures(store, store.runs.find(run))
        else:
            play_purely(store, begun)
    return run


def _longest_first(cells: Sequence[Cell]) -> Iterator[Cell]:
    """Yield the cells, and of each seed the longest ones first: at the end, nobody waits long for the last.

    The seeds stay in their order, so that an experiment that stops has whole pairs.
    """
    for _, of_seed in groupby(cells, key=lambda cell: cell.seed):
        yield from sorted(of_seed, key=lambda cell: -len(cell.new.models) * cell.new.setting.config.rounds)


def runs_of(store: Store, cells: Sequence[Cell]) -> Iterator[Run]:
    """Yield the run of each of these cells of one experiment; begin it if there is none yet."""
    there = cells_of(store, cells[0].experiment) if cells else {}
    for cell in cells:
        if before := there.get((cell.arm, cell.seed)):
            yield store.runs.find(before.id)
            continue
        with transaction(store.connection):  # so that no run is left without its cell
            begun = _begin(store, cell)
            add_cell(store, cell.experiment, cell.arm, cell.seed, begun.id)
        yield begun


def _begin(store: Store, cell: Cell) -> Run:
    if fork := cell.fork:
        return write_fork(store, cell.new, cell.name, fork.parent, fork.turn)
    return write(store, cell.new, cell.name)
