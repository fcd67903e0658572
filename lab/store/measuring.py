"""The measures of a run, worked out while it is played."""

from collections.abc import Iterable
from math import inf
from typing import Any

from hobbes.engine.measuring import measured
from hobbes.engine.world import Measure, PlayedTurn
from hobbes.lab.store.history import StoredHistory
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import Run

MAX_KEPT = 400
"""How many intents of a game that may end early are kept in memory, with their turns."""


class RunMeasuring:
    """Works out the measures of a run while it is played, so that its turns need not be read again.

    This needs a run that one process plays from its first turn. If the game may end early, nobody knows
    before where its halves are, so its turns are kept until the end. The stored turns of a longer such game,
    or of a run that was resumed, are read at the end. With `keep_all`, no turn is ever read: none is stored.
    """

    def __init__(self, store: Store, run: Run, *, keep_all: bool = False) -> None:
        self._store = store
        self._turns = run.setting.config.rounds
        early = run.world.may_end_early
        self._measuring = None if early else run.world.measures(self._turns)
        self._kept: list[PlayedTurn[Any, Any]] | None = [] if early else None
        self._most = inf if keep_all else MAX_KEPT
        self._next = 0
        self._of_turns: list[Measure] = []

    def add(self, played: PlayedTurn[Any, Any] | None) -> None:
        """Add the next turn."""
        if played is None or played.before.turn != self._next:
            self._measuring = self._kept = None
            return
        self._next += 1
        if self._measuring is not None:
            self._of_turns += self._measuring.add(played)
        if self._kept is not None:
            self._kept.append(played)
            if sum(len(one.intents) for one in self._kept) > self._most:
                self._kept = None

    def end(self, run: Run) -> Iterable[Measure]:
        """Return all measures of the run, which has finished."""
        if self._measuring is not None and self._next == self._turns == run.turns:
            return [*self._of_turns, *self._measuring.end()]
        kept = self._kept if self._next == run.turns else None
        return measured(run.world, kept or StoredHistory(self._store, run))
