"""What reports read of the runs of experiments: the table `reported`, one row per finished run."""

import math
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Len
from pydantic import Json

from hobbes.engine.answer import DECISIONS
from hobbes.engine.measures import Measure, PlayedTurn, WorkedOut, work_out
from hobbes.engine.record import canonical, compact
from hobbes.engine.world import AnyWorld, won
from hobbes.errors import DamagedError, HobbesError
from hobbes.graphs.database import named_rows
from hobbes.store.checked_rows import Row, Table, damage_error
from hobbes.store.experiment_tables import BegunCell
from hobbes.store.history import StoredHistory, state_before
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.runs import RUNS
from hobbes.store.schema import insertion

SCOPES = ("run", "first-half", "second-half")
"""The scopes of the column `measures`, in the order of its values."""

MAX_STRETCHES = 30
"""Into how many stretches the rounds of a run are divided at most, so that a row is small."""

DECIMALS = 4
"""The decimals of measures over time."""

REPORTED = Table(
    "reported",
    {"run": str},
    {
        "winners": Json[list[str]],
        "measures": Json[dict[str, Annotated[list[float | None], Len(len(SCOPES), len(SCOPES))]]],
        "over_time": Json[dict[str, list[float | None]]],
        "ratings": Json[list[tuple[str, int, int, float]]],
    },
    lambda row, problem: damage_error(row["run"], "", problem),
)


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """A run of an experiment, with what the report reads of it."""

    cell: BegunCell
    row: Mapping[str, Any]
    """Its columns of `runs` and `reported`, JSON as plain values, and its `rounds`."""

    @property
    def seats(self) -> list[tuple[str, int, bool]]:
        """The player of each agent, its score, and whether it won, in the order of the agents' names."""
        players, winners = self.row["models"], self.row["winners"]
        return [
            (players[agent], score, agent in winners) for agent, score in sorted(self.row["scores"].items())
        ]

    @property
    def failed(self) -> int:
        """How many of the calls that count failed."""
        return sum(n for outcome, n in self.row["outcomes"].items() if outcome not in DECISIONS)


def measures_over_time(world: AnyWorld) -> tuple[str, ...]:
    """Return the measures of single turns that reports draw over time."""
    return (*world.measures.shares, *world.measures.inequality)


def stretch_length(rounds: int) -> int:
    """Return the number of turns in a stretch of a run with so many rounds; the last one may be shorter."""
    return max(1, math.ceil(rounds / MAX_STRETCHES))


def row_of(
    run: Run,
    last: Any,  # noqa: ANN401  a world's own state
    ratings: "RatingsGiven",
    measures: Iterable[Measure],
) -> Row:
    """Return the row of a run that has finished, from its last state and all its measures."""
    world, length = run.world, stretch_length(run.setting.config.rounds)
    of_scopes: dict[str, list[float | None]] = defaultdict(lambda: [None] * len(SCOPES))
    of_turns: dict[str, dict[int, list[float]]] = {
        name: defaultdict(list) for name in measures_over_time(world)
    }
    for name, scope, value in measures:
        if scope in SCOPES:
            of_scopes[name][SCOPES.index(scope)] = None if value is None else float(value)
        elif name in of_turns and value is not None:
            of_turns[name][int(scope.removeprefix("turn/")) // length].append(value)
    return {
        "run": run.id,
        "winners": compact([agent for agent, has_won in won(world, last).items() if has_won]),
        "measures": canonical(of_scopes),
        "over_time": compact(
            {name: _means(stretches, math.ceil(run.turns / length)) for name, stretches in of_turns.items()}
        ),
        "ratings": compact(ratings.counted),
    }


def _means(stretches: Mapping[int, Sequence[float]], count: int) -> list[float | None]:
    """Return the mean of each stretch, None where the measure is undefined in all of it."""
    return [
        round(sum(values) / len(values), DECIMALS) if (values := stretches.get(place)) else None
        for place in range(count)
    ]


class RatingsGiven:
    """The ratings of a run, as its row has them. Turns are added one by one, none is kept."""

    def __init__(self, world: AnyWorld) -> None:
        self._ratings = world.measures.ratings
        self._truths: dict[tuple[str, int], list[float]] = defaultdict(list)

    def add(self, played: PlayedTurn[Any, Any]) -> None:
        """Add the next turn."""
        for one in self._ratings(played):
            self._truths[one.kind, one.rating].append(one.truth)

    @property
    def counted(self) -> list[tuple[str, int, int, float]]:
        """The kind and value of each rating, how often it was given, and the mean of the truth then."""
        return [(*key, len(all_), sum(all_) / len(all_)) for key, all_ in sorted(self._truths.items())]


def keep_row(connection: sqlite3.Connection, row: Row) -> None:
    """Store the row of a run, in place of an earlier one, in the transaction of the caller."""
    connection.execute(insertion("insert or replace", "reported", [*row]), [*row.values()])


def keep_figures(store: Store, run: Run) -> None:
    """Store the row of a run that was played on the graph and has finished."""
    row = _stored_row_of(store, run)
    with store.connection as connection:
        keep_row(connection, row)


def measure_anew(store: Store, run: Run) -> WorkedOut:
    """Work out and store the figures of a finished run by today's formulas, in place of its earlier ones.

    Return its measures and its rows of the plain table. Raise HobbesError if it has not finished or was
    played by other rules, DamagedError if it is damaged.
    """
    run.check_versions()
    if run.status != "finished":
        raise HobbesError(f"run {run.label} is {run.status}: a run is measured when it has finished")
    found = work_out(run.world.measures, StoredHistory(store, run))
    with store.playing(run.id), store.connection as connection:
        store.figures.keep_worked_out(run, found)
        if connection.execute("select 1 from reported where run = ?", [run.id]).fetchone():
            keep_row(connection, _stored_row_of(store, run))
    return found


def _stored_row_of(store: Store, run: Run) -> Row:
    measures = store.connection.execute("select name, scope, value from measures where run = ?", [run.id])
    ratings = RatingsGiven(run.world)
    for played in StoredHistory(store, run) if run.world.measures.truths else ():
        ratings.add(played)
    return row_of(run, state_before(store, run, run.turns), ratings, (Measure(*one) for one in measures))


def figures_of(
    store: Store, cells: Iterable[BegunCell], left_out: list[str], with_turns: Callable[[Store, Run], Run]
) -> Iterator[ReportedRun]:
    """Yield the runs of these cells; what is damaged is added to `left_out`.

    Figures that were lost are worked out from the turns, which `with_turns` gives to a run that kept none.
    """
    for cell in cells:
        try:
            yield ReportedRun(cell, _row(store, cell.id, with_turns))
        except DamagedError as error:
            left_out.append(str(error))


def _row(store: Store, run: str, with_turns: Callable[[Store, Run], Run]) -> Row:
    about = store.runs.row(run)
    kept = next(named_rows(store.connection, "select * from reported where run = ?", [run]), None)
    # It is missing if the process that played the run was killed at its end.
    row = kept or _stored_row_of(store, with_turns(store, store.runs.find(run)))
    of_run = {name: RUNS.value(about, name) or {} for name in ("models", "scores", "outcomes")}
    rounds = RUNS.value(about, "config")["rounds"]
    return {**REPORTED.values(row), **of_run, "turns": about["turns"], "rounds": rounds}
