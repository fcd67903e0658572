"""The measures of a run, worked out while it is played."""

from typing import Any

from engine.measuring import measured
from engine.world import Played
from lab.store.database import Run, Store
from lab.store.history import StoredHistory


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
        store.drop_held(run.id)  # what is left of an attempt that did not reach the end

    def add(self, played: Played[Any, Any] | None) -> None:
        """Add the next turn, in the transaction that stores it."""
        if self._measuring is None:
            return
        if played is None or played.before.turn != self._next:
            self._measuring = None
            return
        self._next += 1
        self._store.hold(self._run, self._measuring.add(played))

    def end(self, run: Run) -> None:
        """Work out what is left, so that all measures of the run wait to be stored. It has finished."""
        with self._store.db.conn:
            if self._measuring is not None and self._next == self._turns == run.turns:
                self._store.hold(self._run, self._measuring.end())
            else:
                self._store.drop_held(self._run)
                self._store.hold(self._run, measured(run.world, StoredHistory(self._store, run)))
