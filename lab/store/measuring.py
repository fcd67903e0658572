"""The measures of a run, worked out while it is played."""

from collections.abc import Iterable, Iterator
from itertools import starmap
from typing import Any

from engine.measuring import measured
from engine.world import Measure, Played
from lab.store.database import Run, Store
from lab.store.history import StoredHistory

HOLD = "insert into temp.held (run, name, scope, value) values (?, ?, ?, ?)"


class RunMeasuring:
    """Works out the measures of a run while it is played, so that its turns need not be read again.

    This needs a run that one process plays from its first turn, and whose number of turns is known then,
    because of the measures of halves. The stored turns of any other run are read at its end.
    """

    def __init__(self, store: Store, run: Run) -> None:
        self._store = store
        self._run = run.id
        self._turns = run.setting.config.rounds
        self._next = 0
        known = not run.turns and not run.world.may_end_early
        self._measuring = run.world.measures(self._turns) if known else None
        # Measures of single turns wait in a temporary table, and not in memory, because there may be many.
        store.db.conn.execute(
            "create temp table if not exists held (run text, name text, scope text, value real)"
        )

    def add(self, played: Played[Any, Any] | None) -> None:
        """Add the next turn, in the transaction that stores it."""
        if self._measuring is None:
            return
        if played is None or played.before.turn != self._next:
            self._measuring = None
            return
        self._next += 1
        self._hold(self._measuring.add(played))

    def measures(self, run: Run) -> Iterator[Measure]:
        """Yield the measures of the run, which has finished. Those that wait are then forgotten."""
        if self._measuring is None or not self._next == self._turns == run.turns:
            yield from measured(run.world, StoredHistory(self._store, run))
            return
        held = self._store.db.conn.execute(
            "select name, scope, value from temp.held where run = ? order by rowid", [self._run]
        )
        yield from starmap(Measure, held)
        # One connection may play a thousand runs, each of which would read the rows of all others.
        self._store.db.conn.execute("delete from temp.held where run = ?", [self._run])
        yield from self._measuring.end()

    def _hold(self, measures: Iterable[Measure]) -> None:
        self._store.db.conn.executemany(
            HOLD, ((self._run, one.name, one.scope, one.value) for one in measures)
        )
