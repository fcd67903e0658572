"""The end of a run: its measures are worked out from turns that are read one by one."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from weakref import ref

import pytest

from hobbes.engine.measures import PlayedTurn
from hobbes.play import playthrough
from hobbes.play.start import RunOptions, begin
from hobbes.prove import verification
from hobbes.prove.verification import verify
from hobbes.store.history import StoredHistory
from hobbes.store.home import Store
from tests.small_runs import go, mining

SMALL = {"rows": 2, "cols": 2}


def most_states_at_once(opened: Store, rounds: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many states of a run are in memory at once while it is verified."""
    run = mining(opened, agents=2, values={"rounds": rounds, **SMALL})
    read: list[Any] = []
    counts: list[int] = []

    class Watched(StoredHistory):
        def __iter__(self) -> Iterator[PlayedTurn[Any, Any]]:
            for played in StoredHistory.__iter__(self):
                read.append(ref(played.after))
                counts.append(sum(state() is not None for state in read))
                yield played

    with monkeypatch.context() as patched:
        patched.setattr(verification, "StoredHistory", Watched)
        assert list(verify(opened, run)) == []
    assert len(read) == rounds
    return max(counts)


def test_a_long_run_keeps_no_more_states_in_memory_than_a_short_one(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    long, short = (most_states_at_once(opened, rounds, monkeypatch) for rounds in (16, 8))
    assert long == short


def test_others_can_write_while_the_measures_of_a_run_are_worked_out(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed: list[str] = []

    class Renaming(StoredHistory):
        def __iter__(self) -> Iterator[PlayedTurn[Any, Any]]:
            with closing(sqlite3.connect(opened.home / "runs.db", timeout=0)) as other, other:
                other.execute("update runs set name = 'renamed'")
            renamed.append(self.run.id)
            return StoredHistory.__iter__(self)

    monkeypatch.setattr(playthrough, "StoredHistory", Renaming)
    run = go(opened, begin(opened, RunOptions("trust", 2, values={"rounds": 2})))
    assert renamed == [run.id]
    assert opened.runs.find("renamed").status == "finished"


def test_the_measures_of_the_run_stand_before_those_of_its_halves_and_turns(opened: Store) -> None:
    run = mining(opened, values={"rounds": 3, **SMALL})
    scopes = opened.db.execute("select scope from measures where run = ? order by rowid", [run.id])
    assert list(dict.fromkeys(scope for (scope,) in scopes)) == [
        *("run", "first-half", "second-half"),
        *("turn/0", "turn/1", "turn/2"),
    ]
