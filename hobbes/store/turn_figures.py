"""The figures of a run that follow from its turns: worked out while it is played, or anew later."""

from math import inf
from typing import Any

from hobbes.engine.measures import (
    AgentTurn,
    Folding,
    Measure,
    PlayedTurn,
    WorkedOut,
    agent_turns_of,
    work_out,
)
from hobbes.store.history import StoredHistory
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run

MAX_KEPT_INTENTS = 400
"""How many intents, with their turns, are kept in memory of a game that may end early."""


class RunMeasuring:
    """Works out the figures of a run while it is played, so that its turns need not be read again.

    This works for a run that one process plays from its first turn. The measures of the halves need the
    number of turns: if the game may end early, its turns are kept in memory until it ends. If they are too
    many, or if the run was resumed, the stored turns are read at the end. With `keep_all`, no turn is ever
    read: none is stored.
    """

    def __init__(self, store: Store, run: Run, *, keep_all: bool = False) -> None:
        self._store = store
        self._measures = run.world.measures
        self._rounds = run.setting.config.rounds
        may_end_early = run.world.ending is not None
        self._measuring = None if may_end_early else Folding[Any](self._measures, self._rounds)
        self._turn_measures: list[Measure] = []
        self._agent_turns: list[AgentTurn] = []
        self._kept_turns: list[PlayedTurn[Any, Any]] | None = [] if may_end_early else None
        self._next_turn = 0
        self._max_kept = inf if keep_all else MAX_KEPT_INTENTS

    def add(self, played: PlayedTurn[Any, Any] | None) -> None:
        """Add the next turn. After a gap, or None, the measures are made of the stored turns."""
        if played is None or played.before.turn != self._next_turn:
            self._measuring = self._kept_turns = None
            return
        self._next_turn += 1
        if self._measuring is not None:
            self._turn_measures += self._measuring.add(played)
            self._agent_turns += agent_turns_of(self._measures, played)
        if self._kept_turns is not None:
            self._kept_turns.append(played)
            if sum(len(turn.intents) for turn in self._kept_turns) > self._max_kept:
                self._kept_turns = None

    def end(self, run: Run) -> WorkedOut:
        """Return all figures of the run, which has finished."""
        if self._measuring is not None and self._next_turn == self._rounds == run.turns:
            return WorkedOut([*self._turn_measures, *self._measuring.end()], self._agent_turns)
        kept_turns = self._kept_turns if self._next_turn == run.turns else None
        return work_out(self._measures, kept_turns or StoredHistory(self._store, run))
